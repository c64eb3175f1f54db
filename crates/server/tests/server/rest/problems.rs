//! Every error is a problem that can be read.

use anyhow::Result;
use axum::body::Body;
use axum::http::Method;

use super::client::{request, send};
use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread")]
async fn every_error_is_a_problem() -> Result<()> {
    let fixture = Fixture::with(|config| config.limits.message_bytes_max = 10_000).await?;
    let get = async |path: &str| fixture.get(path).await?.problem();
    let post = async |path: &str, body: &str| fixture.post(path, body.to_owned()).await?.problem();
    let is = |status: u16, code: &str| (status, code.to_owned());

    assert_eq!(get("/nothing/here").await?, is(404, "unknown_path"));
    assert_eq!(get("/scheduler/nothing").await?, is(404, "unknown_path"));
    assert_eq!(get("/scheduler/jobs/none").await?, is(404, "unknown_job"));
    assert_eq!(get("/scheduler/jobs?state=tired").await?, is(400, "malformed"));
    assert_eq!(get("/scheduler/jobs?state=").await?, is(400, "malformed"));
    assert_eq!(get("/scheduler/jobs?limit=0").await?, is(400, "malformed"));
    assert_eq!(get("/scheduler/jobs?cursor=x").await?, is(400, "malformed"));
    assert_eq!(get("/scheduler/jobs?colour=red").await?, is(400, "malformed"));
    assert_eq!(get("/scheduler/jobs/%FF").await?, is(400, "malformed"));
    assert_eq!(post("/scheduler/jobs", "{").await?, is(400, "malformed"));
    assert_eq!(post("/scheduler/jobs", "[]").await?, is(400, "malformed"));
    assert_eq!(post("/scheduler/jobs", "{}").await?, is(400, "malformed"));
    assert_eq!(
        post("/scheduler/jobs", r#"{"type":"t","retry":9}"#).await?,
        is(422, "retry_above_max")
    );
    let large = format!(r#"{{"type":"t","payload":"{}"}}"#, "x".repeat(20_000));
    assert_eq!(post("/scheduler/jobs", &large).await?, is(413, "body_too_large"));

    let deleted = request(Method::DELETE, "/scheduler/jobs").body(Body::empty())?;
    let answer = send(&fixture.server, deleted).await?;
    assert_eq!(answer.problem()?, is(405, "method_not_allowed"));
    assert_eq!(answer.header("allow"), "POST, GET");
    let typed = request(Method::POST, "/scheduler/jobs").header("content-type", "text/plain");
    let answer = send(&fixture.server, typed.body(Body::from("{}"))?).await?;
    assert_eq!(answer.problem()?, is(415, "not_json"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_says_when_to_come_back() -> Result<()> {
    let fixture = Fixture::with(|config| config.scheduling.jobs_max = 2).await?;
    let mut last = None;
    for _ in 0..4 {
        last = Some(fixture.post("/scheduler/jobs", r#"{"type":"t"}"#).await?);
    }
    let answer = last.expect("there were four");
    assert_eq!(answer.problem()?, (429, "queue_full".to_owned()));
    assert!(answer.header("retry-after").parse::<u64>()? >= 1);
    assert!(answer.json()?["retry_after"].as_f64() > Some(0.0));
    Ok(())
}
