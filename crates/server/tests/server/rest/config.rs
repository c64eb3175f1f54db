//! Settings that change while it runs.

use anyhow::{Context as _, Result};
use axum::body::Body;
use axum::http::Method;
use serde_json::{Value, json};

use super::client::{Answer, request, send};
use super::watching::Watching;
use crate::fixture::Fixture;

const CONFIG: &str = "/scheduler/config";

async fn change(
    fixture: &Fixture,
    method: Method,
    etag: Option<&str>,
    body: Value,
) -> Result<Answer> {
    let mut wanted = request(method, CONFIG).header("content-type", "application/json");
    if let Some(etag) = etag {
        wanted = wanted.header("if-match", etag);
    }
    send(&fixture.server, wanted.body(Body::from(body.to_string()))?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_names_what_it_follows_on() -> Result<()> {
    let fixture = Fixture::start().await?;
    let read = fixture.get(CONFIG).await?;
    let etag = read.header("etag").to_owned();
    assert_eq!(read.json()?["max_retry"], 5);

    let patch = json!({ "max_retry": 4, "weights": { "wait": 0.5 }, "shadow": "round_robin" });
    let changed = change(&fixture, Method::PATCH, Some(&etag), patch.clone()).await?;
    assert_eq!(changed.status, 200, "{changed:?}");
    assert_ne!(changed.header("etag"), etag);
    let shown = changed.json()?;
    assert_eq!((&shown["max_retry"], &shown["weights"]["wait"]), (&json!(4), &json!(0.5)));
    assert_eq!((&shown["weights"]["load"], &shown["shadow"]), (&json!(0.4), &json!("round_robin")));

    let stale = change(&fixture, Method::PATCH, Some(&etag), patch.clone()).await?;
    assert_eq!(stale.problem()?, (412, "config_changed".to_owned()));
    let unnamed = change(&fixture, Method::PATCH, None, patch).await?;
    assert_eq!(unnamed.problem()?, (428, "no_if_match".to_owned()));

    let mut whole = shown;
    whole["shadow"] = Value::Null;
    whole["duration_by_type"] = json!({ "tiny": 0.01 });
    let etag = changed.header("etag").to_owned();
    let replaced = change(&fixture, Method::PUT, Some(&etag), whole.clone()).await?;
    assert_eq!(replaced.status, 200, "{replaced:?}");
    whole.as_object_mut().context("an object")?.remove("shadow");
    assert_eq!(replaced.json()?, whole, "what is not set is left out");
    let any =
        change(&fixture, Method::PATCH, Some("*"), json!({ "duration_by_type": null })).await?;
    assert_eq!(any.json()?["duration_by_type"], json!({}));

    let events = Watching::start(
        &fixture,
        "/scheduler/events?from=1&follow=false&kind=config_changed",
        None,
    );
    let told = events.await?.rest().await?;
    let last = told.last().context("changes are events")?;
    assert_eq!(format!("\"{}\"", last.data["data"]["version"]), any.header("etag"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_make_no_sense_are_refused() -> Result<()> {
    let fixture = Fixture::start().await?;
    let refused =
        async |patch: Value| change(&fixture, Method::PATCH, Some("*"), patch).await?.problem();
    assert_eq!(refused(json!({ "max_retry": 1000 })).await?, (422, "bad_config".to_owned()));
    assert_eq!(refused(json!({ "max_rerty": 4 })).await?, (400, "malformed".to_owned()));
    assert_eq!(refused(json!({ "strategy": "best" })).await?, (400, "malformed".to_owned()));
    assert_eq!(refused(json!({ "retry_cap": -1 })).await?, (400, "malformed".to_owned()));
    assert_eq!(
        refused(json!({ "weights": { "wait": 1e300 } })).await?,
        (400, "malformed".to_owned())
    );
    assert_eq!(fixture.get(CONFIG).await?.json()?["max_retry"], 5);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_type_waits_until_it_is_resumed() -> Result<()> {
    let fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w", 1).await?;
    assert_eq!(fixture.press("/scheduler/types/slow/pause").await?.status, 200);
    fixture.post("/scheduler/jobs", r#"{"id":"a","type":"slow"}"#).await?;
    let status = fixture.get("/scheduler/status").await?.json()?;
    assert_eq!(status["paused_types"], json!(["slow"]));
    let why = fixture.get("/scheduler/jobs/a/explain").await?.json()?;
    assert_eq!(why["waiting_for"]["reason"], "paused");
    assert_eq!(fixture.press("/scheduler/types/slow/resume").await?.status, 200);
    assert_eq!(worker.offer().await?.job_id(), "a");
    Ok(())
}
