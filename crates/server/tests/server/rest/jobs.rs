//! Jobs, from their submission to their end.

use anyhow::Result;
use bellwether_wire::v1::JobState;
use serde_json::json;

use crate::fixture::{Fixture, job};

/// As the documentation has it.
const J1: &str = r#"{"id":"task-123","type":"image_generation","priority":"high","payload":{},"dependencies":["preprocess-xyz"],"timeout":120,"retry":3,"sender":"agentA","receiver":"agentB"}"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_documented_job_posts_unchanged() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("preprocess-xyz")]).await?;
    let answer = fixture.post("/scheduler/jobs", J1).await?;
    assert_eq!(answer.status, 201, "{answer:?}");
    assert_eq!(answer.header("location"), "/scheduler/jobs/task-123");
    let accepted = answer.json()?;
    assert_eq!(accepted["jobs"][0]["id"], "task-123");
    assert_eq!(accepted["known"], false);
    let shown = fixture.get("/scheduler/jobs/task-123").await?.json()?;
    assert_eq!(shown["state"], "waiting");
    assert_eq!(shown["priority"], "high");
    assert_eq!(shown["payload"], json!({}));
    assert_eq!(shown["dependencies"], json!(["preprocess-xyz"]));
    assert_eq!(shown["timeout"], 120.0);
    assert_eq!((&shown["sender"], &shown["receiver"]), (&json!("agentA"), &json!("agentB")));
    let again = fixture.post("/scheduler/jobs", J1).await?;
    assert_eq!(again.problem()?, (409, "duplicate_job".to_owned()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_job_shares_with_others_is_kept_and_shown() -> Result<()> {
    let fixture = Fixture::start().await?;
    let job = r#"{"id":"a","type":"t","concurrency_key":"tenant-7"}"#;
    assert_eq!(fixture.post("/scheduler/jobs", job).await?.status, 201);
    let fixture = fixture.restart().await?;
    let shown = fixture.get("/scheduler/jobs/a").await?.json()?;
    assert_eq!(shown["concurrency_key"], "tenant-7");
    let told = fixture.worker("w", 1).await?.offer().await?.spec.unwrap();
    assert_eq!(told.concurrency_key, "tenant-7");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_shown_with_its_attempts_and_its_result() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.post("/scheduler/jobs", r#"{"id":"a/b","type":"t","payload":[1, 2]}"#).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, r#"{"sum":3}"#).await?;
    fixture.job_is("a/b", JobState::Completed).await?;
    let shown = fixture.get("/scheduler/jobs/a%2Fb").await?.json()?;
    assert_eq!(shown["state"], "completed");
    assert_eq!(shown["result"], json!({ "sum": 3 }));
    assert_eq!(shown["attempts"][0]["worker"], "w");
    assert_eq!(shown["attempts"][0]["decision"]["reason"], "only_worker");
    let listed = fixture.get("/scheduler/jobs?state=completed,failed&type=t").await?.json()?;
    assert_eq!(listed["jobs"][0]["id"], "a/b");
    assert!(listed["jobs"][0].get("payload").is_none());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_follow_each_other() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit((0..5).map(|i| job(&format!("j{i}"))).collect()).await?;
    let mut ids = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = fixture.get(&format!("/scheduler/jobs?limit=2{cursor}")).await?.json()?;
        for job in page["jobs"].as_array().into_iter().flatten() {
            ids.push(job["id"].as_str().unwrap_or_default().to_owned());
        }
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(ids, ["j4", "j3", "j2", "j1", "j0"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn several_are_taken_or_refused_each_by_itself() -> Result<()> {
    let fixture = Fixture::start().await?;
    let body = json!([
        { "id": "a", "type": "t" },
        { "id": "b", "typ": "t" },
        { "id": "a", "type": "t" },
        { "run": "r", "jobs": { "x": { "type": "t" }, "y": { "type": "t", "dependencies": ["x"] } } },
    ]);
    let results = fixture.post("/scheduler/submissions", body.to_string()).await?.json()?;
    assert_eq!(results[0]["accepted"]["jobs"][0]["id"], "a");
    assert_eq!(results[1]["problem"]["code"], "malformed");
    assert_eq!(results[1]["problem"]["detail"], "typ: is not known; did you mean type?");
    assert_eq!(results[2]["problem"]["code"], "duplicate_job");
    let run = results[3]["accepted"]["run"].as_str().unwrap_or_default();
    assert!(run.starts_with("r-"), "{run}");
    assert_eq!(results[3]["accepted"]["jobs"][1]["id"], format!("{run}/y"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_cancelled_retried_and_pinned() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let cancelled = fixture.post("/scheduler/jobs/a/cancel", r#"{"reason":"no need"}"#).await?;
    assert_eq!(cancelled.status, 200);
    assert!(cancelled.json()?["position"].is_u64());
    assert_eq!(fixture.get("/scheduler/jobs/a").await?.json()?["state"], "cancelled");
    let again = fixture.press("/scheduler/jobs/a/cancel").await?;
    assert_eq!(again.problem()?, (409, "already_ended".to_owned()));
    assert_eq!(fixture.press("/scheduler/jobs/a/retry").await?.status, 200);
    assert_eq!(fixture.get("/scheduler/jobs/a").await?.json()?["state"], "ready");
    let unknown = fixture.post("/scheduler/jobs/a/pin", r#"{"worker":"w"}"#).await?;
    assert_eq!(unknown.problem()?, (422, "unknown_worker".to_owned()));
    fixture.press("/scheduler/jobs/a/cancel").await?;
    let mut worker = fixture.worker("w", 1).await?;
    let mut other = fixture.worker("v", 1).await?;
    fixture.submit(vec![job("x"), job("y")]).await?;
    let (_, _) = (worker.offer().await?, other.offer().await?);
    fixture.submit(vec![job("z")]).await?;
    let pinned = fixture.post("/scheduler/jobs/z/pin", r#"{"worker":"v"}"#).await?;
    assert_eq!(pinned.status, 200, "{pinned:?}");
    Ok(())
}
