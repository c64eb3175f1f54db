//! The keys of workers, for operators.

use bellwether_wire::{WorkerKey, v1};

use super::Client;
use super::jobs::all_done;
use crate::error::ClientError;

impl Client {
    /// A token with which a worker of this id joins, once and within the hour.
    pub async fn invite_worker(
        &self,
        worker: &str,
        terms: v1::KeyTerms,
    ) -> Result<String, ClientError> {
        let (worker, terms) = (worker.to_owned(), Some(terms));
        let request = v1::InviteWorkerRequest { worker, terms, lasts: 0 };
        let invited = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.invite_worker(request).await }
            })
            .await?;
        Ok(invited.join_token)
    }

    /// The key speaks for the worker from now on, and no other does.
    pub async fn approve_key(
        &self,
        worker: &str,
        key: WorkerKey,
        terms: v1::KeyTerms,
    ) -> Result<(), ClientError> {
        let (worker, terms) = (worker.to_owned(), Some(terms));
        let request = v1::ApproveKeyRequest { worker, key: key.0.to_vec().into(), terms };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.approve_key(request).await }
            })
            .await?;
        all_done(done)
    }

    /// Nobody speaks for the worker any more; what it holds is placed anew.
    pub async fn revoke_key(&self, worker: &str) -> Result<(), ClientError> {
        let request = v1::WorkerRequest { worker: worker.to_owned() };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.revoke_key(request).await }
            })
            .await?;
        all_done(done)
    }

    pub async fn keys(&self) -> Result<Vec<v1::BoundKey>, ClientError> {
        let listed =
            self.call(|mut link| async move { link.list_keys(v1::ListKeysRequest {}).await });
        Ok(listed.await?.keys)
    }
}
