//! Many jobs at once.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::fixture::{DEADLINE, Fixture, job};

async fn done(fixture: &Fixture, body: Value) -> Result<Value> {
    let started = fixture.post("/scheduler/operations", body.to_string()).await?;
    assert_eq!(started.status, 202, "{started:?}");
    let location = started.header("location").to_owned();
    let wait = async {
        loop {
            let shown = fixture.get(&location).await?.json()?;
            if shown["state"] != "running" {
                return Ok::<Value, anyhow::Error>(shown);
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, wait).await?
}

#[tokio::test(flavor = "multi_thread")]
async fn many_jobs_are_cancelled_and_come_back() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let jobs = 1_500;
    fixture.submit((0..jobs).map(|i| job(&format!("j{i}"))).collect()).await?;
    fixture.post("/scheduler/jobs", r#"{"id":"other","type":"other"}"#).await?;
    let cancelled =
        done(&fixture, json!({ "action": "cancel", "filter": { "type": "test" } })).await?;
    assert_eq!(cancelled["state"], "done");
    assert_eq!((&cancelled["total"], &cancelled["done"]), (&json!(jobs), &json!(jobs)));
    assert_eq!(cancelled["refused"], 0);
    let left = fixture.get("/scheduler/jobs?state=ready").await?.json()?;
    assert_eq!(left["jobs"].as_array().context("a list")?.len(), 1);
    assert_eq!(left["jobs"][0]["id"], "other");
    let retried =
        done(&fixture, json!({ "action": "retry", "filter": { "type": "test" } })).await?;
    assert_eq!(retried["done"], jobs);
    let asked = json!({ "action": "retry", "filter": { "state": "ready", "id_prefix": "j1" } });
    let refused = done(&fixture, asked).await?;
    assert_eq!(refused["refused"], refused["total"]);
    assert_eq!(refused["refusals"][0]["code"], "not_retryable");
    let listed = fixture.get("/scheduler/operations").await?.json()?;
    assert_eq!(listed["operations"].as_array().context("a list")?.len(), 3);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_cancels_everything_by_mistake() -> Result<()> {
    let fixture = Fixture::start().await?;
    for body in [r#"{"action":"cancel","filter":{}}"#, r#"{"action":"cancel"}"#, "{}"] {
        let refused = fixture.post("/scheduler/operations", body).await?;
        assert_eq!(refused.problem()?, (400, "malformed".to_owned()), "{body}");
    }
    let unknown = fixture.get("/scheduler/operations/none").await?;
    assert_eq!(unknown.problem()?, (404, "unknown_operation".to_owned()));
    Ok(())
}
