//! The half of a worker's session that speaks: what the loop tells the worker becomes messages on
//! the queue, and what the worker said is settled once it is durable.

use std::collections::VecDeque;

use bellwether_brokers::{Channel, Outgoing, Receipt, Settlement};
use bellwether_wire::json::dispatch::{Attempt, Dispatch, dispatches, welcome};
use bellwether_wire::rejection::{MALFORMED, code};
use bellwether_wire::v1;
use tokio::sync::mpsc;

use super::outbound::Outbound;
use crate::edges::session::{Told, to_wire};
use crate::event_loop::{End, ReportNumber};
use crate::sinks::trace::context::Tracing;

/// A message of the worker that is on its way to the loop.
#[derive(Debug)]
pub(super) struct Awaiting {
    /// Its report, or the last one before it.
    pub(super) report: ReportNumber,
    /// What became of it is told under this name.
    pub(super) id: Option<String>,
    pub(super) receipt: Receipt,
}

#[derive(Debug)]
pub(super) struct Speaker {
    pub(super) worker: String,
    pub(super) instance: u64,
    pub(super) tracing: Option<Tracing>,
    pub(super) told: Told,
    /// Sent before the loop can answer, so that an answer always finds its question.
    pub(super) awaiting: mpsc::UnboundedReceiver<Awaiting>,
    pub(super) outbound: mpsc::Sender<Outbound>,
}

impl Speaker {
    /// Until the loop ends the session.
    pub(super) async fn speak(mut self) {
        let mut open = VecDeque::new();
        let end = loop {
            match self.told.recv().await {
                Some(Ok(outgoing)) => {
                    self.gather(&mut open);
                    let message = to_wire(outgoing, self.tracing, 0);
                    let (bodies, settled) = self.answer(&message, &mut open);
                    if !self.send(bodies, settled).await {
                        return;
                    }
                }
                Some(Err(end)) => break Some(end),
                None => break None,
            }
        };
        self.gather(&mut open);
        let taken = end.as_ref().is_some_and(is_answer);
        let bodies = end.as_ref().map(farewell).into_iter().flatten().collect();
        let settled = open
            .into_iter()
            .map(|waiting: Awaiting| match taken {
                true => Settlement::Done(waiting.receipt),
                // It is not known what became of it, so it comes again.
                false => Settlement::Release(waiting.receipt),
            })
            .collect();
        self.send(bodies, settled).await;
    }

    fn gather(&mut self, open: &mut VecDeque<Awaiting>) {
        while let Ok(waiting) = self.awaiting.try_recv() {
            open.push_back(waiting);
        }
    }

    /// What to tell the worker, and what of its own messages is done.
    fn answer(
        &self,
        message: &v1::SchedulerMessage,
        open: &mut VecDeque<Awaiting>,
    ) -> (Vec<Vec<u8>>, Vec<Settlement>) {
        let mut bodies = Vec::new();
        let mut settled = Vec::new();
        let done = ReportNumber(message.reports_done);
        let registered = message.registered.as_ref();
        if let Some(registered) = registered {
            bodies.push(welcome(&self.worker, self.instance, registered).to_json());
        }
        // A registration is the first message of its session, before any report.
        let is_done = |waiting: &Awaiting| {
            waiting.report <= done || (registered.is_some() && waiting.report == ReportNumber(0))
        };
        while open.front().is_some_and(is_done) {
            let waiting = open.pop_front().expect("it was there a line ago");
            let refusal = message.refusals.iter().find(|refusal| {
                refusal.report == waiting.report.0 && waiting.report != ReportNumber(0)
            });
            let id = waiting.id.as_deref();
            match (refusal, id) {
                (Some(refusal), id) => bodies.push(refused(refusal, id).to_json()),
                (None, Some(id)) => bodies.push(Dispatch::Confirmed { id }.to_json()),
                (None, None) => {}
            }
            settled.push(Settlement::Done(waiting.receipt));
        }
        for refusal in message.refusals.iter().filter(|refusal| refusal.report == 0) {
            bodies.push(refused(refusal, None).to_json());
        }
        bodies.extend(dispatches(message).iter().map(Dispatch::to_json));
        (bodies, settled)
    }

    /// False if there is nobody left to send.
    async fn send(&self, bodies: Vec<Vec<u8>>, settled: Vec<Settlement>) -> bool {
        let tell = |body| Outgoing::new(Channel::dispatch(self.worker.as_str()), body);
        let told: Vec<Outgoing> = bodies.into_iter().map(tell).collect();
        if !settled.is_empty() && self.outbound.send(Outbound::Settle(settled)).await.is_err() {
            return false;
        }
        told.is_empty() || self.outbound.send(Outbound::Tell(told)).await.is_ok()
    }
}

fn refused<'a>(refusal: &'a v1::Refusal, id: Option<&'a str>) -> Dispatch<'a> {
    let attempt = Attempt { job: refusal.job, token: refusal.token };
    let attempt = (refusal.job != 0).then_some(attempt);
    Dispatch::Refused { id, attempt, code: &refusal.code, message: &refusal.message }
}

/// Whether the end is the answer to what the worker said, which then need not come again.
fn is_answer(end: &End) -> bool {
    match end {
        End::Refused(_) | End::Malformed(_) | End::Replaced => true,
        End::RegisterAgain | End::NotRegistered | End::Unavailable(_) => false,
    }
}

fn farewell(end: &End) -> Option<Vec<u8>> {
    let message = end.to_string();
    let refused = |code| Dispatch::Refused { id: None, attempt: None, code, message: &message };
    let told = match end {
        End::Refused(rejection) => refused(code(rejection)),
        End::Malformed(_) => refused(MALFORMED),
        // Its successor is told; this one would only answer with its own registration.
        End::Replaced => return None,
        End::RegisterAgain | End::NotRegistered | End::Unavailable(_) => {
            Dispatch::Reconnect { reason: &message }
        }
    };
    Some(told.to_json())
}
