//! A worker that is connected, heartbeats, takes offers and says nothing of them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::v1;
use serde_json::{Value, json};

use crate::stage::{Stage, job};
use crate::worker::{Does, Worker, spec};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_job_waits_for_a_worker_that_says_nothing() -> Result<()> {
    // Nobody is given up within this test: what is placed again is placed for want of an answer.
    let stage = Stage::new(&[("unreachable_after", "3600")])?;
    let mute = Worker::join(&stage, spec("mute", "", 8), Does::Nothing).await?;
    let at_once = Does::Complete(Duration::ZERO);
    let _works = Worker::join(&stage, spec("works", "", 4), at_once).await?;

    // More than the budget for hedges allows before it is earned.
    let jobs: Vec<Value> = (0..8).map(|n| job(&format!("any-{n}"), "t", "", json!({}))).collect();
    stage.submit(&Value::from(jobs))?;
    for n in 0..8 {
        stage.reaches(&format!("any-{n}"), "completed")?;
    }

    // Whatever it missed so far, after these two it has missed as many as it may.
    for n in 0..2 {
        stage.submit(&job(&format!("mine-{n}"), "t", "", json!({ "receiver": "mute" })))?;
    }
    silent(&stage, "mute")?;
    stage.submit(&job("kept", "t", "", json!({ "receiver": "mute" })))?;
    let told = stage.explained("kept", |told| told["waiting_for"]["reason"] == "silent")?;
    let waiting = &told["waiting_for"];
    ensure!(waiting["silent"] == json!(["mute"]), "{waiting}");
    ensure!(waiting["nearest"]["lacks"][0]["what"] == "silent", "{waiting}");
    let summary = told["summary"].as_str().context("a sentence")?;
    ensure!(summary.contains("mute is silent"), "{summary}");

    // It comes back and speaks: it is given what waits for it.
    drop(mute);
    let renewed = v1::WorkerSpec { instance: 2, ..spec("mute", "", 8) };
    let _speaks = Worker::join(&stage, renewed, at_once).await?;
    for id in ["mine-0", "mine-1", "kept"] {
        stage.reaches(id, "completed")?;
    }
    Ok(())
}

fn silent(stage: &Stage, id: &str) -> Result<()> {
    let begun = std::time::Instant::now();
    loop {
        let workers = stage.fine(&["workers", "--json"])?;
        let known = workers.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
        let found = known.iter().find(|worker| worker["id"] == id).context("it has registered")?;
        if found["status"] == "silent" {
            return Ok(());
        }
        ensure!(begun.elapsed() < crate::stage::DEADLINE, "{found}");
    }
}
