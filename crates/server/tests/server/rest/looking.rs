//! Runs, decisions, predictions, reasons.

use anyhow::Result;
use bellwether_wire::v1::JobState;
use serde_json::json;

use crate::fixture::{Fixture, job};

#[tokio::test(flavor = "multi_thread")]
async fn runs_are_listed_and_shown_with_their_jobs() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut runs = Vec::new();
    for key in ["k1", "k2", "k3"] {
        fixture.submit(vec![job("")]).await?;
        let body = json!({
            "run": "r",
            "idempotency_key": key,
            "jobs": { "x": { "type": "t" }, "y": { "type": "t", "dependencies": ["x"] } },
        });
        let answer = fixture.post("/scheduler/runs", body.to_string()).await?;
        assert_eq!(answer.status, 201, "{answer:?}");
        let run = answer.json()?["run"].as_str().unwrap_or_default().to_owned();
        assert_eq!(answer.header("location"), format!("/scheduler/runs/{run}"));
        let again = fixture.post("/scheduler/runs", body.to_string()).await?;
        assert_eq!(again.status, 200);
        assert_eq!(again.json()?["run"], run);
        runs.push(run);
    }
    let first = fixture.get("/scheduler/runs?limit=2").await?.json()?;
    assert_eq!(
        (&first["runs"][0]["id"], &first["runs"][1]["id"]),
        (&json!(runs[2]), &json!(runs[1]))
    );
    let cursor = first["next_cursor"].as_str().unwrap_or_default();
    let second = fixture.get(&format!("/scheduler/runs?limit=2&cursor={cursor}")).await?.json()?;
    assert_eq!(second["runs"][0]["id"], runs[0]);
    assert!(second.get("next_cursor").is_none());
    let run = fixture.get(&format!("/scheduler/runs/{}", runs[1])).await?.json()?;
    assert_eq!((&run["total"], &run["states"]["waiting"]), (&json!(2), &json!(1)));
    assert_eq!(run["jobs"][0]["id"], format!("{}/y", runs[1]));
    assert_eq!(run["jobs"][0]["state"], "waiting");
    let unknown = fixture.get("/scheduler/runs/none").await?;
    assert_eq!(unknown.problem()?, (404, "unknown_run".to_owned()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_array_is_taken_in_steps_and_shown_as_one() -> Result<()> {
    let fixture = Fixture::start().await?;
    let body = json!({
        "run": "thumbs",
        "idempotency_key": "k",
        "parameters": { "width": 100, "last": null },
        "set": { "last": 12_000 },
        "jobs": {
            "list": { "type": "t" },
            "resize": {
                "type": "t", "array": "1-{{last}}", "dependencies": ["list"],
                "payload": { "w": "{{width}}", "n": "{{item}}" },
            },
        },
    });
    let body = body.to_string();
    let taken = fixture.post("/scheduler/runs", body.clone()).await?;
    assert_eq!(taken.status, 201, "{taken:?}");
    let taken = taken.json()?;
    assert_eq!((&taken["count"], &taken["known"]), (&json!(12_001), &json!(false)));
    let run = taken["run"].as_str().unwrap_or_default().to_owned();
    let again = fixture.post("/scheduler/runs", body).await?.json()?;
    assert_eq!((&again["run"], &again["known"]), (&json!(run), &json!(true)));

    let shown = fixture.get(&format!("/scheduler/runs/{run}?limit=1")).await?.json()?;
    assert_eq!(shown["total"], 12_001);
    let array = json!([{
        "id": format!("{run}/resize"), "states": { "waiting": 12_000 }, "total": 12_000,
    }]);
    assert_eq!(shown["arrays"], array);
    let one = fixture.get(&format!("/scheduler/jobs/{run}%2Fresize%5B7%5D")).await?.json()?;
    assert_eq!(one["payload"], json!({ "w": 100, "n": 7 }));
    let refused = json!({ "jobs": { "a": { "type": "t", "array": "@/etc/passwd" } } });
    let refused = fixture.post("/scheduler/runs", refused.to_string()).await?;
    assert_eq!(refused.problem()?.0, 400, "{refused:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_and_predictions_are_told() -> Result<()> {
    let mut fixture = Fixture::with(|config| {
        config.scheduling.shadow = Some(bellwether_core::model::Strategy::RoundRobin);
    })
    .await?;
    let mut worker = fixture.worker("w", 1).await?;
    fixture.submit(vec![job("a"), job("b")]).await?;
    for _ in 0..2 {
        let offer = worker.offer().await?;
        worker.complete(&offer, "").await?;
    }
    fixture.job_is("b", JobState::Completed).await?;
    let decisions = fixture.get("/scheduler/decisions?limit=1").await?.json()?;
    assert_eq!(decisions["decisions"][0]["job"], "b");
    assert_eq!(decisions["decisions"][0]["worker"], "w");
    let cursor = decisions["next_cursor"].as_str().unwrap_or_default();
    let older = fixture.get(&format!("/scheduler/decisions?cursor={cursor}")).await?.json()?;
    assert_eq!(older["decisions"][0]["job"], "a");
    let of_a = fixture.get("/scheduler/jobs/a/decisions").await?.json()?;
    assert_eq!(of_a["decisions"], older["decisions"]);
    let predictions = fixture.get("/scheduler/predictions?type=test").await?.json()?;
    assert_eq!(predictions["types"][0]["samples"], 2);
    let shadow = fixture.get("/scheduler/shadow").await?.json()?;
    assert_eq!((&shadow["shadow"], &shadow["decisions"]), (&json!("round_robin"), &json!(2)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_explained_whatever_became_of_it() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let waiting = fixture.get("/scheduler/jobs/a/explain").await?.json()?;
    assert_eq!(waiting["waiting_for"]["reason"], "no_workers");
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "").await?;
    fixture.job_is("a", JobState::Completed).await?;
    let placed = fixture.get("/scheduler/jobs/a/explain").await?.json()?;
    assert_eq!(placed["attempts"][0]["decision"]["worker"], "w");
    assert!(placed.get("waiting_for").is_none());
    fixture.post("/scheduler/jobs", r#"{"id":"z","type":"t","retry":99}"#).await?;
    let refused = fixture.get("/scheduler/jobs/z/explain").await?.json()?;
    assert_eq!(refused["refused"]["code"], "retry_above_max");
    let unknown = fixture.get("/scheduler/jobs/q/explain").await?;
    assert_eq!(unknown.problem()?, (404, "unknown_job".to_owned()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_asks_nobody_else() -> Result<()> {
    let fixture = Fixture::start().await?;
    let page = fixture.get("/scheduler/docs").await?;
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    let text = std::str::from_utf8(&page.body)?;
    assert!(text.contains("openapi.json"));
    assert!(!text.contains("http://") && !text.contains("https://"));
    assert!(page.header("content-security-policy").contains("default-src 'none'"));
    Ok(())
}
