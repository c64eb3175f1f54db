//! What is kept of jobs that have ended, and what can be done to many at once.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bellwether_wire::v1;

use crate::fixture::{FakeWorker, Fixture, job};

const JOBS_MAX: u64 = 1_000;

/// Completes so many jobs of this name, and gives their ids.
async fn complete(
    fixture: &mut Fixture,
    worker: &mut FakeWorker,
    name: &str,
    jobs: usize,
) -> Result<Vec<String>> {
    let ids: Vec<String> = (0..jobs).map(|number| format!("{name}-{number}")).collect();
    fixture.submit(ids.iter().map(|id| job(id)).collect()).await?;
    for _ in 0..jobs {
        let offer = worker.offer().await?;
        worker.complete(&offer, "ok").await?;
    }
    fixture.job_is(ids.last().context("some jobs")?, v1::JobState::Completed).await?;
    Ok(ids)
}

async fn listed(fixture: &mut Fixture) -> Result<BTreeSet<String>> {
    let mut ids = BTreeSet::new();
    let mut request = v1::ListJobsRequest { limit: 300, ..Default::default() };
    loop {
        let page = fixture.client.list_jobs(request.clone()).await?.into_inner();
        ids.extend(page.jobs.into_iter().filter_map(|job| Some(job.spec?.id)));
        if page.next_cursor.is_empty() {
            return Ok(ids);
        }
        request.cursor = page.next_cursor;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_old_job_that_never_ends_takes_nothing_from_the_history() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.history.jobs_max = JOBS_MAX).await?;
    let delay = Duration::from_secs(86_400).as_micros() as u64;
    fixture.submit(vec![v1::JobSpec { delay, ..job("old") }]).await?;
    let mut worker = fixture.worker("w", 50).await?;
    let mut completed = Vec::new();
    for round in 0..5 {
        completed.extend(complete(&mut fixture, &mut worker, &format!("r{round}"), 500).await?);
        listed(&mut fixture).await?;
    }
    let listed = listed(&mut fixture).await?;
    assert!(listed.contains("old"), "a job that has not ended never vanishes");
    let missing: Vec<_> =
        completed.iter().rev().take(1_000).filter(|id| !listed.contains(*id)).collect();
    assert!(missing.is_empty(), "{} of the last {JOBS_MAX} are missing", missing.len());
    let bound = usize::try_from(JOBS_MAX + JOBS_MAX / 10)? + 1;
    assert!(listed.len() <= bound, "{} jobs are kept", listed.len());
    let status = fixture.client.status(v1::StatusRequest {}).await?.into_inner();
    let kept = status.jobs.iter().find(|count| count.state() == v1::JobState::Completed);
    assert_eq!(kept.context("completed jobs")?.count, listed.len() as u64 - 1);
    fixture.server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_job_is_found_by_its_id_and_again_after_a_restart() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.history.jobs_max = JOBS_MAX).await?;
    let mut worker = fixture.worker("w", 50).await?;
    let first = complete(&mut fixture, &mut worker, "first", 300).await?;
    complete(&mut fixture, &mut worker, "then", 600).await?;
    for fresh_start in [false, true] {
        if fresh_start {
            fixture = fixture.restart().await?;
        }
        let found = fixture.job(&first[0]).await?;
        assert_eq!(found.state(), v1::JobState::Completed);
        assert_eq!(found.result, "ok".as_bytes());
        assert_eq!(found.attempts.len(), 1);
        assert_eq!(listed(&mut fixture).await?.len(), 900);
    }
    fixture.server.shutdown().await;
    Ok(())
}
