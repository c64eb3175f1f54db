//! Workers that are stopped or killed around the effect of a job, and schedulers killed under them.

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::{NewJob, v1};
use bellwether_testbed::signal;
use rustix::process::Signal;

use crate::stage::{Stage, stdout};

#[tokio::test(flavor = "multi_thread")]
async fn the_result_of_a_worker_stopped_past_its_lease_is_refused() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let zombie = stage.worker("zombie")?;
    stage.worker_is("zombie", |worker| worker.connected).await?;
    let script = "echo $BELLWETHER_ATTEMPT >> effects; wait_for go; echo $BELLWETHER_ATTEMPT";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("effects", 1).await?;
    let process = zombie.id().context("it runs")?;
    signal(process, Signal::STOP)?;

    // Only the worker stands still, not its script: so there will be a result to refuse.
    let _heir = stage.worker("heir")?;
    stage.lines_are("effects", 2).await?;
    stage.go()?;
    let job = stage.completed("job").await?;
    ensure!(stdout(&job)? == "2", "{job:?}");
    ensure!(job.0.attempts.len() == 2 && job.0.crashes == 1, "{job:?}");

    signal(process, Signal::CONT)?;
    let back = |worker: &v1::Worker| worker.connected && worker.held.is_empty();
    stage.worker_is("zombie", back).await?;
    // It has reported by the time that it gets through with another job of its own.
    let next = NewJob::new("exec").id("next").receiver("zombie");
    stage.client.submit(next.payload(r#"{"argv":["true"]}"#)).await?;
    stage.completed("next").await?;
    let after = stage.client.job("job", 0).await?;
    ensure!(after.0.result_hash == job.0.result_hash && after.0.attempts == job.0.attempts);
    ensure!(stage.lines("effects")? == ["1", "2"]);
    stage.holds().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_before_the_effect_loses_nothing() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let doomed = stage.worker("doomed")?;
    let script = "echo >> begun; wait_for go; echo $BELLWETHER_ATTEMPT >> effects";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("begun", 1).await?;
    stage.kill_machine(doomed).await?;
    stage.go()?;
    let _heir = stage.worker("heir")?;
    let job = stage.completed("job").await?;
    ensure!(job.0.crashes == 1 && job.0.failures == 0, "{job:?}");
    ensure!(stage.lines("effects")? == ["2"], "the effect happened once");
    stage.holds().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_killed_after_the_effect_makes_none_twice_with_the_token() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let doomed = stage.worker("doomed")?;
    let script = "t=$BELLWETHER_IDEMPOTENCY_TOKEN; touch effects; \
                  grep -qx \"$t\" effects || echo \"$t\" >> effects; echo >> done; wait_for go";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("done", 1).await?;
    stage.kill_machine(doomed).await?;
    let _heir = stage.worker("heir")?;
    stage.lines_are("done", 2).await?;
    stage.go()?;
    let job = stage.completed("job").await?;
    ensure!(job.0.attempts.len() == 2, "{job:?}");
    ensure!(stage.lines("effects")?.len() == 1, "the effect happened once");
    stage.holds().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_at_most_once_is_not_run_again_after_a_crash() -> Result<()> {
    let stage = Stage::new()?;
    let _scheduler = stage.site.start().await?;
    let doomed = stage.worker("doomed")?;
    let script = "echo >> effects; wait_for go";
    stage.script("job", v1::Guarantee::AtMostOnce, script).await?;
    stage.lines_are("effects", 1).await?;
    stage.kill_machine(doomed).await?;
    let _heir = stage.worker("heir")?;
    let job = stage.ended("job").await?;
    ensure!(job.state() != v1::JobState::Completed && job.0.attempts.len() == 1, "{job:?}");
    ensure!(stage.lines("effects")?.len() == 1);
    stage.holds().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_goes_on_while_the_scheduler_is_killed_and_restarted() -> Result<()> {
    let stage = Stage::new()?;
    let mut scheduler = stage.site.start().await?;
    let _worker = stage.worker("worker")?;
    let script = "echo $BELLWETHER_ATTEMPT >> effects; wait_for go; echo done";
    stage.script("job", v1::Guarantee::ExactlyOnce, script).await?;
    stage.lines_are("effects", 1).await?;
    for orderly in [false, true] {
        if orderly {
            scheduler.stop().await?
        } else {
            scheduler.kill().await?
        }
        scheduler = stage.site.start().await?;
        stage.worker_is("worker", |worker| worker.connected && worker.held.len() == 1).await?;
    }
    scheduler.kill().await?;
    // It ends while nobody is there to hear of it.
    stage.go()?;
    let _scheduler = stage.site.start().await?;
    let job = stage.completed("job").await?;
    ensure!(stdout(&job)? == "done" && job.0.attempts.len() == 1 && job.0.crashes == 0, "{job:?}");
    ensure!(stage.lines("effects")? == ["1"], "it ran once");
    stage.holds().await
}
