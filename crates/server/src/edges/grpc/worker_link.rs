//! Worker sessions: one stream in each direction.

use std::pin::Pin;
use std::time::Duration;

use bellwether_wire::v1;
use bellwether_wire::v1::worker_link_server::WorkerLink;
use tokio::sync::oneshot;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status, Streaming};

use super::status::session_ended;
use crate::edges::contain;
use crate::edges::session::{WorkerSession, to_wire};
use crate::event_loop::{End, Handle};
use crate::sinks::trace::context::Tracing;

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
        let (session, told) = WorkerSession::open(&self.handle);
        let (alive, other_half) = oneshot::channel();
        contain::spawn("Session", listen(session, request.into_inner(), other_half));
        let tracing = self.tracing;
        let messages = ReceiverStream::new(told).map(move |message| {
            // Dropped with the stream, which is how the listening half learns of its end.
            let _: &oneshot::Sender<()> = &alive;
            message.map(|message| to_wire(message, tracing)).map_err(session_ended)
        });
        Ok(Response::new(Box::pin(messages)))
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
