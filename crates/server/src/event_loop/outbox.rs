//! What workers are told. Effects and answers that are released together reach a worker in one
//! message.

use bellwether_core::model::{HeldAttempt, Micros, RevokeReason, RunId, WorkerNo};
use bellwether_core::{Effect, Offer, Rejection, State};
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;

use super::message::{ReportNumber, SessionKey};
use super::unavailable::Unavailable;
use bellwether_wire::Malformed;

/// Messages that may wait for one worker; one that does not read them is cut off and must come
/// back, which the core takes like any other loss of a connection.
pub(crate) const SESSION_MESSAGES_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    pub(crate) registered: Option<Registered>,
    pub(crate) offers: Vec<(Offer, Option<RunId>)>,
    pub(crate) grants: Vec<HeldAttempt>,
    pub(crate) revokes: Vec<(HeldAttempt, RevokeReason)>,
    pub(crate) reports_done: ReportNumber,
    pub(crate) refusals: Vec<Refusal>,
    pub(crate) drain: bool,
    pub(crate) reconnect: bool,
}

impl Outgoing {
    /// An offer that has not left yet is withdrawn, because parts of one message have no order.
    fn revoke(&mut self, attempt: HeldAttempt, reason: RevokeReason) {
        match self.offers.iter().rposition(|(offer, _)| offer.attempt == attempt) {
            Some(unsent) => drop(self.offers.swap_remove(unsent)),
            None => self.revokes.push((attempt, reason)),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Registered {
    pub(crate) worker: WorkerNo,
    pub(crate) unknown: Vec<HeldAttempt>,
    pub(crate) heartbeat_interval: Micros,
}

#[derive(Debug)]
pub(crate) enum Refusal {
    Rejected { report: ReportNumber, attempt: HeldAttempt, rejection: Rejection },
    Malformed { report: ReportNumber, malformed: Malformed },
}

/// Why a session ends from this side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum End {
    #[error("another session of this worker has taken over")]
    Replaced,
    #[error("this worker was given up; connect again and say what it still holds")]
    RegisterAgain,
    #[error("{0}")]
    Refused(Rejection),
    #[error("{0}")]
    Malformed(Malformed),
    #[error("the first message of a session must register the worker")]
    NotRegistered,
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

#[derive(Debug, Default)]
pub(crate) struct Outbox {
    sessions: FxHashMap<SessionKey, Session>,
    /// The session that effects for a worker go to.
    of_worker: FxHashMap<WorkerNo, SessionKey>,
    /// Those with something to send.
    filled: Vec<SessionKey>,
}

#[derive(Debug)]
struct Session {
    outgoing: mpsc::Sender<Result<Outgoing, End>>,
    worker: Option<WorkerNo>,
    waiting: Outgoing,
    filled: bool,
}

impl Outbox {
    /// A session whose registration is not durable yet: it gets no effects.
    pub(crate) fn open(&mut self, key: SessionKey, outgoing: mpsc::Sender<Result<Outgoing, End>>) {
        let waiting = Outgoing::default();
        self.sessions.insert(key, Session { outgoing, worker: None, waiting, filled: false });
    }

    /// The registration is durable: from now on the worker's effects go here, and an earlier
    /// session of the same worker ends.
    pub(crate) fn bind(&mut self, key: SessionKey, registered: Registered) {
        let worker = registered.worker;
        let Some(session) = self.sessions.get_mut(&key) else { return };
        session.worker = Some(worker);
        if let Some(before) = self.of_worker.insert(worker, key)
            && before != key
        {
            self.end(before, End::Replaced);
        }
        if let Some(waiting) = self.fill(key) {
            waiting.registered = Some(registered);
        }
    }

    pub(crate) fn end(&mut self, key: SessionKey, why: End) {
        let Some(session) = self.sessions.get(&key) else { return };
        // A reader that is gone or stuck learns it from the closed stream instead.
        drop(session.outgoing.try_send(Err(why)));
        self.forget(key);
    }

    pub(crate) fn end_all(&mut self, why: &End) {
        let keys: Vec<_> = self.sessions.keys().copied().collect();
        for key in keys {
            self.end(key, why.clone());
        }
    }

    pub(crate) fn forget(&mut self, key: SessionKey) {
        let Some(session) = self.sessions.remove(&key) else { return };
        if let Some(worker) = session.worker
            && self.of_worker.get(&worker) == Some(&key)
        {
            self.of_worker.remove(&worker);
        }
    }

    pub(crate) fn is_connected(&self, worker: WorkerNo) -> bool {
        self.of_worker.contains_key(&worker)
    }

    pub(crate) fn connected(&self) -> usize {
        self.of_worker.len()
    }

    /// The next message to this session, to add to.
    pub(crate) fn fill(&mut self, key: SessionKey) -> Option<&mut Outgoing> {
        let session = self.sessions.get_mut(&key)?;
        if !std::mem::replace(&mut session.filled, true) {
            self.filled.push(key);
        }
        Some(&mut session.waiting)
    }

    /// Adds an effect that concerns a worker; gives back any other. A worker without a session gets
    /// nothing: the core notices its silence.
    pub(crate) fn add(&mut self, state: &State, effect: Effect) -> Option<Effect> {
        let (Effect::Offer { worker, .. }
        | Effect::Grant { worker, .. }
        | Effect::Revoke { worker, .. }
        | Effect::Drain { worker }) = &effect
        else {
            return Some(effect);
        };
        let key = *self.of_worker.get(worker)?;
        let waiting = self.fill(key)?;
        match effect {
            Effect::Offer { offer, .. } => {
                let run = state.job(offer.attempt.job).and_then(|job| job.run);
                let run = run.and_then(|run| state.run(run)).map(|run| run.id.clone());
                waiting.offers.push((offer, run));
            }
            Effect::Grant { attempt, .. } => waiting.grants.push(attempt),
            Effect::Revoke { attempt, reason, .. } => waiting.revoke(attempt, reason),
            Effect::Drain { .. } => waiting.drain = true,
            Effect::Ended { .. } => return Some(effect),
        }
        None
    }

    /// Sends what was added since the last time.
    pub(crate) fn send(&mut self) {
        let mut filled = std::mem::take(&mut self.filled);
        for key in filled.drain(..) {
            let Some(session) = self.sessions.get_mut(&key) else { continue };
            session.filled = false;
            let message = std::mem::take(&mut session.waiting);
            if session.outgoing.try_send(Ok(message)).is_err() {
                // Gone, or stuck: dropping the sender ends its stream.
                self.forget(key);
            }
        }
        self.filled = filled;
    }

    pub(crate) fn say_reconnect(&mut self) {
        let keys: Vec<_> = self.sessions.keys().copied().collect();
        for key in keys {
            if let Some(waiting) = self.fill(key) {
                waiting.reconnect = true;
            }
        }
        self.send();
        self.sessions.clear();
        self.of_worker.clear();
    }
}
