//! Overload is refused: what the scheduler keeps stays below the configured bounds.

use bellwether_core::{Command, Engine, Event, Rejection};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::Ledger;

#[derive(Debug, Default)]
pub(crate) struct MemoryBounded;

impl Invariant for MemoryBounded {
    fn name(&self) -> &'static str {
        "memory_bounded"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Committed { entry } => {
                let Event::Submitted { jobs, .. } = &entry.event else {
                    return Ok(());
                };
                let live = view.ledger.live + jobs.len() as u64;
                let allowed = bound(view.ledger);
                if live > allowed {
                    return Err(format!("{live} jobs are waiting or running; {allowed} allowed"));
                }
                Ok(())
            }
            Observation::Asked {
                command: Command::Submit(submission), handled, engine, ..
            } => {
                let Err(Rejection::QueueFull { .. }) = &handled.result else {
                    return Ok(());
                };
                let config = engine.state().config();
                let wanted = live_in(engine) + submission.jobs.len() as u64;
                // Payloads here are too small to be what fills the queue.
                if wanted * 100 <= config.jobs_max * u64::from(config.reject_percent) {
                    return Err(format!("{wanted} of {} refused", config.jobs_max));
                }
                Ok(())
            }
            Observation::Inspected { engine, .. }
            | Observation::Finished { engine: Some(engine), .. } => {
                let kept = engine.state().jobs().count() as u64;
                let allowed = view.ledger.live + view.ledger.config.retain_jobs;
                if kept > allowed {
                    return Err(format!("{kept} jobs are kept; {allowed} allowed"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

fn bound(ledger: &Ledger) -> u64 {
    let config = &ledger.config;
    (config.jobs_max * u64::from(config.reject_percent)).div_ceil(100)
}

fn live_in(engine: &Engine) -> u64 {
    engine.state().jobs().filter(|(_, job)| !job.state.has_ended()).count() as u64
}
