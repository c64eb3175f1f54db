//! Jobs that are placed to learn something.
//!
//! A class that has not run a type may be faster than is known, and one that was slow when it was last
//! seen may not be any more. Nobody would find out if every job went where it is known to be done soonest.
//!
//! A class that is unknown is given the benefit of the doubt, one job at a time: its first job settles
//! it. Those that are known are tried again after a thousand jobs of the fleet without one of theirs, one
//! worker at a time, and for at most a hundredth of all work.

use super::candidates::{Candidate, Candidates};
use crate::model::Micros;
use crate::state::State;

/// The work that is done for each unit that is lost by trying what is known to be slower.
const WORK_PER_TRIAL: u64 = 100;

/// Jobs that the whole fleet has done, of the usual length, before a worker counts as long unseen.
const UNSEEN_JOBS: u64 = 1_000;
/// Finished jobs behind a prediction that is relied on.
const KNOWN_SAMPLES: u32 = 3;

impl State {
    /// A worker that is worth the job for what it teaches.
    pub(crate) fn worth_learning(&self, found: &Candidates) -> Option<Candidate> {
        if found.outlooks.len() < 2 {
            return None;
        }
        let sooner = |a: &&Candidate, b: &&Candidate| {
            a.finish().cmp(&b.finish()).then_with(|| self.by_score(a, b))
        };
        let best = found.list.iter().min_by(sooner)?;
        self.hopeful(found, best).or_else(|| self.long_unseen(found, best.finish()))
    }

    /// One of a class that may do it sooner than the best known, for all that is known of it.
    fn hopeful(&self, found: &Candidates, best: &Candidate) -> Option<Candidate> {
        let machine = |c: &Candidate| self.index.groups.get(c.group).machine;
        // Where the best is as unknown and idle, it teaches as much.
        let known = if self.is_idle(best) { best.unsure_percent } else { 0 };
        let untried = found.list.iter().filter(|c| c.unsure_percent > known && !c.prefetch);
        let hopes = untried
            .filter(|c| c.hope() < best.finish() && machine(c) != machine(best) && self.is_idle(c));
        hopes.min_by(|a, b| a.hope().cmp(&b.hope()).then_with(|| self.by_score(a, b))).copied()
    }

    /// One job is enough to learn: others of its group must not follow before it has ended.
    fn is_idle(&self, candidate: &Candidate) -> bool {
        self.index.groups.get(candidate.group).ends.is_empty()
    }

    /// The one that was not seen for longest, if what may be lost by trying it has been earned.
    fn long_unseen(&self, found: &Candidates, best: Micros) -> Option<Candidate> {
        let work = self.totals.work;
        let enough = self.totals.mean_duration.times(UNSEEN_JOBS);
        let since_trial = work.minus(self.totals.tried_at);
        if since_trial < enough {
            return None;
        }
        let allowance = Micros(since_trial.0 / WORK_PER_TRIAL);
        let seen_at = |c: &Candidate| self.expect_worker(c.worker).seen_at;
        let worth = found.list.iter().filter(|c| {
            let lost = c.finish().minus(best);
            // Of a job whose length is not known, nobody knows what is lost.
            c.samples >= KNOWN_SAMPLES
                && !c.prefetch
                && lost > Micros::ZERO
                && lost < allowance
                && work.minus(seen_at(c)) >= enough
        });
        worth.min_by(|a, b| seen_at(a).cmp(&seen_at(b)).then_with(|| self.by_score(a, b))).copied()
    }
}
