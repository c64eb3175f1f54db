//! Worker sessions: one stream in each direction.

use std::pin::Pin;
use std::time::Duration;

use bellwether_core::model::Actor;
use bellwether_wire::v1;
use bellwether_wire::v1::worker_link_server::WorkerLink;
use futures_util::stream;
use tokio::sync::oneshot;
use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::status::{session_ended, status};
use crate::edges::contain;
use crate::edges::desk::Desk;
use crate::edges::listener::Caller;
use crate::edges::session::{LogsDone, Shown, Told, WorkerSession, to_wire};
use crate::event_loop::End;
use crate::sinks::trace::context::Tracing;

/// How long a new session may take to register.
const REGISTER_WITHIN: Duration = Duration::from_secs(10);

#[derive(Debug, Clone)]
pub(crate) struct WorkerLinkService {
    desk: Desk,
    /// If traces are recorded.
    tracing: Option<Tracing>,
}

impl WorkerLinkService {
    pub(crate) fn new(desk: Desk, tracing: Option<Tracing>) -> WorkerLinkService {
        WorkerLinkService { desk, tracing }
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
        let desk = self.desk.acting(request.extensions().get::<Actor>().cloned());
        desk.members.check_leads().map_err(status)?;
        let caller = request.extensions().get::<Caller>();
        let certificate = caller.and_then(|caller| caller.certificate.clone());
        let (session, told, logs_done) = WorkerSession::open(&desk, Shown::Proof(certificate));
        let challenge = Some(session.challenge());
        let (alive, other_half) = oneshot::channel();
        contain::spawn("Session", listen(session, request.into_inner(), other_half));
        let log_bytes_max = self.desk.logs.attempt_bytes_max();
        let mouth = Mouth {
            challenge,
            told,
            logs_done,
            tracing: self.tracing,
            log_bytes_max,
            _alive: alive,
        };
        let messages = stream::unfold(mouth, |mut mouth| async {
            let next = mouth.next().await?;
            Some((next, mouth))
        });
        Ok(Response::new(Box::pin(messages)))
    }

    async fn introduce(
        &self,
        _request: Request<v1::IntroduceRequest>,
    ) -> Result<Response<v1::Introduction>, Status> {
        Ok(Response::new(self.desk.registrar.introduction()))
    }

    async fn rotate_key(
        &self,
        request: Request<v1::RotateKeyRequest>,
    ) -> Result<Response<v1::RotateKeyResponse>, Status> {
        let rotation = self.desk.registrar.rotation(request.get_ref());
        let rotation = rotation.map_err(|why| status(&why))?;
        let desk = self.desk.acting(request.extensions().get::<Actor>().cloned());
        let position = desk.command(rotation).await.map_err(status)?.0;
        Ok(Response::new(v1::RotateKeyResponse { position }))
    }
}

/// The half of a session that speaks.
struct Mouth {
    /// What it begins with.
    challenge: Option<v1::SchedulerMessage>,
    told: Told,
    logs_done: LogsDone,
    tracing: Option<Tracing>,
    log_bytes_max: u64,
    /// Dropped with the stream, which is how the listening half learns of its end.
    _alive: oneshot::Sender<()>,
}

impl Mouth {
    async fn next(&mut self) -> Option<Result<v1::SchedulerMessage, Status>> {
        if let Some(challenge) = self.challenge.take() {
            return Some(Ok(challenge));
        }
        tokio::select! {
            biased;
            told = self.told.recv() => {
                let told = told?.map_err(session_ended);
                Some(told.map(|told| to_wire(told, self.tracing, self.log_bytes_max)))
            }
            // The other half may be gone and this one have more to say. Whoever is not let in hears
            // nothing but why.
            Ok(()) = self.logs_done.changed(), if self.told.admitted() => {
                let logs_done = *self.logs_done.borrow_and_update();
                Some(Ok(v1::SchedulerMessage { logs_done, ..Default::default() }))
            }
        }
    }
}

/// `other_half` resolves when the half that speaks has ended.
async fn listen(
    mut session: WorkerSession,
    mut messages: Streaming<v1::WorkerMessage>,
    mut other_half: oneshot::Receiver<()>,
) {
    let attended = attend(&mut session, &mut messages, &mut other_half).await;
    session.close(attended.err());
}

/// Returns when the worker has closed its side; a broken connection is no different.
async fn attend(
    session: &mut WorkerSession,
    messages: &mut Streaming<v1::WorkerMessage>,
    other_half: &mut oneshot::Receiver<()>,
) -> Result<(), End> {
    let first = tokio::time::timeout(REGISTER_WITHIN, messages.message()).await;
    let Ok(first) = first else { return Err(End::NotRegistered) };
    let mut next = first;
    while let Ok(Some(message)) = next {
        let input = session.read(message)?;
        session.send(input).await?;
        next = tokio::select! {
            next = messages.message() => next,
            // Nobody is left to answer to.
            _ = &mut *other_half => return Ok(()),
        };
    }
    Ok(())
}
