//! Predictions, decisions and the shadow policy, as the command line and clients see them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::{Client, v1};
use serde_json::json;

use crate::stage::{DEADLINE, Stage, job};
use crate::worker::{Does, Worker, spec};

/// A hedge is a decision, too: none is made, however slow the machine is.
const NO_HEDGES: [(&str, &str); 2] = [("hedge_after", "60"), ("hedge_after_min", "60")];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn predictions_are_judged_and_the_shadow_is_set_live() -> Result<()> {
    let stage = Stage::new(&[&NO_HEDGES[..], &[("shadow", "least_loaded")]].concat())?;
    let does = Does::Complete(Duration::from_millis(2));
    let _one = Worker::join(&stage, spec("w1", "", 1), does).await?;
    let _two = Worker::join(&stage, spec("w2", "", 1), does).await?;
    for number in 0..20 {
        let id = format!("a{number}");
        stage.submit(&job(&id, "paint", "", json!({})))?;
        stage.reaches(&id, "completed")?;
    }
    let known = stage.json(&["predictions", "--json"])?;
    let paint = &known["types"][0];
    ensure!(paint["type"] == "paint" && paint["samples"] == 20, "{known}");
    // Whether such short jobs drift is the machine's business.
    ensure!(paint["judged"] == 20 && paint["drifting"].is_boolean(), "{known}");
    ensure!(paint["classes"][0]["class"] == "usual", "{known}");
    ensure!(stage.fine(&["predictions", "paint"])?.contains("on usual"), "classes are shown");

    let report = stage.json(&["shadow", "--json"])?;
    ensure!(report["live"] == "predictive" && report["shadow"] == "least_loaded", "{report}");
    ensure!(report["decisions"] == 20, "{report}");
    let agreement = report["agreement"].as_f64().context("a share")?;
    ensure!((0.0..=1.0).contains(&agreement), "{report}");
    ensure!(report["shadow_gain"].is_number(), "{report}");

    let changed = stage.json(&["shadow", "--set", "round_robin", "--json"])?;
    ensure!(changed["shadow"] == "round_robin" && changed["decisions"] == 0, "{changed}");
    stage.submit(&job("b", "paint", "", json!({})))?;
    let told = stage.reaches("b", "completed")?;
    ensure!(told["attempts"][0]["decision"]["shadow"]["agrees"].is_boolean(), "{told}");
    ensure!(stage.json(&["shadow", "--json"])?["decisions"] == 1, "it counts afresh");
    ensure!(stage.fine(&["shadow", "--set", "off"])?.contains("no shadow policy"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn decisions_are_paged_newest_first_and_none_is_left_out() -> Result<()> {
    let stage = Stage::new(&NO_HEDGES)?;
    let does = Does::Complete(Duration::ZERO);
    let _one = Worker::join(&stage, spec("w1", "", 4), does).await?;
    let _two = Worker::join(&stage, spec("w2", "", 4), does).await?;
    let jobs: Vec<String> = (0..30).map(|number| format!("p{number}")).collect();
    for id in &jobs {
        stage.submit(&job(id, "page", "", json!({})))?;
    }
    for id in &jobs {
        stage.reaches(id, "completed")?;
    }
    let client = Client::connect(stage.address()).await?;
    let mut wanted = v1::ListDecisionsRequest { limit: 7, ..Default::default() };
    let mut seen = Vec::new();
    loop {
        let page = client.decisions(wanted.clone()).await?;
        ensure!(page.decisions.len() <= 7);
        seen.extend(page.decisions);
        if page.next_cursor.is_empty() {
            break;
        }
        wanted.cursor = page.next_cursor;
    }
    ensure!(seen.is_sorted_by(|one, other| one.position > other.position), "newest first");
    let named: BTreeSet<&str> = seen.iter().map(|decision| decision.job_id.as_str()).collect();
    ensure!(seen.len() == 30 && named.len() == 30, "{} {named:?}", seen.len());

    let on_one = v1::ListDecisionsRequest { worker: "w1".to_owned(), ..Default::default() };
    let on_one = client.decisions(on_one).await?.decisions;
    let expected = seen.iter().filter(|decision| decision.worker == "w1").count();
    ensure!(on_one.len() == expected && expected > 0, "{} of {expected}", on_one.len());
    let none = v1::ListDecisionsRequest { r#type: "other".to_owned(), ..Default::default() };
    ensure!(client.decisions(none).await?.decisions.is_empty());
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn drift_is_an_event_and_shows_in_the_predictions() -> Result<()> {
    let stage = Stage::new(&[])?;
    let quick = spec("w1", "", 1);
    let slow = v1::WorkerSpec { instance: 2, ..quick.clone() };
    let worker = Worker::join(&stage, quick, Does::Complete(Duration::from_millis(20))).await?;
    let mut number = 0;
    let mut run = |times: usize| -> Result<()> {
        for _ in 0..times {
            number += 1;
            let id = format!("d{number}");
            stage.submit(&job(&id, "drifts", "", json!({})))?;
            stage.reaches(&id, "completed")?;
        }
        Ok(())
    };
    run(24)?;
    drop(worker);
    let _slow = Worker::join(&stage, slow, Does::Complete(Duration::from_millis(400))).await?;
    run(6)?;
    let client = Client::connect(stage.address()).await?;
    let kinds = vec!["drift_detected".to_owned()];
    let mut events = client.events(v1::WatchEventsRequest { from: 1, kinds, ..Default::default() });
    let event = tokio::time::timeout(DEADLINE, events.next()).await??;
    ensure!(event.kind == "drift_detected", "{event:?}");
    let known = stage.json(&["predictions", "drifts", "--json"])?;
    let error = |span: &str| known["types"][0][format!("{span}_error_percent")].as_u64();
    ensure!(error("recent") > error("usual"), "{known}");
    Ok(())
}
