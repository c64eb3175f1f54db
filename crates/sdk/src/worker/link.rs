//! Connects, and connects again.

use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};

use super::key::KeyError;
use super::session::{End, Resident, Stop};
use crate::backoff::Backoff;
use crate::error::ClientError;
use crate::fleet::{Fleet, SEARCH_PAUSE_MAX};

/// A worker that is to end and can't reach the scheduler gives up after this: its unconfirmed
/// results are lost, and their jobs run again.
const DRAIN_PATIENCE: Duration = Duration::from_secs(20);

/// Refusals that connecting again does not change.
const FINAL_CODES: [&str; 12] = [
    "malformed",
    "bad_slots",
    "too_many_labels",
    "unimplemented",
    "replaced",
    "key_missing",
    "other_key",
    "key_not_approved",
    "key_required",
    "key_revoked",
    "ticket_closed",
    "beyond_key",
];

#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("worker {id}: {source}")]
    Refused { id: String, source: ClientError },
    #[error("worker {id} could not tell the scheduler its last results: {source}")]
    NotDrained { id: String, source: ClientError },
    #[error("worker {id} ended early: {source}")]
    Ended { id: String, source: JoinError },
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("failed to listen for signals: {0}")]
    Signals(#[from] std::io::Error),
}

/// A worker at work. Dropping the handle lets it leave.
#[derive(Debug)]
pub struct RunningWorker {
    pub(super) id: String,
    pub(super) stop: watch::Sender<Stop>,
    pub(super) task: JoinHandle<Result<(), WorkerError>>,
}

impl RunningWorker {
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Takes no more, and ends once everything is finished and confirmed.
    pub fn drain(&self) {
        self.stop.send_replace(Stop::Drain);
    }

    /// Ends now; what it holds is given back.
    pub fn leave(&self) {
        self.stop.send_replace(Stop::Leave);
    }

    /// Ends without a word, as a crash would.
    pub fn kill(self) {
        self.task.abort();
    }

    /// Returns once the worker has ended.
    pub async fn ended(&mut self) -> Result<(), WorkerError> {
        let id = self.id.clone();
        (&mut self.task).await.unwrap_or_else(|source| Err(WorkerError::Ended { id, source }))
    }
}

pub(super) async fn run(
    mut resident: Resident,
    fleet: Fleet,
    backoff: Backoff,
) -> Result<(), WorkerError> {
    let mut stop = resident.stop.clone();
    let mut failures = 0;
    let mut unheard_since = Instant::now();
    loop {
        let asked = fleet.ask();
        // Of one scheduler alone it is told at once why it can't be reached; to others there are
        // connections already.
        let link = match fleet.is_single() {
            true => asked.connection.connect().await,
            false => Ok(asked.link.clone()),
        };
        let end = match link {
            Ok(link) => resident.attend(&fleet, &asked, link, || failures = 0).await,
            Err(error) => End::Broken(error),
        };
        if failures == 0 {
            unheard_since = Instant::now();
        }
        let stopping = *stop.borrow() >= Stop::Drain;
        match end {
            End::Left => return Ok(()),
            End::Reconnect => fleet.pass(&asked),
            End::Deposed => continue,
            End::NoKey(error) => return Err(error.into()),
            End::Broken(source) if is_final(&source) => {
                return Err(WorkerError::Refused { id: resident.spec.id, source });
            }
            End::Broken(source) => {
                match &source {
                    ClientError::NotLeader { leader: Some(leader), .. }
                        if fleet.follow(leader, &asked) => {}
                    _ => fleet.pass(&asked),
                }
                // Whoever leaves gives everything back; the scheduler finds out by itself.
                let nothing_owed = resident.desk.is_clear() || *stop.borrow() == Stop::Leave;
                if stopping && (nothing_owed || unheard_since.elapsed() > DRAIN_PATIENCE) {
                    let id = resident.spec.id;
                    let lost = Err(WorkerError::NotDrained { id, source });
                    return if nothing_owed { Ok(()) } else { lost };
                }
            }
        }
        failures += 1;
        let pause = backoff.pause(failures);
        let pause = if fleet.is_single() { pause } else { pause.min(SEARCH_PAUSE_MAX) };
        let pause = tokio::time::sleep(pause);
        tokio::select! {
            () = pause => {}
            // A wish to stop need not wait for the pause to end.
            _ = stop.changed(), if !stopping => {}
        }
    }
}

/// Connecting again would lead to the same.
fn is_final(error: &ClientError) -> bool {
    match error {
        ClientError::BadAddress { .. } | ClientError::BadToken | ClientError::Denied(_) => true,
        ClientError::Refused(refusal) => FINAL_CODES.contains(&refusal.code.as_str()),
        ClientError::Unreachable { .. }
        | ClientError::NotLeader { .. }
        | ClientError::Protocol(_) => false,
    }
}
