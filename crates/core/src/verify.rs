//! Recomputing recorded decisions from the state before them.

use crate::engine::Engine;
use crate::event::{Decision, Entry, Event};
use crate::model::{JobNo, Seq, WorkerNo};
use crate::place::candidates::Wanted;
use crate::place::choose::{Choice, Reserved};
use crate::place::queue::Next;

/// A recorded decision that the state before it does not lead to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the decision at {seq} placed job {job} on worker {worker}; recomputed: {recomputed}")]
pub struct Mismatch {
    pub seq: Seq,
    pub job: JobNo,
    pub worker: WorkerNo,
    pub recomputed: String,
}

impl Engine {
    pub(crate) fn check_decision(&mut self, entry: &Entry) -> Result<(), Mismatch> {
        let Event::Assigned { job, worker, hedge, decision } = &entry.event else { return Ok(()) };
        self.state.now = self.state.now.max(entry.at);
        let found = if *hedge {
            self.second_offer(*job, decision)
        } else {
            self.next_offer(*job, decision)
        };
        let mismatch =
            |recomputed| Mismatch { seq: entry.seq, job: *job, worker: *worker, recomputed };
        match found {
            Ok((found_job, found_worker, found_decision)) => {
                if (found_job, found_worker) != (*job, *worker) {
                    return Err(mismatch(format!("job {found_job} on worker {found_worker}")));
                }
                if *found_decision != **decision {
                    return Err(mismatch("the same worker for other reasons".to_owned()));
                }
                Ok(())
            }
            Err(why) => Err(mismatch(why)),
        }
    }

    fn next_offer(&mut self, job: JobNo, recorded: &Decision) -> Result<Found, String> {
        let now = self.state.now;
        // That the predictor failed is a fact of that moment, not of the state.
        let fallback_for = recorded.fallback.then_some(job);
        match self.state.next_decision(now, self.predictor.as_ref(), fallback_for) {
            Next::Assign { job, worker, decision } => Ok((job, worker, decision)),
            Next::Nothing => Err("no job can be placed".to_owned()),
            Next::PredictorFailed { error, .. } => Err(error),
        }
    }

    fn second_offer(&self, no: JobNo, recorded: &Decision) -> Result<Found, String> {
        let job = self.state.job(no).ok_or("no such job")?;
        let first = job.offers().first().ok_or("the job has no first offer")?;
        let wanted = Wanted {
            no,
            job,
            now: self.state.now,
            except: Some(first.worker),
            predictor: (!recorded.fallback).then_some(self.predictor.as_ref()),
        };
        match self.state.choose(&wanted, recorded.fallback, &Reserved::default()) {
            Ok(Choice::Worker { worker, decision }) => Ok((no, worker, decision)),
            Ok(Choice::Nobody | Choice::Hold { .. }) => Err("no other worker has room".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

type Found = (JobNo, WorkerNo, Box<Decision>);
