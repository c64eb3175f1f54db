//! A worker that does whatever comes: jobs of type `broken` fail, all others complete.

use anyhow::Result;
use bellwether_wire::v1;
use tokio::task::JoinHandle;

use crate::fixture::Fixture;

#[derive(Debug)]
pub(crate) struct Busy(JoinHandle<Result<()>>);

impl Busy {
    pub(crate) async fn start(fixture: &Fixture, id: &str) -> Result<Busy> {
        let mut worker = fixture.worker(id, 8).await?;
        Ok(Busy(tokio::spawn(async move {
            loop {
                let offer = worker.offer().await?;
                let kind = v1::report::Report::Acknowledge(v1::Acknowledge {});
                worker.report(&offer, kind).await?;
                if offer.spec.as_ref().is_some_and(|spec| spec.kind() == "broken") {
                    worker.fail(&offer, "as it should").await?;
                } else {
                    worker.complete(&offer, "done").await?;
                }
            }
        })))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Submits so many jobs and waits until all have ended.
pub(crate) async fn run(fixture: &mut Fixture, kind: &str, name: &str, count: usize) -> Result<()> {
    let ids: Vec<String> = (0..count).map(|number| format!("{name}-{number}")).collect();
    let jobs = ids.iter().map(|id| v1::JobSpec { retry: Some(1), ..v1::JobSpec::new(id, kind) });
    fixture.submit(jobs.collect()).await?;
    let state = match kind {
        "broken" => v1::JobState::DeadLettered,
        _ => v1::JobState::Completed,
    };
    for id in ids {
        fixture.job_is(&id, state).await?;
    }
    Ok(())
}
