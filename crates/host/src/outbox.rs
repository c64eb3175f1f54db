//! What workers are told. Effects and answers that are released together reach a worker in one
//! message.

use bellwether_core::model::{HeldAttempt, Micros, RevokeReason, RunId, WorkerNo};
use bellwether_core::{Effect, Offer, Rejection, State};

use crate::FixedMap;
use crate::edge::Edge;
use crate::session::{ReportNumber, SessionKey};
use crate::unavailable::Unavailable;

/// The next message to a worker.
#[derive(Debug)]
pub struct Outgoing<M> {
    pub registered: Option<Registered>,
    pub offers: Vec<(Offer, Option<RunId>)>,
    pub grants: Vec<HeldAttempt>,
    pub revokes: Vec<(HeldAttempt, RevokeReason)>,
    pub reports_done: ReportNumber,
    pub refusals: Vec<Refusal<M>>,
    pub drain: bool,
    pub reconnect: bool,
}

impl<M> Default for Outgoing<M> {
    fn default() -> Self {
        Outgoing {
            registered: None,
            offers: Vec::new(),
            grants: Vec::new(),
            revokes: Vec::new(),
            reports_done: ReportNumber(0),
            refusals: Vec::new(),
            drain: false,
            reconnect: false,
        }
    }
}

impl<M> Outgoing<M> {
    /// An offer that has not left yet is withdrawn, because parts of one message have no order.
    fn revoke(&mut self, attempt: HeldAttempt, reason: RevokeReason) {
        match self.offers.iter().rposition(|(offer, _)| offer.attempt == attempt) {
            Some(unsent) => drop(self.offers.swap_remove(unsent)),
            None => self.revokes.push((attempt, reason)),
        }
    }
}

#[derive(Debug)]
pub struct Registered {
    pub worker: WorkerNo,
    pub unknown: Vec<HeldAttempt>,
    pub heartbeat_interval: Micros,
}

#[derive(Debug)]
pub enum Refusal<M> {
    Rejected { report: ReportNumber, attempt: HeldAttempt, rejection: Rejection },
    Malformed { report: ReportNumber, malformed: M },
}

/// Why a session ends from this side.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum End<M> {
    #[error("another session of this worker has taken over")]
    Replaced,
    #[error("this worker was given up; connect again and say what it still holds")]
    RegisterAgain,
    #[error("{0}")]
    Refused(Rejection),
    #[error("{0}")]
    Malformed(M),
    #[error("the first message of a session must register the worker")]
    NotRegistered,
    #[error("{0}")]
    Unavailable(#[from] Unavailable),
}

pub(crate) struct Outbox<E: Edge> {
    sessions: FixedMap<SessionKey, Session<E>>,
    /// The session that effects for a worker go to.
    of_worker: FixedMap<WorkerNo, SessionKey>,
    /// Sessions that were refused or replaced, until their workers have closed them.
    refused: FixedMap<SessionKey, ()>,
    /// Those with something to send, in the order in which that came about.
    filled: Vec<SessionKey>,
}

struct Session<E: Edge> {
    link: E::Link,
    worker: Option<WorkerNo>,
    waiting: Outgoing<E::Malformed>,
    filled: bool,
    /// Once its last message is sent it is forgotten, with a word on why if there is one.
    closing: Option<Option<End<E::Malformed>>>,
}

impl<E: Edge> Default for Outbox<E> {
    fn default() -> Self {
        Outbox {
            sessions: FixedMap::default(),
            of_worker: FixedMap::default(),
            refused: FixedMap::default(),
            filled: Vec::new(),
        }
    }
}

impl<E: Edge> Outbox<E> {
    /// A session whose registration is not durable yet: it gets no effects.
    pub(crate) fn open(&mut self, key: SessionKey, link: E::Link) {
        if let Some(session) = self.sessions.get_mut(&key) {
            // It registers again, and stays bound until that is durable.
            session.link = link;
            return;
        }
        let waiting = Outgoing::default();
        let session = Session { link, worker: None, waiting, filled: false, closing: None };
        self.sessions.insert(key, session);
    }

    /// Nothing more of it is heard, although it may still have to be told why.
    pub(crate) fn refuse(&mut self, key: SessionKey) {
        self.refused.insert(key, ());
    }

    pub(crate) fn is_refused(&self, key: SessionKey) -> bool {
        self.refused.contains_key(&key)
    }

    /// Its worker has closed its side, so nothing more of it can come.
    pub(crate) fn forget_refusal(&mut self, key: SessionKey) {
        self.refused.remove(&key);
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

    /// Why it ends is the last that it is told.
    pub(crate) fn end(&mut self, key: SessionKey, why: End<E::Malformed>) {
        self.unbind(key);
        if matches!(why, End::Refused(_) | End::Replaced) {
            self.refuse(key);
        }
        if self.fill(key).is_none() {
            return;
        }
        let Some(session) = self.sessions.get_mut(&key) else { return };
        match (&session.closing, &why) {
            (None, _) => session.closing = Some(Some(why)),
            // What was left to tell a worker that has closed its side may no longer be true.
            (Some(None), End::Unavailable(_)) => session.closing = Some(Some(why)),
            (Some(_), _) => {}
        }
    }

    /// It ends once it has been told what waits for it.
    pub(crate) fn close(&mut self, key: SessionKey) {
        self.unbind(key);
        let Some(session) = self.sessions.get_mut(&key) else { return };
        if session.filled {
            session.closing.get_or_insert(None);
        } else {
            self.sessions.remove(&key);
        }
    }

    /// Ends every session, in the order of their keys.
    pub(crate) fn end_all(&mut self, why: Unavailable) {
        for key in self.keys() {
            self.end(key, End::Unavailable(why));
        }
    }

    pub(crate) fn say_reconnect(&mut self) {
        for key in self.keys() {
            if let Some(waiting) = self.fill(key) {
                waiting.reconnect = true;
            }
            self.close(key);
        }
    }

    fn keys(&self) -> Vec<SessionKey> {
        let mut keys: Vec<_> = self.sessions.keys().copied().collect();
        keys.sort_unstable();
        keys
    }

    fn unbind(&mut self, key: SessionKey) {
        if let Some(worker) = self.sessions.get(&key).and_then(|session| session.worker)
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

    /// The next message to this session, to add to; none if it is gone.
    pub(crate) fn fill(&mut self, key: SessionKey) -> Option<&mut Outgoing<E::Malformed>> {
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
        | Effect::Drain { worker }
        | Effect::Dismiss { worker }) = &effect
        else {
            return Some(effect);
        };
        let key = *self.of_worker.get(worker)?;
        if let Effect::Dismiss { worker } = &effect {
            let id = state.worker(*worker)?.spec.id.clone();
            self.end(key, End::Refused(Rejection::KeyRevoked { id }));
            return None;
        }
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
            Effect::Dismiss { .. } | Effect::Ended { .. } => return Some(effect),
        }
        None
    }

    /// Hands over what was added since the last time. A session whose link is false has gone.
    pub(crate) fn drain(
        &mut self,
        mut deliver: impl FnMut(&E::Link, Result<Outgoing<E::Malformed>, End<E::Malformed>>) -> bool,
    ) {
        let mut filled = std::mem::take(&mut self.filled);
        for key in filled.drain(..) {
            let Some(session) = self.sessions.get_mut(&key) else { continue };
            session.filled = false;
            let message = std::mem::take(&mut session.waiting);
            let gone = match session.closing.take() {
                // What else it was to be told it learns when it comes back.
                Some(Some(end)) => {
                    deliver(&session.link, Err(end));
                    true
                }
                Some(None) => {
                    deliver(&session.link, Ok(message));
                    true
                }
                None => !deliver(&session.link, Ok(message)),
            };
            if gone {
                self.unbind(key);
                self.sessions.remove(&key);
            }
        }
        self.filled = filled;
    }
}
