//! A worker that does exactly what a test wants of it.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bellwether_sdk::Security;
use bellwether_sdk::v1;
use bellwether_sdk::v1::report::Report as Kind;
use bellwether_sdk::v1::worker_link_client::WorkerLinkClient;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Endpoint;

use crate::stage::{DEADLINE, Stage};

const BEAT_EVERY: Duration = Duration::from_millis(300);

/// What it does with a job.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Does {
    /// Says that it has it, and never ends.
    Keep,
    /// Says nothing at all.
    Nothing,
    /// Fails it, to be tried again in an hour.
    Fail,
    /// Works on it for so long, and completes it.
    Complete(Duration),
}

/// It is gone when dropped.
pub(crate) struct Worker {
    beats: mpsc::Sender<Option<v1::Heartbeat>>,
}

pub(crate) fn spec(id: &str, role: &str, slots: u32) -> v1::WorkerSpec {
    v1::WorkerSpec {
        id: id.to_owned(),
        class: "usual".to_owned(),
        roles: Some(role.to_owned()).filter(|role| !role.is_empty()).into_iter().collect(),
        slots,
        instance: 1,
        ..Default::default()
    }
}

impl Worker {
    /// Returns once it is registered.
    pub(crate) async fn join(stage: &Stage, spec: v1::WorkerSpec, does: Does) -> Result<Worker> {
        let channel = Endpoint::from_shared(stage.address().to_owned())?.connect().await?;
        let (outgoing, messages) = mpsc::channel(64);
        let register = Some(v1::Register { spec: Some(spec), ..Default::default() });
        outgoing.send(v1::WorkerMessage { register, ..Default::default() }).await?;
        let mut link = WorkerLinkClient::new(channel);
        let token = Security::default().token_for(stage.address())?;
        let bearer = format!("Bearer {}", token.context("the scheduler has made a token")?);
        let mut request = tonic::Request::new(ReceiverStream::new(messages));
        request.metadata_mut().insert("authorization", bearer.parse()?);
        let mut incoming = link.session(request).await?.into_inner();
        // A worker without a key has nothing to sign.
        incoming.message().await?.context("no challenge")?;
        let hello = tokio::time::timeout(DEADLINE, incoming.message()).await??;
        let mut offers = hello.context("the stream has ended")?.offers;
        let (beats, mut wanted) = mpsc::channel(1);
        tokio::spawn(async move {
            let mut beat = Some(v1::Heartbeat::default());
            let mut pace = tokio::time::interval(BEAT_EVERY);
            loop {
                for offer in offers.drain(..) {
                    tokio::spawn(work(offer, does, outgoing.clone()));
                }
                tokio::select! {
                    _ = pace.tick() => {
                        let message = v1::WorkerMessage { heartbeat: beat, ..Default::default() };
                        if beat.is_some() && outgoing.send(message).await.is_err() {
                            return;
                        }
                    }
                    message = incoming.message() => {
                        let Ok(Some(message)) = message else { return };
                        offers.extend(message.offers);
                    }
                    next = wanted.recv() => match next {
                        Some(next) => {
                            beat = next;
                            pace.reset_immediately();
                        }
                        None => return,
                    },
                }
            }
        });
        Ok(Worker { beats })
    }

    /// From now on it says this of itself.
    pub(crate) async fn says(&self, beat: v1::Heartbeat) -> Result<()> {
        Ok(self.beats.send(Some(beat)).await?)
    }

    /// From now on nothing is heard of it, though its connection stays.
    pub(crate) async fn falls_silent(&self) -> Result<()> {
        Ok(self.beats.send(None).await?)
    }
}

async fn work(offer: v1::Offer, does: Does, outgoing: mpsc::Sender<v1::WorkerMessage>) {
    let report = |kind| v1::Report { job: offer.job, token: offer.token, report: Some(kind) };
    let reports = match does {
        Does::Nothing => return,
        Does::Keep => vec![report(Kind::Acknowledge(v1::Acknowledge {}))],
        Does::Fail => vec![
            report(Kind::Acknowledge(v1::Acknowledge {})),
            report(Kind::Fail(v1::Fail {
                cause: v1::FailureCause::Failed.into(),
                error: "the paint is dry".to_owned(),
                retry_after: Some(3_600_000_000),
            })),
        ],
        Does::Complete(after) => {
            let reports = vec![report(Kind::Acknowledge(v1::Acknowledge {}))];
            // Whoever waits for the job notices if it does not arrive.
            drop(outgoing.send(v1::WorkerMessage { reports, ..Default::default() }).await);
            tokio::time::sleep(after).await;
            vec![report(Kind::Complete(v1::Complete::default()))]
        }
    };
    drop(outgoing.send(v1::WorkerMessage { reports, ..Default::default() }).await);
}
