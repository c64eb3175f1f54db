//! The state at one moment, read little by little while the engine goes on.
//!
//! The order of calls: [`Engine::freeze`]; what is small is copied then; then, as often as it takes,
//! read some of each list as it was and say how far that was ([`Engine::seen`]);
//! [`Engine::thaw`]. What changes before it was read is copied first, so no second state is made.

use crate::engine::Engine;

/// Which state of a list is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Present,
    /// As it was when it was frozen; as it is, if it is not.
    Frozen,
}

/// How far a reader of the frozen state has come, list by list: what is before these positions has
/// been read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    pub jobs: u64,
    pub runs: u64,
    pub workers: u64,
    pub ended: u64,
    pub gone: u64,
    pub keys: u64,
    pub ids: u64,
}

impl Engine {
    /// Until [`Engine::thaw`], the lists show what they hold now to those who ask for it.
    pub fn freeze(&mut self) {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::SnapshotOfMovingState) {
            return;
        }
        let state = &mut self.state;
        state.jobs.freeze();
        state.runs.freeze();
        state.workers.freeze();
        state.ended.freeze();
        state.gone.freeze();
        state.keys.freeze();
        state.ids.freeze();
    }

    pub fn seen(&mut self, seen: Seen) {
        let state = &mut self.state;
        state.jobs.seen_before(seen.jobs);
        state.runs.seen_before(seen.runs);
        state.workers.seen_before(seen.workers);
        state.ended.seen_before(seen.ended);
        state.gone.seen_before(seen.gone);
        state.keys.seen_before(seen.keys);
        state.ids.seen_before(seen.ids);
    }

    pub fn thaw(&mut self) {
        let state = &mut self.state;
        state.jobs.thaw();
        state.runs.thaw();
        state.workers.thaw();
        state.ended.thaw();
        state.gone.thaw();
        state.keys.thaw();
        state.ids.thaw();
    }
}
