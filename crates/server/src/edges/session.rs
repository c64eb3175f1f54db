//! A worker's session, whatever carries its messages: a gRPC stream, or a queue.
//!
//! The edge hands in what the worker says, as the messages of the schema, and takes from the channel
//! that [`WorkerSession::open`] gives what the worker is to be told.

use std::sync::Arc;

use bellwether_core::model::{HeldAttempt, JobNo, Token, TraceParent, WorkerId, WorkerKey};
use bellwether_core::{Command, Offer, Report};
use bellwether_wire::rejection::MALFORMED;
use bellwether_wire::worker::{
    attempt_to_wire, heartbeat_from_wire, model_loaded_from_wire, offer_to_wire, refusal_to_wire,
    register_from_wire, report_from_wire, revoke_to_wire,
};
use bellwether_wire::{Malformed, v1};
use tokio::sync::{mpsc, watch};

use crate::edges::desk::Desk;
use crate::edges::registrar::{Evidence, Nonce, Registrar};
use crate::edges::security::tls::ClientCertificate;
use crate::event_loop::{
    End, Handle, NumberedReport, Outgoing, Refusal, Registration, ReportNumber,
    SESSION_MESSAGES_MAX, SessionInput, SessionKey,
};
use crate::projections::logs::{Logs, Receipt};
use crate::sinks::trace::context::Tracing;

/// What a worker is told; an error is the last of it.
#[derive(Debug)]
pub(crate) struct Told {
    messages: mpsc::Receiver<Result<Outgoing, End>>,
    /// For the half that listens.
    admitted: watch::Sender<bool>,
}

impl Told {
    pub(crate) async fn recv(&mut self) -> Option<Result<Outgoing, End>> {
        let told = self.messages.recv().await;
        if matches!(&told, Some(Ok(outgoing)) if outgoing.registered.is_some()) {
            self.admitted.send_replace(true);
        }
        told
    }

    /// Whether the worker has been told that it was let in.
    pub(crate) fn admitted(&self) -> bool {
        *self.admitted.borrow()
    }
}

/// How a registration shows that the worker holds its key.
#[derive(Debug, Clone)]
pub(crate) enum Shown {
    /// By a proof that answers the challenge of the session, or by a certificate.
    Proof(Option<Arc<ClientCertificate>>),
    /// The message itself was signed with this key; none: with none.
    Signed(Option<WorkerKey>),
}

/// How many chunks of the output that it has brought are settled.
pub(crate) type LogsDone = watch::Receiver<u64>;

/// The half of a session that listens.
#[derive(Debug)]
pub(crate) struct WorkerSession {
    handle: Handle,
    logs: Logs,
    receipt: Receipt,
    /// Chunks of output so far.
    chunks: u64,
    /// Whether the loop has let the worker in.
    admitted: watch::Receiver<bool>,
    registrar: Registrar,
    shown: Shown,
    /// What the worker is to sign.
    nonce: Nonce,
    key: SessionKey,
    /// Until the worker registers; from then on the loop alone decides when the session ends.
    outgoing: Option<mpsc::Sender<Result<Outgoing, End>>>,
    weak: mpsc::WeakSender<Result<Outgoing, End>>,
    worker: Option<WorkerId>,
    reports: ReportNumber,
}

impl WorkerSession {
    pub(crate) fn open(desk: &Desk, shown: Shown) -> (WorkerSession, Told, LogsDone) {
        let Desk { handle, registrar, logs, .. } = desk;
        let (outgoing, messages) = mpsc::channel(SESSION_MESSAGES_MAX);
        let (admit, admitted) = watch::channel(false);
        let told = Told { messages, admitted: admit };
        let (receipt, logs_done) = Receipt::new();
        let session = WorkerSession {
            handle: handle.clone(),
            logs: logs.clone(),
            receipt,
            chunks: 0,
            admitted,
            shown,
            nonce: registrar.challenge(),
            registrar: registrar.clone(),
            key: handle.new_session(),
            weak: outgoing.downgrade(),
            outgoing: Some(outgoing),
            worker: None,
            reports: ReportNumber(0),
        };
        (session, told, logs_done)
    }

    /// What the session begins with.
    pub(crate) fn challenge(&self) -> v1::SchedulerMessage {
        let challenge = Some(self.registrar.challenge_to_wire(self.nonce));
        v1::SchedulerMessage { challenge, ..Default::default() }
    }

    /// Reads a message and numbers its reports. What was read must be sent, in order.
    pub(crate) fn read(&mut self, message: v1::WorkerMessage) -> Result<SessionInput, End> {
        let register = message.register.map(|wire| self.registration(wire)).transpose()?;
        let worker = self.worker.clone().ok_or(End::NotRegistered)?;
        if !message.logs.is_empty() {
            // Before the reports, so that whoever learns of an end finds all that was printed.
            self.chunks += message.logs.len() as u64;
            // Until it is let in, nobody knows whether it is this worker.
            match *self.admitted.borrow() {
                true => self.logs.keep(&worker, message.logs, self.chunks, &self.receipt),
                false => self.receipt.done(self.chunks),
            }
        }
        let heartbeat = message.heartbeat.map(heartbeat_from_wire);
        let before = heartbeat.map(|beat| Command::Heartbeat { worker: worker.clone(), beat });
        let mut reports = Vec::with_capacity(message.reports.len());
        let mut malformed = Vec::new();
        for wire in message.reports {
            self.reports.0 += 1;
            let number = self.reports;
            match self.report(&worker, wire) {
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

    /// Waits for room for as long as it takes.
    pub(crate) async fn send(&self, input: SessionInput) -> Result<(), End> {
        Ok(self.handle.session_input(self.key, input).await?)
    }

    /// The worker has closed its side, or must go for this reason. What it was told before still
    /// reaches it.
    pub(crate) fn close(self, why: Option<End>) {
        if let Some(end) = why
            && let Some(outgoing) = self.weak.upgrade()
        {
            // A worker that is gone or does not read learns it from the closed session.
            drop(outgoing.try_send(Err(end)));
        }
        self.handle.session_closed(self.key);
    }

    fn registration(&mut self, wire: v1::Register) -> Result<Registration, End> {
        let within = |why: Malformed| End::Malformed(why.within("register"));
        let connection = wire.connection;
        let (proof, join_token) = (wire.proof.clone(), wire.join_token.clone());
        let (mut spec, held) = register_from_wire(wire).map_err(within)?;
        let admission = match &self.shown {
            Shown::Proof(certificate) => {
                let names = |it: &Arc<ClientCertificate>| it.names(spec.id.as_str());
                let certified = certificate.as_ref().is_some_and(names);
                let evidence = Evidence { nonce: self.nonce, proof: &proof, certified };
                self.registrar.admission(evidence, &mut spec, &join_token)
            }
            Shown::Signed(key) => self.registrar.signed(*key, &mut spec, &join_token),
        };
        let admission = admission.map_err(within)?;
        self.worker = Some(spec.id.clone());
        let outgoing = self.outgoing.take().or_else(|| self.weak.upgrade());
        let outgoing = outgoing.ok_or(End::Replaced)?;
        let by = self.handle.actor().cloned();
        Ok(Registration { spec, held, connection, admission, link: outgoing, by })
    }

    fn report(
        &self,
        worker: &WorkerId,
        wire: v1::Report,
    ) -> Result<(HeldAttempt, Report), Malformed> {
        let Some(v1::report::Report::HandOff(handoff)) = &wire.report else {
            return report_from_wire(wire);
        };
        let attempt = HeldAttempt { job: JobNo(wire.job), token: Token(wire.token) };
        let report = self.registrar.hand_off(worker, attempt, handoff);
        Ok((attempt, report.map_err(|why| why.within("hand_off"))?))
    }
}

pub(crate) fn to_wire(
    outgoing: Outgoing,
    tracing: Option<Tracing>,
    log_bytes_max: u64,
) -> v1::SchedulerMessage {
    v1::SchedulerMessage {
        registered: outgoing.registered.map(|registered| v1::Registered {
            worker: registered.worker.0,
            unknown: registered.unknown.into_iter().map(attempt_to_wire).collect(),
            heartbeat_interval: registered.heartbeat_interval.0,
            server: concat!("bellwether ", env!("CARGO_PKG_VERSION")).to_owned(),
            log_bytes_max,
        }),
        offers: outgoing
            .offers
            .iter()
            .map(|(offer, run)| offer_to_wire(offer, run.as_ref(), trace_of(offer, tracing)))
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
        logs_done: 0,
        challenge: None,
    }
}

/// If the scheduler records the job's trace, the worker's spans belong below the attempt's; else
/// below what the submitter said.
fn trace_of(offer: &Offer, tracing: Option<Tracing>) -> Option<TraceParent> {
    let recorded = tracing.and_then(|tracing| tracing.of_job(offer.attempt.job, &offer.spec));
    let given = offer.spec.extras().trace_parent;
    recorded.map(|trace| trace.of_attempt(offer.attempt.token)).or(given)
}

fn refusal(refusal: Refusal<Malformed>) -> v1::Refusal {
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
