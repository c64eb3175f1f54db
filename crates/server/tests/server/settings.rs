//! Settings come from the file, and can be changed while the scheduler runs.

use anyhow::Result;

use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn a_change_while_it_runs_survives_a_restart_with_the_same_file() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.scheduling.max_retry = 6).await?;
    assert_eq!(fixture.max_retry().await?, 6);
    fixture.set_max_retry(9).await?;
    let mut fixture = fixture.restart().await?;
    assert_eq!(fixture.max_retry().await?, 9);
    fixture.server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_file_holds_from_the_next_start_on() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.scheduling.max_retry = 6).await?;
    fixture.set_max_retry(9).await?;
    fixture.config.scheduling.max_retry = 5;
    let mut fixture = fixture.restart().await?;
    assert_eq!(fixture.max_retry().await?, 5);
    fixture.set_max_retry(8).await?;
    let mut fixture = fixture.restart().await?;
    assert_eq!(fixture.max_retry().await?, 8);
    fixture.server.shutdown().await;
    Ok(())
}
