//! Jobs that were placed, hedged, tried again, refused, or never heard of.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::stage::{Stage, job};
use crate::worker::{Does, Worker, spec};

const AT_ONCE: Does = Does::Complete(Duration::ZERO);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placed_job_is_told_with_its_candidates_and_what_came_of_it() -> Result<()> {
    let stage = Stage::new(&[])?;
    let busy = Worker::join(&stage, spec("w1", "", 2), AT_ONCE).await?;
    let _idle = Worker::join(&stage, spec("w2", "", 2), AT_ONCE).await?;
    busy.says(bellwether_sdk::v1::Heartbeat { load_permille: 500, ..Default::default() }).await?;
    let known = |told: &Value| {
        told["attempts"][0]["decision"]["runner_up"]["term"] == "load"
            && told["state"] == "completed"
    };
    // Until the report is heard both look idle, and the tie goes to the first.
    let mut number = 0;
    let told = loop {
        number += 1;
        let id = format!("j{number}");
        stage.submit(&job(&id, "paint", "", json!({ "priority": "high" })))?;
        let told = stage.reaches(&id, "completed")?;
        if known(&told) {
            break told;
        }
        ensure!(number < 1_000, "the report was never heard: {told}");
    };
    let attempt = &told["attempts"][0];
    let decision = &attempt["decision"];
    ensure!(attempt["worker"] == "w2" && decision["worker"] == "w2", "{told}");
    ensure!(decision["compared"] == 2 && decision["strategy"] == "predictive", "{decision}");
    let candidates = decision["candidates"].as_array().context("a list")?;
    for candidate in candidates {
        let part = |name: &str| candidate[name].as_f64().unwrap_or(f64::NAN);
        let sum = part("wait") + part("load") + part("priority");
        let score = candidate["score"].as_f64().context("a score")?;
        ensure!((sum - score).abs() < 1e-9, "the terms add up to the score: {candidate}");
        ensure!((part("priority") - 0.15).abs() < 1e-9, "0.2 of 0.75: {candidate}");
    }
    let behind = decision["runner_up"]["behind"].as_f64().context("a margin")?;
    ensure!(decision["runner_up"]["worker"] == "w1" && behind > 0.0, "{decision}");
    ensure!(attempt["actual_duration"].is_number(), "{attempt}");
    ensure!(decision["predicted_duration"].is_number(), "{decision}");

    let id = told["id"].as_str().context("an id")?;
    let text = stage.fine(&["explain", id])?;
    for part in [
        "worker w2 was chosen because",
        "worker w1 came second",
        "because it was more loaded",
        "priority",
        "expected     start after",
        "; started after",
        "at most",
    ] {
        ensure!(text.contains(part), "`{part}` is not in {text}");
    }
    let listed = stage.fine(&["decisions", "--json", "--limit", "1", "--type", "paint"])?;
    let latest: Value = serde_json::from_str(&listed)?;
    ensure!(latest["job"] == id && latest["words"] == decision["words"], "{latest}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_attempt_is_told_with_its_end() -> Result<()> {
    let stage = Stage::new(&[])?;
    let failing = Worker::join(&stage, spec("w1", "", 1), Does::Fail).await?;
    stage.submit(&job("a", "t", "", json!({ "retry": 0 })))?;
    let told = stage.reaches("a", "dead_lettered")?;
    ensure!(told["attempts"][0]["cause"] == "failed", "{told}");
    ensure!(told["attempts"][0]["ending"] == "it failed: the paint is dry", "{told}");
    ensure!(
        told["summary"].as_str().is_some_and(|text| text.contains("was not to be retried")),
        "{told}"
    );
    drop(failing);

    let stage = Stage::new(&[("hedge_budget_permille", "1000"), ("hedge_after", "0.05")])?;
    let _quiet = Worker::join(&stage, spec("w1", "", 1), Does::Nothing).await?;
    let _other = Worker::join(&stage, spec("w2", "", 1), AT_ONCE).await?;
    // Of two that are equal the first is asked first.
    stage.submit(&job("b", "t", "", json!({})))?;
    let told = stage.reaches("b", "completed")?;
    let attempts = told["attempts"].as_array().context("a list")?;
    let lost = attempts.iter().find(|attempt| attempt["worker"] == "w1").context("w1")?;
    let won = attempts.iter().find(|attempt| attempt["worker"] == "w2").context("w2")?;
    ensure!(lost["revoked"] == "hedge_lost" && lost["ending"] == "the other offer won", "{told}");
    ensure!(won["hedge"] == true && won["decision"]["reason"] == "hedge", "{told}");
    Ok(())
}

#[test]
fn a_refused_job_is_told_with_the_way_out_and_an_unknown_one_as_such() -> Result<()> {
    let stage = Stage::new(&[])?;
    let refused = job("lonely", "t", "", json!({ "dependencies": ["nothing"] }));
    let output = stage.run(&["submit", "-"], &refused.to_string())?;
    ensure!(output.status.code() == Some(4));
    let output = stage.run(&["explain", "lonely", "--json"], "")?;
    ensure!(output.status.code() == Some(4));
    let told: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(
        told.get("number").is_none() && told["refused"]["code"] == "unknown_dependency",
        "{told}"
    );
    let summary = told["summary"].as_str().context("a sentence")?;
    ensure!(summary.contains("was refused") && summary.contains("submit it first"), "{summary}");

    stage.submit(&job("report-2026", "t", "", json!({})))?;
    stage.run(&["submit", "-"], &job("report-2026", "t", "", json!({})).to_string())?;
    let told = stage.explain("report-2026")?;
    ensure!(told["number"].is_u64() && told["refused"]["code"] == "duplicate_job", "{told}");

    let output = stage.run(&["explain", "report-2027"], "")?;
    ensure!(output.status.code() == Some(4));
    let text = String::from_utf8(output.stdout)?;
    ensure!(text.contains("job report-2027 is not known"), "{text}");
    ensure!(text.contains("start alike: report-2026"), "{text}");
    Ok(())
}
