//! Workers, state and settings of the scheduler.

use bellwether_wire::v1;
use bytes::BytesMut;

use super::Client;
use super::jobs::all_done;
use crate::error::ClientError;

impl Client {
    /// With `all`, those that are gone, too.
    pub async fn workers(&self, all: bool) -> Result<Vec<v1::Worker>, ClientError> {
        let request = v1::ListWorkersRequest { all };
        let response =
            self.call(|mut link| async move { link.list_workers(request).await }).await?;
        Ok(response.workers)
    }

    pub async fn status(&self) -> Result<v1::StatusResponse, ClientError> {
        self.call(|mut link| async move { link.status(v1::StatusRequest {}).await }).await
    }

    /// The worker finishes what it holds and gets no more.
    pub async fn drain(&self, worker: &str) -> Result<(), ClientError> {
        let request = v1::WorkerRequest { worker: worker.to_owned() };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.drain(request).await }
            })
            .await?;
        all_done(done)
    }

    pub async fn undrain(&self, worker: &str) -> Result<(), ClientError> {
        let request = v1::WorkerRequest { worker: worker.to_owned() };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.undrain(request).await }
            })
            .await?;
        all_done(done)
    }

    /// Jobs of this type stay in the queue.
    pub async fn pause(&self, kind: &str) -> Result<(), ClientError> {
        let request = v1::TypeRequest { r#type: kind.to_owned() };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.pause(request).await }
            })
            .await?;
        all_done(done)
    }

    pub async fn unpause(&self, kind: &str) -> Result<(), ClientError> {
        let request = v1::TypeRequest { r#type: kind.to_owned() };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.unpause(request).await }
            })
            .await?;
        all_done(done)
    }

    pub async fn config(&self) -> Result<v1::ConfigState, ClientError> {
        self.call(|mut link| async move { link.get_config(v1::GetConfigRequest {}).await }).await
    }

    pub async fn set_config(&self, request: v1::SetConfigRequest) -> Result<(), ClientError> {
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.set_config(request).await }
            })
            .await?;
        all_done(done)
    }

    /// Lets the scheduler save its state, and gives the position that it is of.
    pub async fn save_snapshot(&self) -> Result<u64, ClientError> {
        let mut chunks = self
            .call(|mut link| async move { link.snapshot(v1::SnapshotRequest {}).await })
            .await?;
        // What is not read is not sent.
        let first = chunks.message().await.map_err(|status| self.error(&status))?;
        Ok(first.map_or(0, |chunk| chunk.seq))
    }

    /// The whole state, in one piece.
    pub async fn snapshot(&self) -> Result<v1::SnapshotChunk, ClientError> {
        let mut chunks = self
            .call(|mut link| async move { link.snapshot(v1::SnapshotRequest {}).await })
            .await?;
        let mut head = v1::SnapshotChunk::default();
        let mut bytes = BytesMut::new();
        while let Some(chunk) = chunks.message().await.map_err(|status| self.error(&status))? {
            bytes.extend_from_slice(&chunk.bytes);
            head = v1::SnapshotChunk { bytes: Default::default(), ..chunk };
        }
        Ok(v1::SnapshotChunk { bytes: bytes.freeze(), ..head })
    }

    /// Everything that the scheduler keeps, part by part; each is given to `take` as it comes.
    pub async fn backup<E: From<ClientError>>(
        &self,
        mut take: impl FnMut(v1::BackupPart) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut parts =
            self.call(|mut link| async move { link.backup(v1::BackupRequest {}).await }).await?;
        while let Some(part) = parts.message().await.map_err(|status| self.error(&status))? {
            take(part)?;
        }
        Ok(())
    }

    /// A link to the dashboard that signs in whoever opens it first, as whoever asks.
    pub async fn sign_in_link(&self) -> Result<String, ClientError> {
        let request = v1::SignInLinkRequest {};
        let answer = self.call(|mut link| async move { link.sign_in_link(request).await }).await?;
        Ok(answer.link)
    }

    /// The queues in front.
    pub async fn queues(&self) -> Result<Vec<v1::QueueView>, ClientError> {
        let request = v1::ListQueuesRequest {};
        let answer = self.call(|mut link| async move { link.list_queues(request).await }).await?;
        Ok(answer.queues)
    }

    /// Lets it read tokens, certificates and log levels again.
    pub async fn reload(&self) -> Result<Vec<v1::Reloaded>, ClientError> {
        let answer =
            self.call(|mut link| async move { link.reload(v1::ReloadRequest {}).await }).await?;
        Ok(answer.reloaded)
    }
}
