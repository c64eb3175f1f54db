//! Answers that wait for what they rest on to be durable.

use std::collections::VecDeque;
use std::fmt;

use bellwether_core::model::{JobId, Seq};
use bellwether_core::{Answer, Rejection};
use bellwether_journal::Head;

use crate::edge::Edge;
use crate::outbox::{End, Outbox, Refusal, Registered};
use crate::session::{ReportNumber, SessionKey};
use crate::unavailable::Unavailable;

/// What became of a command.
#[derive(Debug)]
pub struct Settled {
    /// Durable by the time that anybody sees this.
    pub seq: Seq,
    pub result: Result<Answer, Rejection>,
}

#[derive(Debug)]
pub struct WaitStarted {
    pub seq: Seq,
    /// Ids that the core does not know or whose jobs have ended already.
    pub not_waited_for: Vec<JobId>,
}

/// An answer, and who waits for it.
pub enum Reply<E: Edge> {
    Settled(E::Asker<Vec<Settled>>, Result<Vec<Settled>, Unavailable>),
    Waiting(E::Asker<WaitStarted>, Result<WaitStarted, Unavailable>),
    Seen(E::Seen, Result<(), Unavailable>),
    /// The snapshot of this position is saved.
    Snapshot(E::SnapshotAsker, Result<Head, Unavailable>),
}

impl<E: Edge> fmt::Debug for Reply<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Settled(_, settled) => f.debug_tuple("Settled").field(settled).finish(),
            Reply::Waiting(_, started) => f.debug_tuple("Waiting").field(started).finish(),
            Reply::Seen(_, seen) => f.debug_tuple("Seen").field(seen).finish(),
            Reply::Snapshot(_, snapshot) => f.debug_tuple("Snapshot").field(snapshot).finish(),
        }
    }
}

impl<E: Edge> Reply<E> {
    pub(crate) fn refused(self, why: Unavailable) -> Reply<E> {
        match self {
            Reply::Settled(to, _) => Reply::Settled(to, Err(why)),
            Reply::Waiting(to, _) => Reply::Waiting(to, Err(why)),
            Reply::Seen(to, _) => Reply::Seen(to, Err(why)),
            Reply::Snapshot(to, _) => Reply::Snapshot(to, Err(why)),
        }
    }
}

/// An answer that rests on something.
pub(crate) enum Pending<E: Edge> {
    Reply(Reply<E>),
    Registered(SessionKey, Registered),
    Reports {
        session: SessionKey,
        done: ReportNumber,
        refusals: Vec<Refusal<E::Malformed>>,
    },
    End(SessionKey, End<E::Malformed>),
    /// The worker has closed its side: the last answers, then ours is closed, too.
    Close(SessionKey),
}

/// In the order of their positions.
pub(crate) struct Replies<E: Edge> {
    waiting: VecDeque<(Seq, Pending<E>)>,
    /// To be given now.
    ready: VecDeque<Reply<E>>,
}

impl<E: Edge> Default for Replies<E> {
    fn default() -> Self {
        Replies { waiting: VecDeque::new(), ready: VecDeque::new() }
    }
}

impl<E: Edge> Replies<E> {
    pub(crate) fn push(&mut self, seq: Seq, pending: Pending<E>) {
        self.waiting.push_back((seq, pending));
    }

    pub(crate) fn give(&mut self, reply: Reply<E>) {
        self.ready.push_back(reply);
    }

    pub(crate) fn poll(&mut self) -> Option<Reply<E>> {
        self.ready.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.ready.is_empty()
    }

    /// Gives the answers that rest on nothing behind `durable`. What workers are told is left in
    /// the outbox, to be sent with the effects of the same moment.
    pub(crate) fn release(&mut self, durable: Seq, outbox: &mut Outbox<E>) {
        while self.waiting.front().is_some_and(|(seq, _)| *seq <= durable) {
            let (_, pending) = self.waiting.pop_front().expect("it was there a line ago");
            match pending {
                Pending::Reply(reply) => self.ready.push_back(reply),
                Pending::Registered(session, registered) => outbox.bind(session, registered),
                Pending::End(session, why) => outbox.end(session, why),
                Pending::Close(session) => outbox.close(session),
                Pending::Reports { session, done, refusals } => {
                    if let Some(waiting) = outbox.fill(session) {
                        waiting.reports_done = waiting.reports_done.max(done);
                        waiting.refusals.extend(refusals);
                    }
                }
            }
        }
    }

    /// Answers that were not given may rest on what another has changed since.
    pub(crate) fn withdraw(&mut self) {
        let ready = self.ready.drain(..).map(|reply| match reply {
            // It may have changed something, which may have been kept.
            Reply::Settled(to, Ok(_)) => Reply::Settled(to, Err(Unavailable::Unknown)),
            Reply::Waiting(to, Ok(_)) => Reply::Waiting(to, Err(Unavailable::Deposed)),
            Reply::Seen(to, Ok(())) => Reply::Seen(to, Err(Unavailable::Deposed)),
            told @ (Reply::Settled(..)
            | Reply::Waiting(..)
            | Reply::Seen(..)
            | Reply::Snapshot(..)) => told,
        });
        self.ready = ready.collect();
    }

    /// What they rest on has not happened, or nobody knows whether it has.
    pub(crate) fn fail(&mut self, why: Unavailable, outbox: &mut Outbox<E>) {
        for (_, pending) in self.waiting.drain(..) {
            match pending {
                Pending::Reply(reply) => self.ready.push_back(reply.refused(why)),
                Pending::Registered(session, _)
                | Pending::Reports { session, .. }
                | Pending::Close(session)
                | Pending::End(session, _) => outbox.end(session, End::Unavailable(why)),
            }
        }
    }
}
