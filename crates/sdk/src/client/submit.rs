//! Handing jobs in.

use std::time::Duration;

use bellwether_wire::v1;

use super::Client;
use crate::error::{ClientError, Refusal};
use crate::job::{NewJob, Run};

/// What was taken is durable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Accepted {
    /// Ids, in the order of the submission.
    pub ids: Vec<String>,
    /// Numbers, in the same order.
    pub numbers: Vec<u64>,
    /// The key had been seen: these are the jobs of then.
    pub known: bool,
    /// The journal position at which it is durable; queries that name it see it.
    pub position: u64,
    /// The queue fills up: please pause this long before the next submission.
    pub throttle: Option<Duration>,
}

impl Accepted {
    /// The id of the first, or only, job.
    pub fn id(&self) -> &str {
        self.ids.first().map_or("", String::as_str)
    }
}

impl Client {
    /// Returns once the job is durable.
    pub async fn submit(&self, job: NewJob) -> Result<Accepted, ClientError> {
        self.submit_one(job.keyed().into()).await
    }

    /// All of the run's jobs, or none.
    pub async fn submit_run(&self, run: Run) -> Result<Accepted, ClientError> {
        self.submit_one(run.keyed().into()).await
    }

    /// In batches; each job is taken or refused by itself, and the results are in the jobs' order.
    pub async fn submit_many(
        &self,
        jobs: impl IntoIterator<Item = NewJob>,
    ) -> Result<Vec<Result<Accepted, Refusal>>, ClientError> {
        let mut results = Vec::new();
        let mut jobs = jobs.into_iter().map(|job| job.keyed().into()).peekable();
        while jobs.peek().is_some() {
            let batch: Vec<v1::Submission> =
                jobs.by_ref().take(self.settings.builder.batch).collect();
            results.extend(self.submit_batch(batch).await?);
        }
        Ok(results)
    }

    /// One message as it is. Without idempotency keys in it a lost answer leaves open whether it
    /// was taken.
    pub async fn submit_batch(
        &self,
        submissions: Vec<v1::Submission>,
    ) -> Result<Vec<Result<Accepted, Refusal>>, ClientError> {
        let sent = submissions.len();
        let request = v1::SubmitRequest { submissions };
        let response = self
            .call(|mut link| {
                let request = request.clone();
                async move { link.submit(request).await }
            })
            .await?;
        results(response, sent)
    }

    async fn submit_one(&self, submission: v1::Submission) -> Result<Accepted, ClientError> {
        let mut results = self.submit_batch(vec![submission]).await?;
        let only = results.pop().expect("as many results as submissions were checked");
        Ok(only?)
    }
}

pub(super) fn results(
    response: v1::SubmitResponse,
    sent: usize,
) -> Result<Vec<Result<Accepted, Refusal>>, ClientError> {
    if response.results.len() != sent {
        let text = format!("{} results for {sent} submissions", response.results.len());
        return Err(ClientError::Protocol(text));
    }
    response.results.into_iter().map(result).collect()
}

fn result(wire: v1::SubmitResult) -> Result<Result<Accepted, Refusal>, ClientError> {
    use v1::submit_result::Result as Wire;
    match wire.result {
        Some(Wire::Accepted(accepted)) => Ok(Ok(accepted.into())),
        Some(Wire::Rejection(rejection)) => Ok(Err(rejection.into())),
        None => Err(ClientError::Protocol("a result that is neither yes nor no".to_owned())),
    }
}

impl From<v1::Accepted> for Accepted {
    fn from(wire: v1::Accepted) -> Accepted {
        let numbers = wire.jobs.iter().map(|job| job.job).collect();
        let ids = wire.jobs.into_iter().map(|job| job.id).collect();
        let throttle = wire.throttle.map(|throttle| Duration::from_micros(throttle.pause));
        Accepted { ids, numbers, known: wire.known, position: wire.position, throttle }
    }
}
