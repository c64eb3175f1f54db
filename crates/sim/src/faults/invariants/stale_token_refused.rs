//! Who does not hold an attempt can say nothing about it, with any kind of message.

use bellwether_core::model::{JobNo, Token};
use bellwether_core::{Answer, Command, Event, Rejection};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::Ledger;

#[derive(Debug, Default)]
pub(crate) struct StaleTokenRefused;

impl Invariant for StaleTokenRefused {
    fn name(&self) -> &'static str {
        "stale_token_refused"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Asked {
                command: Command::Report { worker, attempt, report },
                handled,
                held_before: [],
                ..
            } => match &handled.result {
                // The same result again is as good as the first.
                Err(
                    Rejection::StaleToken { .. }
                    | Rejection::OtherResult { .. }
                    | Rejection::UnknownWorker { .. },
                )
                | Ok(Answer::AlreadyCompleted) => Ok(()),
                other => {
                    Err(format!("{worker} does not hold {attempt:?}; {report:?} gets {other:?}"))
                }
            },
            Observation::Committed { entry } => match &entry.event {
                Event::Started { job, token }
                | Event::Granted { job, token }
                | Event::Progressed { job, token, .. }
                | Event::Completed { job, token, .. }
                | Event::HandedOff { job, token, .. }
                | Event::AttemptFailed { job, token, .. } => is_open(view.ledger, *job, *token),
                Event::Revoked { job, token, .. } => {
                    let closing =
                        view.ledger.job(*job).is_some_and(|job| job.closing.contains(token));
                    if closing { Ok(()) } else { is_open(view.ledger, *job, *token) }
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}

fn is_open(ledger: &Ledger, job: JobNo, token: Token) -> Result<(), String> {
    let open =
        ledger.job(job).is_some_and(|job| job.attempts.iter().any(|open| open.token == token));
    if open { Ok(()) } else { Err(format!("an event of job {job} names {token}, not open")) }
}
