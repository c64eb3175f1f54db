//! Jobs that one of their keys keeps.

use super::AHEAD_MAX;
use crate::index::gates::Gate;
use crate::index::groups::expected_wait;
use crate::model::{JobId, JobNo, KeyUse, Name, Timestamp};
use crate::state::{Job, JobState, State};

/// Jobs of one key that an answer looks through.
const LOOKED_THROUGH_MAX: usize = 100_000;
/// Holders that an answer names.
const HOLDERS_MAX: usize = 100;

/// A key that has no room for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FullKey {
    pub key: Name,
    /// How much of it is taken, and how much may be for this job to start.
    pub used: u64,
    pub limit: u64,
    /// Who has it; oldest first.
    pub holders: Vec<JobId>,
    /// Ready jobs of the key that go first.
    pub ahead: usize,
    /// When its holders are expected to be done; soonest first.
    ends: Vec<Timestamp>,
}

impl State {
    /// The key that keeps a ready job.
    pub(super) fn keeping_key<'a>(&self, no: JobNo, job: &'a Job) -> Option<(&'a KeyUse, Gate)> {
        self.index.gates.keeping(job.spec.key_set()?, (job.rank, no))
    }

    pub(super) fn full_key(&self, no: JobNo, job: &Job) -> Option<FullKey> {
        let (each, Gate { used, limit }) = self.keeping_key(no, job)?;
        let (mut holders, mut ends, mut ahead) = (Vec::new(), Vec::new(), 0);
        let present = self.index.gates.present(&each.key).take(LOOKED_THROUGH_MAX);
        for (other_no, other) in present.filter_map(|no| Some((no, self.job(no)?))) {
            let goes_first = (other.rank, other_no) < (job.rank, no);
            if other.state == JobState::Ready && goes_first && ahead < AHEAD_MAX {
                ahead += 1;
            }
            if !other.offers().is_empty() && holders.len() < HOLDERS_MAX {
                holders.push(other.spec.id.clone());
                let end = |attempt: &crate::model::Attempt| attempt.offered_at + attempt.predicted;
                ends.extend(other.offers().iter().map(end).min());
            }
        }
        ends.sort_unstable();
        Some(FullKey { key: each.key.clone(), used, limit, holders, ahead, ends })
    }

    /// What its holders leave is taken in turn by those ahead; after that every job is expected to last
    /// as long as this one.
    pub(super) fn expected_turn(
        &self,
        job: &Job,
        full: &FullKey,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let rounds = full.ahead.checked_div(full.ends.len())?;
        let end = full.ends[full.ahead % full.ends.len()];
        (full.limit > 0).then(|| now + expected_wait(end, now) + job.predicted.times(rounds as u64))
    }

    /// Jobs that are skipped for want of a dependency name that, or themselves.
    pub(super) fn key_of_skipped(&self, job: &Job, state: &JobState) -> Option<Name> {
        let JobState::Skipped { because } = state else { return None };
        let own = self.job_no(job.spec.id.as_str()) == Some(*because);
        if own || job.dependencies.contains(because) {
            return None;
        }
        let keys = job.spec.keys();
        let holder = self.job(*because);
        let has = |each: &&KeyUse| {
            holder.is_none_or(|holder| holder.spec.keys().iter().any(|other| other.key == each.key))
        };
        keys.iter().find(has).map(|each| each.key.clone())
    }
}
