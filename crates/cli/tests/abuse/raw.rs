//! Calls and sessions without the library's manners.

use anyhow::{Context as _, Result};
use bellwether_sdk::v1;
use bellwether_sdk::v1::report::Report as Kind;
use bellwether_sdk::v1::worker_link_client::WorkerLinkClient;
use bytes::{Buf as _, BufMut as _, Bytes};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};

use crate::site::{DEADLINE, Site};

/// Sends and receives bytes as they are.
#[derive(Debug, Clone, Copy, Default)]
struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Raw;
    type Decoder = Raw;

    fn encoder(&mut self) -> Raw {
        Raw
    }

    fn decoder(&mut self) -> Raw {
        Raw
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(buffer.copy_to_bytes(buffer.remaining())))
    }
}

pub(crate) async fn channel(site: &Site) -> Result<Channel> {
    Ok(Endpoint::from_shared(site.url())?.connect().await?)
}

/// A call of any method with any bytes as its message, as `bearer` or as nobody.
pub(crate) async fn call(
    channel: Channel,
    bearer: Option<&str>,
    method: &str,
    message: Bytes,
) -> Result<Bytes, Status> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let path = method.parse().map_err(|_| Status::unknown("no path"))?;
    let request = with(bearer, message)?;
    // A session says something before it is told anything: to be refused may come second.
    let mut answers = grpc.server_streaming(request, path, Raw).await?.into_inner();
    let mut last = Bytes::new();
    while let Some(answer) = answers.message().await? {
        last = answer;
    }
    Ok(last)
}

/// Whether whoever asks this is let in. What is sent is no message, so nothing comes of it.
pub(crate) async fn let_in(channel: Channel, bearer: Option<&str>, method: &str) -> Result<bool> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await?;
    let request = with(bearer, Bytes::from_static(&[0xff; 16]))?;
    let asked = grpc.server_streaming(request, method.parse()?, Raw);
    let denied =
        |status: &Status| matches!(status.code(), Code::Unauthenticated | Code::PermissionDenied);
    Ok(!tokio::time::timeout(DEADLINE, asked).await?.is_err_and(|status| denied(&status)))
}

fn with<T>(bearer: Option<&str>, message: T) -> Result<Request<T>, Status> {
    let mut request = Request::new(message);
    if let Some(bearer) = bearer {
        let bearer = bearer.parse().map_err(|_| Status::unknown("no token"))?;
        request.metadata_mut().insert("authorization", bearer);
    }
    Ok(request)
}

/// A worker that says exactly what a test wants.
pub(crate) struct Session {
    outgoing: mpsc::Sender<v1::WorkerMessage>,
    incoming: Streaming<v1::SchedulerMessage>,
    heard: v1::SchedulerMessage,
}

impl Session {
    pub(crate) async fn open(site: &Site, id: &str) -> Result<Session> {
        let (outgoing, messages) = mpsc::channel(64);
        let spec = v1::WorkerSpec { id: id.into(), slots: 4, instance: 1, ..Default::default() };
        let register = Some(v1::Register { spec: Some(spec), ..Default::default() });
        outgoing.send(v1::WorkerMessage { register, ..Default::default() }).await?;
        let mut link = WorkerLinkClient::new(channel(site).await?);
        let request = with(Some(&site.bearer()?), ReceiverStream::new(messages))?;
        let incoming = link.session(request).await?.into_inner();
        let mut session = Session { outgoing, incoming, heard: v1::SchedulerMessage::default() };
        // The challenge, which a worker without a key has nothing to sign with, and the welcome.
        session.hear().await?;
        session.hear().await?;
        Ok(session)
    }

    async fn hear(&mut self) -> Result<()> {
        let message = tokio::time::timeout(DEADLINE, self.incoming.message()).await??;
        let message = message.context("the stream has ended")?;
        self.heard.offers.extend(message.offers);
        self.heard.grants.extend(message.grants);
        self.heard.refusals.extend(message.refusals);
        self.heard.reports_done = self.heard.reports_done.max(message.reports_done);
        Ok(())
    }

    pub(crate) async fn offer(&mut self) -> Result<v1::Offer> {
        while self.heard.offers.is_empty() {
            self.hear().await?;
        }
        Ok(self.heard.offers.remove(0))
    }

    pub(crate) async fn granted(&mut self) -> Result<v1::Attempt> {
        while self.heard.grants.is_empty() {
            self.hear().await?;
        }
        Ok(self.heard.grants.remove(0))
    }

    pub(crate) async fn refusal(&mut self) -> Result<v1::Refusal> {
        while self.heard.refusals.is_empty() {
            self.hear().await?;
        }
        Ok(self.heard.refusals.remove(0))
    }

    /// Waits until so many reports are done with; says whether one was refused.
    pub(crate) async fn done(&mut self, reports: u64) -> Result<bool> {
        while self.heard.reports_done < reports {
            self.hear().await?;
        }
        Ok(!self.heard.refusals.is_empty())
    }

    pub(crate) async fn report(&self, job: u64, token: u64, kind: Kind) -> Result<()> {
        let report = v1::Report { job, token, report: Some(kind) };
        let message = v1::WorkerMessage { reports: vec![report], ..Default::default() };
        Ok(self.outgoing.send(message).await?)
    }
}
