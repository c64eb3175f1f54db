//! Answers that wait for what they rest on to be durable.

use std::collections::VecDeque;

use bellwether_core::model::Seq;
use tokio::sync::oneshot;

use super::message::{ReportNumber, SessionKey, Settled, Taken, Tell, WaitStarted};
use super::outbox::{End, Outbox, Refusal, Registered};
use super::unavailable::Unavailable;

pub(super) enum Reply {
    Taken(oneshot::Sender<Result<Vec<Taken>, Unavailable>>, Vec<Taken>),
    Settled(oneshot::Sender<Result<Vec<Settled>, Unavailable>>, Vec<Settled>),
    Registered(SessionKey, Registered),
    Reports {
        session: SessionKey,
        done: ReportNumber,
        refusals: Vec<Refusal>,
    },
    End(SessionKey, End),
    /// The worker has closed its side: the last answers, then ours is closed, too.
    Close(SessionKey),
    Waiting(oneshot::Sender<Result<WaitStarted, Unavailable>>, WaitStarted),
    Seen(Tell),
}

/// In the order of their positions.
#[derive(Default)]
pub(super) struct Replies {
    waiting: VecDeque<(Seq, Reply)>,
}

impl Replies {
    pub(super) fn push(&mut self, seq: Seq, reply: Reply) {
        self.waiting.push_back((seq, reply));
    }

    /// Gives the answers that rest on nothing behind `durable`. What workers are told is left in
    /// the outbox, to be sent with the effects of the same moment.
    pub(super) fn release(&mut self, durable: Seq, outbox: &mut Outbox) {
        while self.waiting.front().is_some_and(|(seq, _)| *seq <= durable) {
            let (_, reply) = self.waiting.pop_front().expect("it was there a line ago");
            give(reply, outbox);
        }
    }

    /// What they rest on has not happened.
    pub(super) fn fail(&mut self, why: Unavailable, outbox: &mut Outbox) {
        for (_, reply) in self.waiting.drain(..) {
            match reply {
                Reply::Taken(to, _) => drop(to.send(Err(why))),
                Reply::Settled(to, _) => drop(to.send(Err(why))),
                Reply::Waiting(to, _) => drop(to.send(Err(why))),
                Reply::Seen(tell) => tell(Err(why)),
                Reply::Registered(session, _)
                | Reply::Reports { session, .. }
                | Reply::Close(session)
                | Reply::End(session, _) => outbox.end(session, End::Unavailable(why)),
            }
        }
    }
}

/// An asker that has gone away is no error: what it asked for has happened all the same.
fn give(reply: Reply, outbox: &mut Outbox) {
    match reply {
        Reply::Taken(to, taken) => drop(to.send(Ok(taken))),
        Reply::Settled(to, settled) => drop(to.send(Ok(settled))),
        Reply::Waiting(to, started) => drop(to.send(Ok(started))),
        Reply::Seen(tell) => tell(Ok(())),
        Reply::Registered(session, registered) => outbox.bind(session, registered),
        Reply::End(session, why) => outbox.end(session, why),
        Reply::Close(session) => {
            outbox.send();
            outbox.forget(session);
        }
        Reply::Reports { session, done, refusals } => {
            if let Some(waiting) = outbox.fill(session) {
                waiting.reports_done = waiting.reports_done.max(done);
                waiting.refusals.extend(refusals);
            }
        }
    }
}
