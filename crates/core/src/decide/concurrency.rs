//! New jobs whose key is at its limit, where they are not to wait.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::engine::Engine;
use crate::event::Event;
use crate::model::{JobNo, KeySet, KeyUse, OnLimit, RevokeReason, Token};
use crate::state::JobState;

impl Engine {
    /// Skips the new job or cancels others for it, as its keys want it. One that waits for dependencies is
    /// not there yet, and waits for its keys like any other when it is.
    pub(super) fn mind_keys(&mut self, no: JobNo) {
        let Some(job) = self.state.job(no) else { return };
        let Some(keys) = job.spec.key_set().cloned() else { return };
        if job.state.has_ended() || matches!(job.state, JobState::Waiting { .. }) {
            return;
        }
        if let Some(full) = keys.uses().iter().find(|each| self.wants(each, OnLimit::Skip)) {
            let holder = self.state.index.gates.present(&full.key).find(|other| *other != no);
            let holder = holder.expect("a key is full of others");
            let key = full.key.clone();
            self.end_without_result(no, Event::SkippedByKey { job: no, key, holder });
            return;
        }
        for each in keys.uses() {
            while self.wants(each, OnLimit::Replace) {
                let oldest = self.state.index.gates.present(&each.key).find(|other| *other != no);
                let oldest = oldest.expect("a key is full of others");
                self.replace(oldest, no, each);
            }
        }
    }

    /// More is there of the key than is allowed, and this is to be done.
    fn wants(&self, each: &KeyUse, what: OnLimit) -> bool {
        let crowd = self.state.index.gates.crowd(each);
        crowd.is_some_and(|crowd| crowd.is_over && crowd.on_limit == what)
    }

    fn replace(&mut self, old: JobNo, new: JobNo, each: &KeyUse) {
        let tokens: Vec<Token> =
            self.state.expect_job(old).offers().iter().map(|attempt| attempt.token).collect();
        self.revoke_all(old, &tokens, RevokeReason::Cancelled);
        let successor = &self.state.expect_job(new).spec.id;
        let reason = format!("replaced by {successor}, which has the key {} too", each.key);
        self.end_without_result(old, Event::Cancelled { job: old, reason });
    }

    /// Jobs with the same keys share one copy of them.
    pub(super) fn one_copy(
        &self,
        keys: Arc<KeySet>,
        copies: &mut BTreeSet<Arc<KeySet>>,
    ) -> Arc<KeySet> {
        if let Some(shared) = self.state.index.gates.shared(&keys) {
            return shared;
        }
        if let Some(copy) = copies.get(&keys) {
            return copy.clone();
        }
        copies.insert(keys.clone());
        keys
    }
}
