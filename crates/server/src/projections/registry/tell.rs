//! What an operator wants to find in the log: who comes and goes, and what is given up. At a rate that
//! fills no log; events and metrics have all of it.

use bellwether_core::{Entry, Event};

use super::projection::Projection;
use crate::log_rate::LogRate;

static WORKERS: LogRate = LogRate::new();
static DEAD_LETTERS: LogRate = LogRate::new();

impl Projection {
    /// Of an entry that has just happened, before or after it was projected.
    pub(super) fn tell(&self, entry: &Entry) -> rusqlite::Result<()> {
        match &entry.event {
            Event::WorkerJoined { spec, .. } if WORKERS.allows() => {
                tracing::info!(worker = %spec.id, slots = spec.slots, "a worker has joined");
            }
            Event::WorkerReturned { worker } if WORKERS.allows() => {
                tracing::info!(worker = self.worker_name(*worker), "a worker has come back");
            }
            Event::WorkerLeft { worker } if WORKERS.allows() => {
                tracing::info!(worker = self.worker_name(*worker), "a worker has left");
            }
            Event::WorkerLost { worker } if WORKERS.allows() => {
                let worker = self.worker_name(*worker);
                tracing::warn!(worker, "a worker is lost; what it held is placed anew");
            }
            Event::DeadLettered { job, reason, .. } if DEAD_LETTERS.allows() => {
                let job = self.id_of(*job)?.unwrap_or_else(|| job.to_string());
                tracing::warn!(job, why = reason.in_words(), "a job is dead-lettered");
            }
            _ => {}
        }
        Ok(())
    }
}
