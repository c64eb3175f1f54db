//! The worker's side of a session by hand, so that it can say whatever a test wants.

use anyhow::{Context as _, Result};
use bellwether_wire::signing::Secret;
use bellwether_wire::signing::session::Proof;
use bellwether_wire::v1;
use bellwether_wire::v1::worker_link_client::WorkerLinkClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;
use tonic::{Request, Status, Streaming};

use crate::site::Site;

pub(crate) struct RawWorker {
    say: mpsc::Sender<v1::WorkerMessage>,
    hear: Streaming<v1::SchedulerMessage>,
    pub(crate) challenge: v1::Challenge,
}

impl RawWorker {
    pub(crate) async fn connect(site: &Site) -> Result<RawWorker> {
        let channel = Endpoint::from_shared(site.grpc.clone())?.connect().await?;
        let (say, messages) = mpsc::channel(16);
        let mut link = WorkerLinkClient::new(channel);
        let mut session = Request::new(ReceiverStream::new(messages));
        let bearer = format!("Bearer {}", site.token()?).parse()?;
        session.metadata_mut().insert("authorization", bearer);
        let mut hear = link.session(session).await?.into_inner();
        let first = hear.message().await?.context("a first message")?;
        let challenge = first.challenge.context("it is a challenge")?;
        Ok(RawWorker { say, hear, challenge })
    }

    /// Names this key, with this proof of it.
    pub(crate) fn register(id: &str, key: &Secret, proof: Vec<u8>) -> v1::Register {
        let spec = v1::WorkerSpec {
            id: id.to_owned(),
            slots: 1,
            instance: 77,
            public_key: key.public().0.to_vec().into(),
            ..Default::default()
        };
        v1::Register { spec: Some(spec), proof: proof.into(), ..Default::default() }
    }

    pub(crate) fn proof(&self, id: &str, key: &Secret) -> Vec<u8> {
        let proof = Proof {
            scheduler: &self.challenge.scheduler,
            nonce: &self.challenge.nonce,
            worker: id,
            instance: 77,
            key: key.public(),
        };
        proof.sign(key).to_vec()
    }

    pub(crate) async fn say(&self, message: v1::WorkerMessage) -> Result<()> {
        Ok(self.say.send(message).await?)
    }

    pub(crate) async fn say_register(&self, register: v1::Register) -> Result<()> {
        self.say(v1::WorkerMessage { register: Some(register), ..Default::default() }).await
    }

    /// The next message; an error is why the scheduler ended the session.
    pub(crate) async fn hear(&mut self) -> Result<v1::SchedulerMessage, Status> {
        let heard = self.hear.message().await?;
        heard.ok_or_else(|| Status::cancelled("the session has ended"))
    }

    /// Registers as this worker and says why it was refused.
    pub(crate) async fn refused(mut self, register: v1::Register) -> Result<Status> {
        self.say_register(register).await?;
        match self.hear().await {
            Err(status) => Ok(status),
            Ok(message) => anyhow::bail!("it was taken: {message:?}"),
        }
    }
}
