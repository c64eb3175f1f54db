//! A handoff moves the attempt that it was signed for, while it holds, to whom it was signed for,
//! and nothing else: whoever sends it again, later or for another job changes nothing.

use bellwether_core::model::{Handoff, HeldAttempt, Receiver, WorkerId, WorkerNo};
use bellwether_core::{Command, Event, Report};

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct ForgedOrReplayedChangesNothing;

impl Invariant for ForgedOrReplayedChangesNothing {
    fn name(&self) -> &'static str {
        "forged_or_replayed_changes_nothing"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Asked {
                command: Command::Report { worker, attempt, report: Report::HandOff(signed) },
                handled,
                engine,
                ..
            } => {
                if handled.result.is_err() {
                    return Ok(());
                }
                let state = engine.state();
                let expires = state.wall_ahead().from_the_wall(signed.expires);
                if expires <= state.now {
                    return Err(format!("a handoff of {} is taken after its time", signed.job));
                }
                is_for(worker, *attempt, signed, view)
            }
            Observation::Committed { entry } => match &entry.event {
                Event::HandedOff { job, token, handoff } => {
                    let attempt = HeldAttempt { job: *job, token: *token };
                    is_for(&handoff.from, attempt, handoff, view)
                }
                Event::Assigned { job, worker, .. } => {
                    let record = view.ledger.job(*job);
                    let given = record.filter(|job| job.pinned.is_none());
                    let last = given.and_then(|job| job.given.last());
                    last.map_or(Ok(()), |last| goes_to(*worker, last, view))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

/// It was signed for this attempt, by whom it is from.
fn is_for(
    worker: &WorkerId,
    attempt: HeldAttempt,
    signed: &Handoff,
    view: &View<'_>,
) -> Result<(), String> {
    let HeldAttempt { job, token } = attempt;
    let is_its_job = view.ledger.job(job).is_some_and(|record| record.spec.id == signed.job);
    if !is_its_job || signed.token != token {
        let (for_job, for_token) = (&signed.job, signed.token);
        return Err(format!("a handoff of {for_job} at {for_token} moves job {job} at {token}"));
    }
    if signed.from != *worker {
        return Err(format!("a handoff of {} moves what {worker} holds", signed.from));
    }
    // What the journal does not say yet may have bound another.
    if view.ledger.key_of(worker).is_some_and(|key| key != signed.key) {
        return Err(format!("a handoff is taken that another key than {worker}'s signed"));
    }
    Ok(())
}

fn goes_to(worker: WorkerNo, last: &Handoff, view: &View<'_>) -> Result<(), String> {
    let Some(worker) = view.ledger.worker(worker) else { return Ok(()) };
    let is_it = match &last.receiver {
        Receiver::Worker(id) => *id == worker.spec.id,
        Receiver::Role(role) => worker.spec.roles.contains(role),
    };
    let (job, receiver, id) = (&last.job, &last.receiver, &worker.spec.id);
    if is_it { Ok(()) } else { Err(format!("{job} was handed to {receiver} and goes to {id}")) }
}
