//! Workers over a queue: what they say, brought to the session of each.

use std::time::{Duration, Instant};

use bellwether_brokers::{Channel, Delivery, Outgoing, Settlement};
use bellwether_wire::json::dispatch::Dispatch;
use bellwether_wire::json::reply::{Reply, Seal, reply_from_json};
use bellwether_wire::json::{Said, hex};
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;

use super::outbound::Outbound;
use super::seals::{Challenges, Ears, SealedSession, Standing, Unheard};
use super::speaker::{Awaiting, Speaker};
use super::{Queue, REFUSED_PAUSE, Sent};
use crate::edges::contain::contain;
use crate::edges::security::denials::{self, Cause};
use crate::edges::session::{Shown, WorkerSession};
use crate::event_loop::{End, ReportNumber};

/// Messages of workers that are read together.
const BATCH_MESSAGES_MAX: usize = 1_024;
/// A worker that does not register is reminded this often at most.
const REMIND_INTERVAL: Duration = Duration::from_secs(1);
/// Workers without a session that are remembered.
const STRANGERS_MAX: usize = 10_000;
/// What a worker is told whose messages are not signed.
const UNSIGNED: &str = "not_signed";

pub(super) async fn listen(queue: Queue, outbound: mpsc::Sender<Outbound>) {
    let mut links = Links {
        queue: queue.clone(),
        outbound,
        by_worker: FxHashMap::default(),
        challenges: Challenges::default(),
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

pub(super) struct Links {
    pub(super) queue: Queue,
    outbound: mpsc::Sender<Outbound>,
    pub(super) by_worker: FxHashMap<String, Link>,
    challenges: Challenges,
    /// When workers without a session were last told to register.
    reminded: FxHashMap<String, Instant>,
}

/// The half of a session that listens, and the way to the other half.
pub(super) struct Link {
    session: WorkerSession,
    awaiting: mpsc::UnboundedSender<Awaiting>,
    /// None: the queue vouches for the worker.
    sealed: Option<SealedSession>,
}

impl Links {
    async fn take(&mut self, deliveries: Vec<Delivery>) {
        for delivery in deliveries {
            match self.read(&delivery) {
                Ok(Reply::Said(said, seal)) => self.hear(said, seal, delivery).await,
                Ok(Reply::HandOff(handoff)) => self.hand_off(handoff, delivery).await,
                Err(error) => self.set_aside(delivery, error).await,
            }
        }
    }

    fn read(&self, delivery: &Delivery) -> Result<Reply, String> {
        let what = Sent { channel: "a reply", queue: &self.queue.name, body: &delivery.body };
        let read = contain(&what, || reply_from_json(&delivery.body));
        read.map_err(|why| why.to_string())?.map_err(|why| why.to_string())
    }

    pub(super) async fn set_aside(&self, delivery: Delivery, error: String) {
        tracing::warn!(queue = %self.queue.name, %error, "a reply is set aside");
        self.settle(Settlement::DeadLetter { delivery: Box::new(delivery), error }).await;
    }

    async fn hear(&mut self, said: Said, seal: Option<Seal>, delivery: Delivery) {
        let mut ears = Ears {
            scheduler: self.queue.desk.registrar.scheduler.as_str(),
            trusted: self.queue.trusted,
            challenges: &mut self.challenges,
        };
        let live = self.by_worker.get_mut(&said.worker).filter(|link| !link.awaiting.is_closed());
        match ears.hear(&said, seal.as_ref(), live.map(|link| &mut link.sealed)) {
            Standing::InOrder => self.pass_on(said, delivery).await,
            Standing::Registers(sealed) => {
                if !self.may_take_over(&said.worker, sealed).await {
                    return self.refuse(said, Unheard::Forged, delivery).await;
                }
                let register = said.message.register.as_ref();
                let spec = register.and_then(|register| register.spec.as_ref());
                self.open(&said.worker, spec.map_or(0, |spec| spec.instance), sealed);
                self.pass_on(said, delivery).await;
            }
            Standing::Asks => {
                self.settle(Settlement::Done(delivery.receipt)).await;
                self.challenge(&said.worker).await;
            }
            Standing::Late(key) => self.hear_late(said, key, delivery).await,
            Standing::Stranger => self.hear_stranger(said, delivery).await,
            Standing::Refused(why) => self.refuse(said, why, delivery).await,
        }
    }

    /// To the session of the worker, which is there.
    async fn pass_on(&mut self, said: Said, delivery: Delivery) {
        let Said { worker, id, message, .. } = said;
        let leaves = message.leave;
        let Some(link) = self.by_worker.get_mut(&worker) else { return };
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

    /// Whether a registration may end the session that the worker has: the loop decides whether it
    /// is let in, but by then the other one would be closed.
    async fn may_take_over(&self, worker: &str, sealed: Option<SealedSession>) -> bool {
        let shown = sealed.map(|sealed| sealed.key);
        let Some(before) = self.by_worker.get(worker).and_then(|link| link.sealed) else {
            return true;
        };
        if shown == Some(before.key) {
            return true;
        }
        let bound = self.queue.desk.key_of(worker).await;
        bound.is_ok_and(|bound| bound.is_none_or(|bound| Some(bound.key) == shown))
    }

    /// Nothing of it counts. Only a way out is told, and nothing of attempts: whoever said it is
    /// not who they say.
    pub(super) async fn refuse(&mut self, said: Said, why: Unheard, delivery: Delivery) {
        let Said { worker, kind, .. } = said;
        denials::note(Cause::Signature, kind, &format!("queue {}", self.queue.name), &why);
        if self.remind(&worker) {
            match why {
                Unheard::Outdated => self.challenge(&worker).await,
                Unheard::Unsigned | Unheard::Forged => {
                    let (code, message) = (UNSIGNED, why.to_string());
                    let (id, attempt) = (None, None);
                    let told = Dispatch::Refused { id, attempt, code, message: &message };
                    self.tell(&worker, vec![told.to_json()]).await;
                }
            }
        }
        let settlement = match why {
            // It may only have been delivered twice.
            Unheard::Outdated => Settlement::Done(delivery.receipt),
            Unheard::Unsigned | Unheard::Forged => {
                let error = why.to_string();
                Settlement::DeadLetter { delivery: Box::new(delivery), error }
            }
        };
        self.settle(settlement).await;
    }

    pub(super) async fn challenge(&mut self, worker: &str) {
        let registrar = &self.queue.desk.registrar;
        let nonce = self.challenges.of(worker, registrar);
        let (scheduler, epoch) = (registrar.scheduler.as_str(), registrar.epoch().0);
        let told = Dispatch::Challenge { worker, scheduler, nonce: hex(&nonce.0), epoch };
        let told = told.to_json();
        self.tell(worker, vec![told]).await;
    }

    fn open(&mut self, worker: &str, instance: u64, sealed: Option<SealedSession>) {
        let shown = Shown::Signed(sealed.map(|sealed| sealed.key));
        // What a queue has delivered needs no receipt of its own.
        let (session, told, _) = WorkerSession::open(&self.queue.desk, shown);
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
        let before = self.by_worker.insert(worker.to_owned(), Link { session, awaiting, sealed });
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

    /// The speaking half ends with the session, so a closed channel is a session that is over.
    pub(super) fn has_session(&self, worker: &str) -> bool {
        self.by_worker.get(worker).is_some_and(|link| !link.awaiting.is_closed())
    }

    /// Whether it is time to tell the worker again.
    pub(super) fn remind(&mut self, worker: &str) -> bool {
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

    pub(super) async fn tell(&self, worker: &str, bodies: Vec<Vec<u8>>) {
        let told = bodies.into_iter().map(|body| Outgoing::new(Channel::dispatch(worker), body));
        let told: Vec<Outgoing> = told.collect();
        if !told.is_empty() {
            self.send(Outbound::Tell(told)).await;
        }
    }

    pub(super) async fn settle(&self, settlement: Settlement) {
        self.send(Outbound::Settle(vec![settlement])).await;
    }

    async fn send(&self, outbound: Outbound) {
        if self.outbound.send(outbound).await.is_err() {
            tracing::debug!(queue = %self.queue.name, "the queue has stopped");
        }
    }
}
