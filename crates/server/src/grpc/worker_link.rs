//! Worker sessions: one stream in each direction.

use std::pin::Pin;
use std::time::Duration;

use bellwether_core::model::WorkerId;
use bellwether_core::{Command, Offer};
use bellwether_wire::rejection::MALFORMED;
use bellwether_wire::v1::worker_link_server::WorkerLink;
use bellwether_wire::worker::{
    attempt_to_wire, heartbeat_from_wire, model_loaded_from_wire, offer_to_wire, refusal_to_wire,
    register_from_wire, report_from_wire, revoke_to_wire,
};
use bellwether_wire::{Malformed, v1};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use super::status::session_ended;
use crate::scheduler::{
    End, Handle, NumberedReport, Outgoing, Refusal, Registration, ReportNumber,
    SESSION_MESSAGES_MAX, SessionInput, SessionKey,
};
use crate::trace::context::Tracing;

/// How long a new session may take to register.
const REGISTER_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) struct WorkerLinkService {
    handle: Handle,
    /// If traces are recorded.
    tracing: Option<Tracing>,
}

impl WorkerLinkService {
    pub(crate) fn new(handle: Handle, tracing: Option<Tracing>) -> WorkerLinkService {
        WorkerLinkService { handle, tracing }
    }
}

#[tonic::async_trait]
impl WorkerLink for WorkerLinkService {
    type SessionStream =
        Pin<Box<dyn Stream<Item = Result<v1::SchedulerMessage, Status>> + Send + 'static>>;

    async fn session(
        &self,
        request: Request<Streaming<v1::WorkerMessage>>,
    ) -> Result<Response<Self::SessionStream>, Status> {
        let (outgoing, messages) = mpsc::channel(SESSION_MESSAGES_MAX);
        let (alive, other_half) = oneshot::channel();
        let session = Incoming {
            handle: self.handle.clone(),
            key: self.handle.new_session(),
            weak: outgoing.downgrade(),
            outgoing: Some(outgoing),
            other_half,
            worker: None,
            reports: ReportNumber(0),
        };
        tokio::spawn(session.listen(request.into_inner()));
        let tracing = self.tracing;
        let messages = ReceiverStream::new(messages).map(move |message| {
            // Dropped with the stream, which is how the listening half learns of its end.
            let _: &oneshot::Sender<()> = &alive;
            message.map(|message| to_wire(message, tracing)).map_err(session_ended)
        });
        Ok(Response::new(Box::pin(messages)))
    }
}

/// The half of a session that listens.
struct Incoming {
    handle: Handle,
    key: SessionKey,
    /// Until the worker registers; from then on the loop alone decides when the stream ends.
    outgoing: Option<mpsc::Sender<Result<Outgoing, End>>>,
    weak: mpsc::WeakSender<Result<Outgoing, End>>,
    /// Resolves when the half that speaks has ended.
    other_half: oneshot::Receiver<()>,
    worker: Option<WorkerId>,
    reports: ReportNumber,
}

impl Incoming {
    async fn listen(mut self, mut messages: Streaming<v1::WorkerMessage>) {
        if let Err(end) = self.attend(&mut messages).await
            && let Some(outgoing) = self.weak.upgrade()
        {
            // A worker that is gone or does not read learns it from the closed stream.
            drop(outgoing.try_send(Err(end)));
        }
        self.handle.session_closed(self.key);
    }

    /// Returns when the worker has closed its side; a broken connection is no different.
    async fn attend(&mut self, messages: &mut Streaming<v1::WorkerMessage>) -> Result<(), End> {
        let first = tokio::time::timeout(REGISTER_WITHIN, messages.message()).await;
        let Ok(first) = first else { return Err(End::NotRegistered) };
        let mut next = first;
        while let Ok(Some(message)) = next {
            let input = self.parse(message)?;
            self.handle.session_input(self.key, input).await?;
            next = tokio::select! {
                next = messages.message() => next,
                // Nobody is left to answer to.
                _ = &mut self.other_half => return Ok(()),
            };
        }
        Ok(())
    }

    fn parse(&mut self, message: v1::WorkerMessage) -> Result<SessionInput, End> {
        let register = message.register.map(|wire| self.registration(wire)).transpose()?;
        let worker = self.worker.clone().ok_or(End::NotRegistered)?;
        let heartbeat = message.heartbeat.map(heartbeat_from_wire);
        let before = heartbeat.map(|beat| Command::Heartbeat { worker: worker.clone(), beat });
        let mut reports = Vec::with_capacity(message.reports.len());
        let mut malformed = Vec::new();
        for wire in message.reports {
            self.reports.0 += 1;
            let number = self.reports;
            match report_from_wire(wire) {
                Ok((attempt, report)) => reports.push(NumberedReport { number, attempt, report }),
                Err(why) => malformed.push((number, why)),
            }
        }
        let mut after = Vec::new();
        for loaded in &message.models_loaded {
            match model_loaded_from_wire(loaded) {
                Ok((model, took)) => {
                    after.push(Command::ModelLoaded { worker: worker.clone(), model, took });
                }
                Err(why) => malformed.push((ReportNumber(0), why)),
            }
        }
        if message.drain {
            after.push(Command::Drain { worker: worker.clone() });
        }
        if message.leave {
            after.push(Command::Leave { worker: worker.clone() });
        }
        let before = before.into_iter().collect();
        let last_report = self.reports;
        Ok(SessionInput { worker, register, before, reports, malformed, after, last_report })
    }

    fn registration(&mut self, wire: v1::Register) -> Result<Registration, End> {
        let within = |why: Malformed| End::Malformed(why.within("register"));
        let (spec, held) = register_from_wire(wire).map_err(within)?;
        self.worker = Some(spec.id.clone());
        let outgoing = self.outgoing.take().or_else(|| self.weak.upgrade());
        let outgoing = outgoing.ok_or(End::Replaced)?;
        Ok(Registration { spec, held, outgoing })
    }
}

fn to_wire(outgoing: Outgoing, tracing: Option<Tracing>) -> v1::SchedulerMessage {
    v1::SchedulerMessage {
        registered: outgoing.registered.map(|registered| v1::Registered {
            worker: registered.worker.0,
            unknown: registered.unknown.into_iter().map(attempt_to_wire).collect(),
            heartbeat_interval: registered.heartbeat_interval.0,
            server: concat!("bellwether ", env!("CARGO_PKG_VERSION")).to_owned(),
        }),
        offers: outgoing
            .offers
            .iter()
            .map(|(offer, run)| traced(offer, offer_to_wire(offer, run.as_ref()), tracing))
            .collect(),
        grants: outgoing.grants.into_iter().map(attempt_to_wire).collect(),
        revokes: outgoing
            .revokes
            .into_iter()
            .map(|(attempt, reason)| revoke_to_wire(attempt, reason))
            .collect(),
        reports_done: outgoing.reports_done.0,
        refusals: outgoing.refusals.into_iter().map(refusal).collect(),
        drain: outgoing.drain,
        reconnect: outgoing.reconnect,
    }
}

/// If the scheduler records the job's trace, the worker's spans belong below the attempt's; else
/// below what the submitter said.
fn traced(offer: &Offer, mut wire: v1::Offer, tracing: Option<Tracing>) -> v1::Offer {
    let trace = tracing.and_then(|tracing| tracing.of_job(offer.attempt.job, &offer.spec));
    if let Some(trace) = trace {
        wire.trace_parent = trace.of_attempt(offer.attempt.token).to_string();
    }
    wire
}

fn refusal(refusal: Refusal) -> v1::Refusal {
    match refusal {
        Refusal::Rejected { report, attempt, rejection } => {
            refusal_to_wire(report.0, attempt, &rejection)
        }
        Refusal::Malformed { report, malformed } => v1::Refusal {
            report: report.0,
            job: 0,
            token: 0,
            code: MALFORMED.to_owned(),
            message: malformed.to_string(),
        },
    }
}
