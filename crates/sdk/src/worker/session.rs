//! One connection to the scheduler, from registration to its end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bellwether_wire::signing::Secret;
use bellwether_wire::v1;
use bellwether_wire::v1::worker_link_client::WorkerLinkClient;
use tokio::sync::{mpsc, watch};
use tokio::time::{Interval, MissedTickBehavior};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Status, Streaming};

use super::calibration::Calibration;
use super::credentials::{Credentials, introduce};
use super::desk::Desk;
use super::executor::{Begun, Executor, Happening};
use super::key::{KeyError, KeySource};
use super::logs::Outbox;
use super::machine::Machine;
use crate::connection::{Link, MESSAGE_BYTES_MAX};
use crate::error::ClientError;
use crate::fleet::{Asked, Fleet};

/// Messages handed to the connection ahead; while it is slower, reports gather for the next.
const MESSAGES_AHEAD: usize = 2;
/// Happenings that are taken in one go.
const HAPPENINGS_MAX: usize = 4_096;
/// Progress of one attempt is sent this often at most.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);
/// Output gathers for so long before it is sent, unless its attempt ends.
const LOG_INTERVAL: Duration = Duration::from_millis(50);
/// Until the scheduler says otherwise.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(5);

/// How a worker is to end, in rising order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    No,
    /// Finish what it holds first.
    Drain,
    /// Give back what it holds.
    Leave,
}

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// We said goodbye.
    Left,
    /// The scheduler asked us to come back.
    Reconnect,
    /// Another leads now.
    Deposed,
    Broken(ClientError),
    NoKey(KeyError),
}

/// What outlives a connection.
pub(crate) struct Resident {
    pub(crate) spec: v1::WorkerSpec,
    pub(crate) desk: Desk,
    pub(crate) executor: Executor,
    pub(crate) logs: Arc<Outbox>,
    pub(crate) happenings: mpsc::UnboundedReceiver<Happening>,
    pub(crate) stop: watch::Receiver<Stop>,
    /// The highest reign that it was registered in: it goes back to none before.
    pub(crate) epoch: u64,
    pub(crate) models_loaded: Vec<v1::ModelLoaded>,
    pub(crate) machine: Machine,
    pub(crate) calibration: Calibration,
    /// Counted, because a scheduler that was away may find several of them at once.
    pub(crate) connections: u64,
    pub(crate) key: KeySource,
    pub(crate) join_token: String,
}

/// What a session waits for.
#[expect(clippy::large_enum_variant, reason = "it is made for a message and taken apart at once")]
enum Next {
    /// A message can be sent, and there is something to say.
    Room,
    Heard(Result<Option<v1::SchedulerMessage>, Status>),
    Happened,
    BeatDue,
    ProgressDue,
    LogsDue,
    Stop(Stop),
    Deposed,
}

struct Session<'a> {
    resident: &'a mut Resident,
    address: &'a str,
    /// Resolves once another leads.
    deposed: Pin<Box<dyn Future<Output = ()> + Send + 'a>>,
    outgoing: mpsc::Sender<v1::WorkerMessage>,
    incoming: Streaming<v1::SchedulerMessage>,
    heartbeat: Interval,
    progress: Interval,
    logs: Interval,
    logs_due: bool,
    buffer: Vec<Happening>,
    beat_due: bool,
    drain_due: bool,
}

impl Resident {
    /// Registers, works, and returns when the connection has ended. `registered` is called once the
    /// scheduler knows us.
    pub(crate) async fn attend(
        &mut self,
        fleet: &Fleet,
        asked: &Asked,
        link: Link,
        registered: impl FnOnce(),
    ) -> End {
        let secret = match self.key.load() {
            Ok(secret) => secret,
            Err(error) => return End::NoKey(error),
        };
        let opened = tokio::select! {
            biased;
            opened = Session::open(self, fleet, asked, link, secret) => opened,
            // Whoever was asked may be stopped, and never answer.
            () = fleet.elsewhere(asked) => return End::Deposed,
        };
        match opened {
            Ok(session) => {
                registered();
                session.work().await
            }
            Err(error) => End::Broken(error),
        }
    }

    /// From now on this is the scheduler that we sign for.
    fn introduced(&mut self, challenge: v1::Challenge, secret: Option<Secret>) {
        let credentials = Arc::new(Credentials {
            worker: self.spec.id.clone(),
            roles: self.spec.roles.clone(),
            scheduler: challenge.scheduler,
            epoch: challenge.epoch,
            secret,
        });
        self.desk.introduced(Arc::clone(&credentials));
        self.executor.introduced(credentials);
    }

    /// Takes what handlers had to say while nobody was connected.
    fn catch_up(&mut self) {
        while let Ok(happening) = self.happenings.try_recv() {
            self.note(happening);
        }
    }

    fn note(&mut self, happening: Happening) {
        match happening {
            Happening::Finished { token, outcome } => self.desk.finished(token, outcome),
            Happening::Progressed { token } => self.desk.progressed(token),
            Happening::Ended { token } => self.desk.ended(token),
            Happening::ModelLoaded(loaded) => {
                if !self.spec.models.contains(&loaded.model) {
                    self.spec.models.push(loaded.model.clone());
                }
                self.models_loaded.push(loaded);
            }
        }
    }

    fn revoke(&mut self, token: u64) {
        if let Some(task) = self.desk.revoked(token) {
            self.executor.stop_later(token, task);
        }
    }

    /// Starts whatever may start; quick handlers end on the way.
    fn start_ready(&mut self) {
        let since = Instant::now();
        while let Some(context) = self.desk.next_to_start() {
            match self.executor.begin(&context, since) {
                Begun::Finished(outcome) => self.desk.finished(context.token(), outcome),
                Begun::Running(task) => self.desk.runs_in(context.token(), task),
            }
        }
    }

    fn heartbeat(&mut self) -> v1::Heartbeat {
        v1::Heartbeat {
            cpu_permille: self.machine.cpu_permille(),
            memory_permille: self.machine.memory_permille(),
            load_permille: self.desk.load_permille(),
            queue_depth: u32::try_from(self.desk.queue_depth()).unwrap_or(u32::MAX),
            overloaded: false,
        }
    }
}

impl<'a> Session<'a> {
    async fn open(
        resident: &'a mut Resident,
        fleet: &'a Fleet,
        asked: &'a Asked,
        link: Link,
        secret: Option<Secret>,
    ) -> Result<Session<'a>, ClientError> {
        resident.catch_up();
        let (outgoing, messages) = mpsc::channel(MESSAGES_AHEAD);
        let mut link = WorkerLinkClient::new(link)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .max_encoding_message_size(MESSAGE_BYTES_MAX);
        let address = asked.connection.address.as_str();
        let failed = |status| ClientError::from_status(address, &status);
        let mut incoming =
            link.session(ReceiverStream::new(messages)).await.map_err(failed)?.into_inner();
        let challenge = incoming.message().await.map_err(failed)?;
        let Some(challenge) = challenge.and_then(|message| message.challenge) else {
            let text = "a session does not begin with a challenge".to_owned();
            return Err(ClientError::Protocol(text));
        };
        // One that does not know yet that it leads no more would take what we hold from us.
        if challenge.epoch < resident.epoch.max(fleet.epoch()) {
            let address = address.to_owned();
            return Err(ClientError::NotLeader { address, leader: None });
        }
        let epoch = challenge.epoch;
        let mut spec = resident.spec.clone();
        if spec.speed_permille == 0 {
            spec.speed_permille = resident.calibration.speed_permille();
        }
        let proof = introduce(&mut spec, &challenge, secret.as_ref()).into();
        resident.connections += 1;
        let register = v1::Register {
            spec: Some(spec),
            held: resident.desk.held(),
            connection: resident.connections,
            proof,
            join_token: resident.join_token.clone(),
        };
        let hello = v1::WorkerMessage { register: Some(register), ..Default::default() };
        outgoing.try_send(hello).expect("an empty channel has room");
        let first = incoming.message().await.map_err(failed)?;
        let welcome = first.as_ref().and_then(|message| message.registered.clone());
        let (Some(first), Some(welcome)) = (first, welcome) else {
            let text = "the answer does not say that we are registered".to_owned();
            return Err(ClientError::Protocol(text));
        };
        resident.epoch = epoch;
        fleet.leads(asked, epoch);
        for attempt in &welcome.unknown {
            resident.revoke(attempt.token);
        }
        resident.introduced(challenge, secret);
        resident.desk.reconnected();
        resident.logs.reconnected(welcome.log_bytes_max);
        let drain_due = *resident.stop.borrow() >= Stop::Drain;
        let mut session = Session {
            drain_due,
            resident,
            address,
            deposed: Box::pin(fleet.later_reign(epoch)),
            outgoing,
            incoming,
            heartbeat: interval(welcome.heartbeat_interval),
            progress: every(PROGRESS_INTERVAL),
            logs: every(LOG_INTERVAL),
            logs_due: true,
            buffer: Vec::with_capacity(HAPPENINGS_MAX),
            beat_due: true,
        };
        session.hear(first);
        Ok(session)
    }

    async fn work(mut self) -> End {
        loop {
            self.resident.start_ready();
            if self.has_gone() {
                return self.leave().await;
            }
            match self.next().await {
                Next::Room => {
                    let message = self.message();
                    // As when output is due of which nothing may be sent yet.
                    if message == v1::WorkerMessage::default() {
                        continue;
                    }
                    if self.outgoing.try_send(message).is_err() {
                        return self.broken("the stream was closed");
                    }
                }
                Next::Heard(Ok(Some(message))) => {
                    let reconnect = message.reconnect;
                    self.hear(message);
                    if reconnect {
                        return End::Reconnect;
                    }
                }
                Next::Heard(Ok(None)) => return self.broken("the scheduler closed the stream"),
                Next::Heard(Err(status)) => {
                    return End::Broken(ClientError::from_status(self.address, &status));
                }
                Next::Deposed => return End::Deposed,
                Next::Happened => {
                    for happening in self.buffer.drain(..) {
                        self.resident.note(happening);
                    }
                }
                Next::BeatDue => self.beat_due = true,
                Next::ProgressDue => self.resident.desk.release_progress(),
                Next::LogsDue => self.logs_due = true,
                Next::Stop(Stop::No) => {}
                Next::Stop(Stop::Drain) => {
                    self.resident.desk.drain();
                    self.drain_due = true;
                }
                Next::Stop(Stop::Leave) => return self.leave().await,
            }
        }
    }

    async fn next(&mut self) -> Next {
        let has_mail = self.has_mail();
        let has_progress = self.resident.desk.has_progress();
        let outbox = self.resident.logs.clone();
        let logs_due = async {
            outbox.news().await;
            self.logs.tick().await;
        };
        tokio::select! {
            // What is owed goes out before more is taken in.
            biased;
            () = &mut self.deposed => Next::Deposed,
            _ = self.outgoing.reserve(), if has_mail => Next::Room,
            received = self.incoming.message() => Next::Heard(received),
            _ = self.resident.happenings.recv_many(&mut self.buffer, HAPPENINGS_MAX) => {
                Next::Happened
            }
            _ = self.heartbeat.tick() => Next::BeatDue,
            _ = self.progress.tick(), if has_progress => Next::ProgressDue,
            () = logs_due => Next::LogsDue,
            changed = self.resident.stop.changed() => match changed {
                Ok(()) => Next::Stop(*self.resident.stop.borrow_and_update()),
                Err(_) => Next::Stop(Stop::Leave),
            }
        }
    }

    /// Everything that is ready, in one message.
    fn message(&mut self) -> v1::WorkerMessage {
        let beat = std::mem::take(&mut self.beat_due);
        self.logs_due = false;
        let logs = self.resident.logs.take(Instant::now());
        v1::WorkerMessage {
            register: None,
            heartbeat: beat.then(|| self.resident.heartbeat()),
            reports: self.resident.desk.take_reports(),
            models_loaded: std::mem::take(&mut self.resident.models_loaded),
            drain: std::mem::take(&mut self.drain_due),
            leave: false,
            logs,
        }
    }

    fn hear(&mut self, message: v1::SchedulerMessage) {
        let resident = &mut *self.resident;
        for refusal in &message.refusals {
            if refusal.token != 0 && !resident.desk.handoff_refused(refusal) {
                resident.revoke(refusal.token);
            }
        }
        resident.desk.confirmed(message.reports_done);
        resident.logs.confirmed(message.logs_done);
        for revoke in &message.revokes {
            resident.revoke(revoke.token);
        }
        for grant in &message.grants {
            resident.desk.granted(grant.token);
        }
        for offer in message.offers {
            resident.desk.offered(resident.executor.context(offer));
        }
    }

    fn has_mail(&self) -> bool {
        self.resident.desk.has_unsent()
            || self.beat_due
            || self.drain_due
            || self.logs_due
            || !self.resident.models_loaded.is_empty()
    }

    fn has_gone(&self) -> bool {
        let stopping = *self.resident.stop.borrow() >= Stop::Drain;
        stopping
            && self.resident.desk.is_clear()
            && !self.has_mail()
            && self.resident.logs.is_clear()
    }

    /// Says goodbye and waits until the scheduler has closed its side.
    async fn leave(mut self) -> End {
        let goodbye = v1::WorkerMessage { leave: true, ..Default::default() };
        if self.outgoing.send(goodbye).await.is_err() {
            return self.broken("the stream was closed");
        }
        drop(self.outgoing);
        while let Ok(Some(_)) = self.incoming.message().await {}
        End::Left
    }

    fn broken(&self, reason: &str) -> End {
        let address = self.address.to_owned();
        End::Broken(ClientError::Unreachable { address, reason: reason.to_owned() })
    }
}

fn interval(micros: u64) -> Interval {
    let period = if micros == 0 { HEARTBEAT_INTERVAL } else { Duration::from_micros(micros) };
    every(period)
}

fn every(period: Duration) -> Interval {
    let mut interval = tokio::time::interval(period);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
