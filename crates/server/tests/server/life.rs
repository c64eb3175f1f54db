//! A job's life, through the wire.

use crate::fixture::{Fixture, accepted, job};
use anyhow::Result;
use bellwether_wire::v1::JobState;

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_submitted_offered_and_completed() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let results = fixture.submit(vec![job("a")]).await?;
    assert_eq!(accepted(&results[0]).jobs[0].id, "a");
    assert_eq!(fixture.job("a").await?.state(), JobState::Ready);

    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    assert_eq!(offer.id, "a");
    worker.complete(&offer, "42").await?;
    worker.reports_done(1).await?;
    fixture.job_is("a", JobState::Completed).await?;
    fixture.server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_a_restart() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a"), job("b")]).await?;
    let mut fixture = fixture.restart().await?;
    assert_eq!(fixture.job("a").await?.state(), JobState::Ready);
    assert_eq!(fixture.job("b").await?.state(), JobState::Ready);
    Ok(())
}
