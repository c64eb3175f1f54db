//! Recomputing recorded decisions from the state before them.

use std::fmt::Debug;

use crate::engine::Engine;
use crate::event::{Decision, Entry, Event};
use crate::life::Moved;
use crate::model::{JobNo, Seq, Timestamp, WorkerNo};
use crate::place::candidates::Wanted;
use crate::place::choose::Choice;
use crate::place::plan::Plan;
use crate::place::queue::Next;

/// Something recorded that the state before it does not lead to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("the decision at {seq} placed job {job} on worker {worker}; recomputed: {recomputed}")]
    Decision {
        seq: Seq,
        job: JobNo,
        worker: WorkerNo,
        /// What the state before it leads to.
        recomputed: String,
    },
    #[error("the event at {seq} brought {}; recomputed: {}", listed(recorded), listed(recomputed))]
    Moved { seq: Seq, recorded: Box<[Moved]>, recomputed: Box<[Moved]> },
}

fn listed(moved: &[Moved]) -> String {
    let each = moved.iter().map(|moved| format!("job {} to {}", moved.job, moved.to.as_str()));
    if moved.is_empty() {
        "no job anywhere".to_owned()
    } else {
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Entries of before it was kept say nothing, so nothing is compared with them.
pub(crate) fn check_moved(entry: &Entry, recomputed: &[Moved]) -> Result<(), Mismatch> {
    if entry.moved.is_empty() || *entry.moved == *recomputed {
        return Ok(());
    }
    let (seq, recorded) = (entry.seq, entry.moved.clone());
    Err(Mismatch::Moved { seq, recorded, recomputed: recomputed.into() })
}

impl Engine {
    /// The decision that the state leads to now, in words: what should stand at the next position
    /// if a decision does.
    pub fn expected_decision(&mut self, at: Timestamp) -> Option<String> {
        self.state.now = self.state.now.max(at);
        let now = self.state.now;
        match self.state.next_decision(now, self.predictor.as_ref(), None) {
            Next::Assign { job, worker, decision } => {
                let (job, worker) = (self.state.expect_job(job), self.state.expect_worker(worker));
                let (job, worker) = (&job.spec.id, worker.id());
                Some(format!("job {job} on worker {worker}, score {}", decision.score.0))
            }
            Next::Nothing | Next::PredictorFailed { .. } => None,
        }
    }

    pub(crate) fn check_decision(&mut self, entry: &Entry) -> Result<(), Mismatch> {
        let Event::Assigned { job, worker, hedge, decision } = &entry.event else { return Ok(()) };
        self.state.now = self.state.now.max(entry.at);
        let found = if *hedge {
            self.second_offer(*job, decision)
        } else {
            self.next_offer(*job, decision)
        };
        let mismatch = |recomputed| Mismatch::Decision {
            seq: entry.seq,
            job: *job,
            worker: *worker,
            recomputed,
        };
        match found {
            Ok((found_job, found_worker, found_decision)) => {
                if (found_job, found_worker) != (*job, *worker) {
                    return Err(mismatch(format!("job {found_job} on worker {found_worker}")));
                }
                match difference(decision, *found_decision) {
                    Some(difference) => Err(mismatch(difference)),
                    None => Ok(()),
                }
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
            except: &[first.worker],
            predictor: (!recorded.fallback).then_some(self.predictor.as_ref()),
        };
        match self.state.choose(&wanted, recorded.fallback, &mut Plan::default()) {
            Ok(Choice::Worker { worker, decision }) => Ok((no, worker, decision)),
            Ok(Choice::Nobody | Choice::Hold { .. }) => Err("no other worker has room".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

type Found = (JobNo, WorkerNo, Box<Decision>);

/// What was recorded otherwise than it is now found; none if nothing was.
fn difference(recorded: &Decision, mut found: Decision) -> Option<String> {
    if recorded.basis.is_none() {
        // Written before it was kept what scores are made of.
        found.basis = None;
        for loser in &mut found.losers {
            (loser.finish, loser.terms) = Default::default();
        }
    }
    if *recorded == found {
        return None;
    }
    let mut fields = Vec::new();
    let mut compare = |name: &str, recorded: &dyn Debug, found: &dyn Debug| {
        let (recorded, found) = (format!("{recorded:?}"), format!("{found:?}"));
        if recorded != found {
            fields.push(format!("{name} {found}, not {recorded}"));
        }
    };
    compare("strategy", &recorded.strategy, &found.strategy);
    compare("fallback", &recorded.fallback, &found.fallback);
    compare("score", &recorded.score, &found.score);
    compare("predicted_wait", &recorded.predicted_wait, &found.predicted_wait);
    compare("predicted_duration", &recorded.predicted_duration, &found.predicted_duration);
    compare("confidence_percent", &recorded.confidence_percent, &found.confidence_percent);
    compare("load_model", &recorded.load_model, &found.load_model);
    compare("reason", &recorded.reason, &found.reason);
    compare("losers", &recorded.losers, &found.losers);
    compare("shadow", &recorded.shadow, &found.shadow);
    compare("basis", &recorded.basis, &found.basis);
    Some(format!("the same worker, with {}", fields.join("; ")))
}
