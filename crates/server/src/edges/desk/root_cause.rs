//! Why a job was skipped: the job that did not complete, however many were skipped in between.

use bellwether_core::model::{JobId, Seq, Settlement};
use bellwether_wire::v1;

use super::Desk;
use crate::projections::registry::LookupError;

/// Skipped jobs that are followed; a longer chain is told as far as it was.
const CHAIN_MAX: usize = 10_000;

impl Desk {
    /// The job with its root cause, if it was skipped and its history is still there.
    pub(super) async fn with_root_cause(&self, mut job: v1::Job) -> v1::Job {
        if job.state() != v1::JobState::Skipped {
            return job;
        }
        match self.root_cause(&job).await {
            Ok(Some(root)) => {
                let id = root.spec.as_ref().map_or("", |spec| spec.id.as_str());
                job.explanation = format!("{id} did not complete: {}", trouble(&root));
                job.root_cause = id.to_owned();
            }
            Ok(None) => {}
            // Better without its reason than not at all.
            Err(error) => {
                tracing::warn!(%error, "the cause of a skipped job could not be looked up")
            }
        }
        job
    }

    async fn root_cause(&self, job: &v1::Job) -> Result<Option<v1::Job>, LookupError> {
        // The job itself may be told before it is written; what it waited for is looked up in the file.
        self.registry.reach(Seq(job.position)).await?;
        let mut broken = self.broken_dependency(job).await?;
        for _ in 1..CHAIN_MAX {
            let Some(skipped) = broken.as_ref().filter(|job| job.state() == v1::JobState::Skipped)
            else {
                break;
            };
            match self.broken_dependency(skipped).await? {
                Some(next) => broken = Some(next),
                None => break,
            }
        }
        Ok(broken)
    }

    /// The first of its dependencies that ended without completing.
    async fn broken_dependency(&self, job: &v1::Job) -> Result<Option<v1::Job>, LookupError> {
        let dependencies = job.spec.iter().flat_map(|spec| &spec.dependencies);
        let ids = dependencies.filter_map(|id| JobId::new(id).ok()).collect();
        let settled = self.registry.settlements(ids).await?;
        let broken = settled.into_iter().find(|(_, how)| *how == Settlement::NotCompleted);
        match broken {
            Some((id, _)) => self.registry.job(id.to_string()).await,
            None => Ok(None),
        }
    }
}

/// What went wrong with it, for people.
fn trouble(job: &v1::Job) -> &str {
    let error = job.attempts.iter().rev().map(|attempt| attempt.error.as_str());
    let error = error.into_iter().find(|error| !error.is_empty());
    match error {
        Some(error) => error,
        None if job.explanation.is_empty() => job.state().as_str(),
        None => &job.explanation,
    }
}
