//! The loop, history, lists and runs say the same of a job.

use anyhow::Result;
use bellwether_wire::v1;
use bellwether_wire::v1::JobState;
use bellwether_wire::v1::report::Report;
use serde_json::json;

use crate::fixture::{FakeWorker, Fixture, job};

fn after(id: &str, before: &str) -> v1::JobSpec {
    v1::JobSpec { dependencies: vec![before.to_owned()], ..job(id) }
}

/// Nobody will ever take it.
fn for_nobody(mut job: v1::JobSpec) -> v1::JobSpec {
    job.requirements.get_or_insert_default().role = "nobody".to_owned();
    job
}

async fn fail_for_good(worker: &mut FakeWorker) -> Result<()> {
    let offer = worker.offer().await?;
    let cause = v1::FailureCause::Permanent as i32;
    let fail = v1::Fail { cause, error: "broken".to_owned(), retry_after: None };
    worker.report(&offer, Report::Fail(fail)).await
}

impl Fixture {
    /// The ids of jobs in this state, a page at a time.
    async fn pages(&mut self, state: JobState, limit: u32) -> Result<Vec<Vec<String>>> {
        let mut pages = Vec::new();
        let mut cursor = String::new();
        loop {
            let states = vec![state as i32];
            let request = v1::ListJobsRequest { states, limit, cursor, ..Default::default() };
            let found = self.client.list_jobs(request).await?.into_inner();
            assert!(found.jobs.iter().all(|job| job.state() == state), "{found:?}");
            pages.push(
                found
                    .jobs
                    .into_iter()
                    .map(|job| job.spec.expect("a job is shown with its spec").id)
                    .collect(),
            );
            cursor = found.next_cursor;
            if cursor.is_empty() {
                return Ok(pages);
            }
        }
    }

    async fn listed(&mut self, state: JobState) -> Result<Vec<String>> {
        Ok(self.pages(state, 0).await?.concat())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permanent_failure_counts_and_is_told_in_words() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    fail_for_good(&mut worker).await?;
    let failed = fixture.job_is("a", JobState::Failed).await?;
    assert_eq!(failed.failures, 1);
    assert_eq!(failed.explanation, "failed: its worker said that no retry will help");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_escalation_starts_the_count_of_failures_anew() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let escalation =
        v1::Escalation { priority: v1::Priority::Critical as i32, ..Default::default() };
    let escalation = Some(escalation);
    fixture.submit(vec![v1::JobSpec { retry: Some(0), escalation, ..job("a") }]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let first = worker.offer().await?;
    worker.fail(&first, "no luck").await?;
    let second = worker.offer().await?;
    assert_eq!(fixture.job("a").await?.failures, 0, "escalated");
    worker.fail(&second, "no luck either").await?;
    let dead = fixture.job_is("a", JobState::DeadLettered).await?;
    assert_eq!(dead.failures, 1);
    assert_eq!(dead.explanation, "dead-lettered: its retries are used up");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_skipped_waits_again_when_its_dependency_is_retried() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    fixture.submit(vec![after("b", "a")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    fail_for_good(&mut worker).await?;
    fixture.job_is("b", JobState::Skipped).await?;
    drop(worker);
    fixture.client.retry(v1::RetryRequest { ids: vec!["a".to_owned()], force: false }).await?;
    assert_eq!(fixture.listed(JobState::Waiting).await?, ["b"]);
    assert_eq!(fixture.listed(JobState::Skipped).await?, [""; 0]);
    let waiting = fixture.job("b").await?;
    assert_eq!((waiting.state(), waiting.ended_at), (JobState::Waiting, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delay_begins_to_count_when_the_dependencies_have_ended() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    fixture.submit(vec![v1::JobSpec { delay: 3_600_000_000, ..after("b", "a") }]).await?;
    assert_eq!(fixture.listed(JobState::Waiting).await?, ["b"]);
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "").await?;
    worker.reports_done(1).await?;
    assert_eq!(fixture.listed(JobState::Delayed).await?, ["b"]);
    assert_eq!(fixture.job("b").await?.state(), JobState::Delayed);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_counts_as_ready_what_is_shown_as_ready() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let jobs = vec![job("a"), for_nobody(after("b", "a"))];
    let run = v1::Submission { run_id: "r".to_owned(), jobs, ..Default::default() };
    fixture.client.submit(v1::SubmitRequest { submissions: vec![run] }).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "").await?;
    worker.reports_done(1).await?;

    let expected = json!({ "completed": 1, "ready": 1 });
    assert_eq!(fixture.job("b").await?.state(), JobState::Ready);
    assert_eq!(fixture.listed(JobState::Ready).await?, ["b"]);
    assert_eq!(fixture.get("/scheduler/runs/r").await?.json()?["states"], expected);
    drop(worker);
    let fixture = fixture.restart().await?;
    assert_eq!(fixture.get("/scheduler/runs/r").await?.json()?["states"], expected);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_one_state_are_full_but_for_the_last() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    for index in 0..5 {
        fixture.submit(vec![for_nobody(job(&format!("ready-{index}")))]).await?;
        let waiting = (0..3).map(|other| after(&format!("{index}-{other}"), "ready-0"));
        fixture.submit(waiting.collect()).await?;
    }
    let pages = fixture.pages(JobState::Ready, 2).await?;
    assert_eq!(pages, [vec!["ready-4", "ready-3"], vec!["ready-2", "ready-1"], vec!["ready-0"]]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_the_same_when_it_is_made_anew() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let delayed = v1::JobSpec { delay: 3_600_000_000, ..after("delayed", "done") };
    fixture.submit(vec![job("done")]).await?;
    fixture.submit(vec![delayed, for_nobody(after("ready", "done"))]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "kept").await?;
    fixture.submit(vec![job("broken")]).await?;
    fixture.submit(vec![after("waiting", "broken")]).await?;
    fail_for_good(&mut worker).await?;
    fixture.job_is("waiting", JobState::Skipped).await?;
    fixture.client.retry(v1::RetryRequest { ids: vec!["broken".to_owned()], force: false }).await?;
    let again = worker.offer().await?;
    worker.report(&again, Report::Acknowledge(v1::Acknowledge {})).await?;
    fixture.job_is("broken", JobState::Running).await?;

    let before = everything(&mut fixture).await?;
    drop(worker);
    let data = fixture.config.data_dir.clone();
    let forget = || {
        for file in ["registry.sqlite", "registry.sqlite-wal", "registry.sqlite-shm"] {
            drop(std::fs::remove_file(data.join(file)));
        }
    };
    let mut fixture = fixture.restart_after(forget).await?;
    assert_eq!(everything(&mut fixture).await?, before);
    Ok(())
}

async fn everything(fixture: &mut Fixture) -> Result<Vec<v1::Job>> {
    Ok(fixture.client.list_jobs(v1::ListJobsRequest::default()).await?.into_inner().jobs)
}
