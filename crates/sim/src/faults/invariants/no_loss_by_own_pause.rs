//! Time in which no scheduler listened counts against nobody: no worker is lost, no attempt given up
//! and no offer hedged before a scheduler has listened for the whole term.

use std::collections::BTreeMap;

use bellwether_core::Event;
use bellwether_core::model::{FailureCause, JobNo, Micros, Token};

use super::Invariant;
use super::heard::Heard;
use crate::faults::court::{Observation, View};
use crate::faults::stage::ABSENCE_MIN;

#[derive(Debug, Default)]
pub(crate) struct NoLossByOwnPause {
    heard: Heard,
    /// How long a scheduler had listened when each open attempt was offered, started, and last made
    /// progress; and the term that began then.
    attempts: BTreeMap<(JobNo, Token), Terms>,
}

#[derive(Debug, Clone, Copy)]
struct Terms {
    offered: u64,
    started: Option<u64>,
    progress: Option<(u64, Micros)>,
}

impl Invariant for NoLossByOwnPause {
    fn name(&self) -> &'static str {
        "no_loss_by_own_pause"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        self.heard.observe(seen);
        if let Observation::Recovered { .. } = seen {
            self.allow_for_restart();
        }
        let Observation::Committed { entry } = seen else { return Ok(()) };
        let listened = view.stamps.of(entry.seq).listened;
        let config = &view.ledger.config;
        match &entry.event {
            Event::Assigned { job, hedge, .. } => {
                let terms = Terms { offered: listened, started: None, progress: None };
                self.attempts.insert((*job, Token::from(entry.seq)), terms);
                let first = view.ledger.job(*job).and_then(|job| job.attempts.first());
                match first.and_then(|first| self.attempts.get(&(*job, first.token))) {
                    Some(first) if *hedge => {
                        let quiet = listened.saturating_sub(first.offered);
                        enough(quiet, config.hedge_after_min, || format!("job {job} is hedged"))
                    }
                    Some(_) | None => Ok(()),
                }
            }
            Event::Started { job, token } | Event::Granted { job, token } => {
                self.change(*job, *token, |terms| terms.started = Some(listened));
                Ok(())
            }
            Event::Progressed { job, token, .. } => {
                let term = config.stall_after;
                self.change(*job, *token, |terms| terms.progress = Some((listened, term)));
                Ok(())
            }
            Event::AttemptFailed { job, token, cause, error } => {
                let Some(terms) = self.attempts.remove(&(*job, *token)) else { return Ok(()) };
                let timeout = view.ledger.job(*job).and_then(|job| job.spec.timeout);
                let began = match cause {
                    FailureCause::TimedOut => terms.started.zip(timeout),
                    FailureCause::Stalled => terms.progress,
                    FailureCause::Undelivered if error == "the offer was not acknowledged" => {
                        Some((terms.offered, config.unreachable_after))
                    }
                    _ => None,
                };
                let Some((began, term)) = began else { return Ok(()) };
                // Half a heartbeat of an absence may go unnoticed.
                let waited = (listened + ABSENCE_MIN).saturating_sub(began);
                enough(waited, term, || format!("{token} of job {job} is given up: {cause:?}"))
            }
            Event::WorkerLost { worker } => {
                let Some(record) = view.ledger.worker(*worker) else { return Ok(()) };
                let silent = self.heard.silent_for(&record.spec.id, listened);
                let Some(silent) = silent else { return Ok(()) };
                enough(silent, config.unreachable_after, || format!("{} is lost", record.spec.id))
            }
            _ => Ok(()),
        }
    }
}

impl NoLossByOwnPause {
    /// A new scheduler's time may begin a little ahead of where the last one's was.
    fn allow_for_restart(&mut self) {
        for terms in self.attempts.values_mut() {
            let began = [Some(&mut terms.offered), terms.started.as_mut()];
            let progress = terms.progress.as_mut().map(|(began, _)| began);
            for began in began.into_iter().flatten().chain(progress) {
                *began = began.saturating_sub(ABSENCE_MIN);
            }
        }
    }

    fn change(&mut self, job: JobNo, token: Token, change: impl FnOnce(&mut Terms)) {
        if let Some(terms) = self.attempts.get_mut(&(job, token)) {
            change(terms);
        }
    }
}

fn enough(listened: u64, term: Micros, what: impl FnOnce() -> String) -> Result<(), String> {
    if listened >= term.0 {
        return Ok(());
    }
    Err(format!("{} after {} of listening, not {term}", what(), Micros(listened)))
}
