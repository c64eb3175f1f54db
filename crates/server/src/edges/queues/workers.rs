//! Workers over a queue: what they say, brought to the session of each.

use std::time::{Duration, Instant};

use bellwether_brokers::{Channel, Delivery, Outgoing, Settlement};
use bellwether_core::Command;
use bellwether_core::model::Name;
use bellwether_wire::json::dispatch::{Attempt, Dispatch};
use bellwether_wire::json::{Said, worker_message_from_json};
use bellwether_wire::rejection::code;
use bellwether_wire::v1;
use bellwether_wire::worker::report_from_wire;
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;

use super::outbound::Outbound;
use super::speaker::{Awaiting, Speaker};
use super::{Queue, REFUSED_PAUSE};
use crate::edges::contain::contain;
use crate::edges::session::WorkerSession;
use crate::event_loop::{End, ReportNumber};
use crate::projections::logs::Receipt;

/// Messages of workers that are read together.
const BATCH_MESSAGES_MAX: usize = 1_024;
/// A worker that does not register is reminded this often at most.
const REMIND_INTERVAL: Duration = Duration::from_secs(1);
/// Workers without a session that are remembered.
const STRANGERS_MAX: usize = 10_000;

pub(super) async fn listen(queue: Queue, outbound: mpsc::Sender<Outbound>) {
    let mut links = Links {
        queue: queue.clone(),
        outbound,
        by_worker: FxHashMap::default(),
        reminded: FxHashMap::default(),
    };
    loop {
        let received = tokio::select! {
            received = queue.broker.receive(&Channel::Replies, BATCH_MESSAGES_MAX) => received,
            () = queue.stopped() => break,
        };
        match received {
            Ok(deliveries) => links.take(deliveries).await,
            Err(error) => {
                tracing::error!(queue = %queue.name, %error, "workers can't be heard");
                tokio::time::sleep(REFUSED_PAUSE).await;
            }
        }
    }
}

struct Links {
    queue: Queue,
    outbound: mpsc::Sender<Outbound>,
    by_worker: FxHashMap<String, Link>,
    /// When workers without a session were last told to register.
    reminded: FxHashMap<String, Instant>,
}

/// The half of a session that listens, and the way to the other half.
struct Link {
    session: WorkerSession,
    awaiting: mpsc::UnboundedSender<Awaiting>,
}

impl Links {
    async fn take(&mut self, deliveries: Vec<Delivery>) {
        for delivery in deliveries {
            match self.read(&delivery) {
                Ok(said) => self.hear(said, delivery).await,
                Err(error) => {
                    tracing::warn!(queue = %self.queue.name, %error, "a reply is set aside");
                    self.settle(Settlement::DeadLetter { delivery: Box::new(delivery), error })
                        .await;
                }
            }
        }
    }

    fn read(&self, delivery: &Delivery) -> Result<Said, String> {
        let what = format_args!("a reply of queue {}", self.queue.name);
        let read = contain(&what, || worker_message_from_json(&delivery.body));
        read.map_err(|why| why.to_string())?.map_err(|why| why.to_string())
    }

    async fn hear(&mut self, said: Said, delivery: Delivery) {
        let Said { worker, id, message } = said;
        if let Some(register) = &message.register {
            let instance = register.spec.as_ref().map_or(0, |spec| spec.instance);
            self.open(&worker, instance);
        }
        let leaves = message.leave;
        // The speaking half ends with the session, so a closed channel is a session that is over.
        let live = self.by_worker.get_mut(&worker).filter(|link| !link.awaiting.is_closed());
        let Some(link) = live else { return self.hear_stranger(worker, message, delivery).await };
        let says_nothing_durable = message.register.is_none() && message.reports.is_empty();
        let input = match link.session.read(message) {
            Ok(input) => input,
            Err(end) => return self.end(&worker, end, delivery).await,
        };
        if says_nothing_durable {
            self.settle(Settlement::Done(delivery.receipt)).await;
        } else {
            let report = input.last_report;
            let waiting = Awaiting { report, id, receipt: delivery.receipt };
            // Closed a moment ago: the message is not settled and comes again.
            drop(link.awaiting.send(waiting));
        }
        let Some(link) = self.by_worker.get_mut(&worker) else { return };
        let sent = link.session.send(input).await;
        if leaves || sent.is_err() {
            self.close(&worker, sent.err());
        }
    }

    fn open(&mut self, worker: &str, instance: u64) {
        // What a queue has delivered needs no receipt of its own.
        let (session, told, _) = WorkerSession::open(&self.queue.desk);
        let (awaiting, questions) = mpsc::unbounded_channel();
        let speaker = Speaker {
            worker: worker.to_owned(),
            instance,
            tracing: self.queue.tracing,
            told,
            awaiting: questions,
            outbound: self.outbound.clone(),
        };
        tokio::spawn(speaker.speak());
        self.reminded.remove(worker);
        let before = self.by_worker.insert(worker.to_owned(), Link { session, awaiting });
        if let Some(before) = before {
            before.session.close(None);
        }
    }

    fn close(&mut self, worker: &str, why: Option<End>) {
        if let Some(link) = self.by_worker.remove(worker) {
            link.session.close(why);
        }
    }

    /// The message can't be read by its session, which ends with it.
    async fn end(&mut self, worker: &str, end: End, delivery: Delivery) {
        if let Some(link) = self.by_worker.get(worker) {
            let waiting =
                Awaiting { report: ReportNumber(u64::MAX), id: None, receipt: delivery.receipt };
            // Closed a moment ago: the message is not settled and comes again.
            drop(link.awaiting.send(waiting));
        }
        self.close(worker, Some(end));
    }

    /// A worker that has no session, because this scheduler has just started or has given it up.
    /// What it says of its attempts is taken, fenced as ever; and it is told to register.
    async fn hear_stranger(&mut self, worker: String, message: v1::WorkerMessage, from: Delivery) {
        self.by_worker.remove(&worker);
        let mut told = Vec::new();
        if !message.logs.is_empty()
            && let Ok(name) = Name::new(&worker)
        {
            let (receipt, _) = Receipt::new();
            self.queue.desk.logs.keep(&name, message.logs, 0, &receipt);
        }
        for report in message.reports {
            let attempt = Attempt { job: report.job, token: report.token };
            let (Ok((held, report)), Ok(name)) = (report_from_wire(report), Name::new(&worker))
            else {
                continue;
            };
            let command = Command::Report { worker: name, attempt: held, report };
            let settled = match self.queue.desk.handle.command(vec![command]).await {
                Ok(mut settled) => settled.pop(),
                Err(why) => {
                    tracing::debug!(%worker, %why, "a report is given back");
                    return self.settle(Settlement::Release(from.receipt)).await;
                }
            };
            if let Some(Err(rejection)) = settled.map(|settled| settled.result) {
                let (attempt, message) = (Some(attempt), rejection.to_string());
                let refused = Dispatch::Refused {
                    id: None,
                    attempt,
                    code: code(&rejection),
                    message: &message,
                };
                told.push(refused.to_json());
            }
        }
        if !message.leave && self.remind(&worker) {
            let reason = "this worker has no session; register, and say what it still holds";
            told.push(Dispatch::Reconnect { reason }.to_json());
        }
        let told =
            told.into_iter().map(|body| Outgoing::new(Channel::dispatch(worker.as_str()), body));
        let told: Vec<Outgoing> = told.collect();
        self.settle(Settlement::Done(from.receipt)).await;
        if !told.is_empty() {
            self.send(Outbound::Tell(told)).await;
        }
    }

    /// Whether it is time to tell the worker again.
    fn remind(&mut self, worker: &str) -> bool {
        let now = Instant::now();
        if self.reminded.len() >= STRANGERS_MAX {
            self.reminded.clear();
        }
        let before = self.reminded.get(worker).copied();
        if before.is_some_and(|before| now.duration_since(before) < REMIND_INTERVAL) {
            return false;
        }
        self.reminded.insert(worker.to_owned(), now);
        true
    }

    async fn settle(&self, settlement: Settlement) {
        self.send(Outbound::Settle(vec![settlement])).await;
    }

    async fn send(&self, outbound: Outbound) {
        if self.outbound.send(outbound).await.is_err() {
            tracing::debug!(queue = %self.queue.name, "the queue has stopped");
        }
    }
}
