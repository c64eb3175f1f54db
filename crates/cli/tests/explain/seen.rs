//! Predictions and the shadow policy, as the command line shows them.

use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::stage::{Stage, job};
use crate::worker::{Does, Worker, spec};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn predictions_are_judged_and_the_shadow_is_set_live() -> Result<()> {
    let stage = Stage::new(&[("shadow", "least_loaded")])?;
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
    ensure!(paint["judged"] == 20 && paint["drifting"] == false, "{known}");
    ensure!(paint["classes"][0]["class"] == "usual", "{known}");
    ensure!(stage.fine(&["predictions", "paint"])?.contains("on usual"), "classes are shown");

    let report = stage.json(&["shadow", "--json"])?;
    ensure!(report["live"] == "predictive" && report["shadow"] == "least_loaded", "{report}");
    ensure!(report["decisions"] == 20, "{report}");
    let agreement = report["agreement"].as_f64().context("a share")?;
    ensure!((0.0..=1.0).contains(&agreement), "{report}");
    ensure!(report["gain_over_round_robin"]["shadow"].is_number(), "{report}");

    let changed = stage.json(&["shadow", "--set", "round_robin", "--json"])?;
    ensure!(changed["shadow"] == "round_robin" && changed["decisions"] == 0, "{changed}");
    stage.submit(&job("b", "paint", "", json!({})))?;
    let told = stage.reaches("b", "completed")?;
    ensure!(told["attempts"][0]["decision"]["shadow"]["agrees"].is_boolean(), "{told}");
    ensure!(stage.json(&["shadow", "--json"])?["decisions"] == 1, "it counts afresh");
    ensure!(stage.fine(&["shadow", "--set", "off"])?.contains("no shadow policy"));
    Ok(())
}
