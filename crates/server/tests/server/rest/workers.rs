//! Workers, seen and steered.

use anyhow::Result;
use serde_json::json;

use crate::fixture::{Fixture, job};

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_is_seen_drained_and_let_work_again() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w/1", 2).await?;
    fixture.submit(vec![job("a")]).await?;
    worker.offer().await?;
    let listed = fixture.get("/scheduler/workers").await?.json()?;
    assert_eq!(listed["workers"][0]["id"], "w/1");
    assert_eq!(listed["workers"][0]["held"][0]["id"], "a");
    assert_eq!(fixture.press("/scheduler/workers/w%2F1/drain").await?.status, 200);
    let shown = fixture.get("/scheduler/workers/w%2F1").await?.json()?;
    assert_eq!((&shown["status"], &shown["slots"]), (&json!("draining"), &json!(2)));
    assert_eq!(fixture.press("/scheduler/workers/w%2F1/undrain").await?.status, 200);
    let shown = fixture.get("/scheduler/workers/w%2F1").await?.json()?;
    assert_eq!(shown["status"], "busy");
    for path in ["/scheduler/workers/x/drain", "/scheduler/workers/x/undrain"] {
        assert_eq!(fixture.press(path).await?.problem()?, (404, "unknown_worker".to_owned()));
    }
    let unknown = fixture.get("/scheduler/workers/x").await?;
    assert_eq!(unknown.problem()?, (404, "unknown_worker".to_owned()));
    Ok(())
}
