//! Looking at jobs, and ending or reviving them.

use bellwether_wire::v1;
use bytes::Bytes;

use super::Client;
use crate::error::{ClientError, Refusal};

/// A job as the scheduler knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Job(pub v1::Job);

impl Job {
    pub fn id(&self) -> &str {
        self.0.spec.as_ref().map_or("", |spec| &spec.id)
    }

    pub fn state(&self) -> v1::JobState {
        self.0.state()
    }

    pub fn result(&self) -> &Bytes {
        &self.0.result
    }

    pub fn has_ended(&self) -> bool {
        self.state().has_ended()
    }
}

/// A page of jobs, newest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Jobs {
    pub jobs: Vec<Job>,
    /// For the next page; none after the last.
    pub next: Option<String>,
}

impl Client {
    /// The job as it is at `position` or later; 0 is as it is now.
    pub async fn job(&self, id: &str, position: u64) -> Result<Job, ClientError> {
        let request = v1::GetJobRequest { id: id.to_owned(), position };
        self.call(|mut link| {
            let request = request.clone();
            async move { link.get_job(request).await }
        })
        .await
        .map(Job)
    }

    pub async fn jobs(&self, filter: v1::ListJobsRequest) -> Result<Jobs, ClientError> {
        let response = self
            .call(|mut link| {
                let filter = filter.clone();
                async move { link.list_jobs(filter).await }
            })
            .await?;
        let next = Some(response.next_cursor).filter(|cursor| !cursor.is_empty());
        Ok(Jobs { jobs: response.jobs.into_iter().map(Job).collect(), next })
    }

    /// The jobs that could not be cancelled, each with the reason; an error only if none was tried.
    pub async fn cancel(
        &self,
        ids: Vec<String>,
        reason: &str,
    ) -> Result<Vec<(String, Refusal)>, ClientError> {
        let request = v1::CancelRequest { ids, reason: reason.to_owned() };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.cancel(request).await }
            })
            .await?;
        Ok(refused(done))
    }

    /// Jobs that were submitted together, newest first.
    pub async fn runs(
        &self,
        request: v1::ListRunsRequest,
    ) -> Result<v1::ListRunsResponse, ClientError> {
        self.call(|mut link| {
            let request = request.clone();
            async move { link.list_runs(request).await }
        })
        .await
    }

    /// Runs jobs again that ended without completing; the answer is as that of [`Client::cancel`].
    pub async fn retry(
        &self,
        ids: Vec<String>,
        force: bool,
    ) -> Result<Vec<(String, Refusal)>, ClientError> {
        let request = v1::RetryRequest { ids, force };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.retry(request).await }
            })
            .await?;
        Ok(refused(done))
    }

    /// Only this worker may run the job from now on.
    pub async fn pin(&self, id: &str, worker: &str) -> Result<(), ClientError> {
        let request = v1::PinRequest { id: id.to_owned(), worker: worker.to_owned() };
        let done = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.pin(request).await }
            })
            .await?;
        all_done(done)
    }
}

fn refused(done: v1::Done) -> Vec<(String, Refusal)> {
    done.refused
        .into_iter()
        .map(|refused| (refused.id, refused.rejection.unwrap_or_default().into()))
        .collect()
}

/// For calls about one thing.
pub(super) fn all_done(done: v1::Done) -> Result<(), ClientError> {
    match refused(done).into_iter().next() {
        Some((_, refusal)) => Err(refusal.into()),
        None => Ok(()),
    }
}
