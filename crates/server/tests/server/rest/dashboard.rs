//! What the dashboard asks for, and others may.

use anyhow::{Context as _, Result};
use bellwether_wire::v1::JobState;
use serde_json::{Value, json};

use crate::fixture::{Fixture, job};

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_told_as_a_graph_in_columns() -> Result<()> {
    let fixture = Fixture::start().await?;
    let body = json!({ "run": "r", "jobs": {
        "x": { "type": "t" }, "y": { "type": "u", "dependencies": ["x"] },
    } });
    let run = fixture.post("/scheduler/runs", body.to_string()).await?.json()?;
    let run = run["run"].as_str().context("a run has an id")?;
    let graph = fixture.get(&format!("/scheduler/runs/{run}/graph")).await?.json()?;
    assert_eq!((&graph["node"], &graph["dependencies"]), (&json!(["x", "y"]), &json!([[], [0]])));
    assert_eq!(graph["state"], json!(["ready", "waiting"]));
    assert_eq!((&graph["types"], &graph["type"]), (&json!(["t", "u"]), &json!([0, 1])));
    let unknown = fixture.get("/scheduler/runs/none/graph").await?;
    assert_eq!(unknown.problem()?, (404, "unknown_run".to_owned()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn attempts_and_counts_tell_what_was_done() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w", 1).await?;
    for id in ["a", "b"] {
        fixture.submit(vec![job(id)]).await?;
        let offer = worker.offer().await?;
        worker.complete(&offer, "done").await?;
        fixture.job_is(id, JobState::Completed).await?;
    }
    fixture.submit(vec![job("c")]).await?;
    let attempts = fixture.get("/scheduler/attempts?worker=w").await?.json()?;
    assert_eq!(attempts["workers"], json!(["w"]));
    let told = attempts["job"].as_array().context("they are told")?;
    assert!(told.contains(&json!("a")) && told.contains(&json!("b")), "{attempts}");
    assert_eq!(fixture.get("/scheduler/attempts?worker=x").await?.json()?["job"], json!([]));
    for (filter, wanted) in [("state=completed", 2), ("worker=w", 3), ("id_prefix=b", 1), ("", 3)] {
        let counted = fixture.get(&format!("/scheduler/job-count?{filter}")).await?.json()?;
        assert_eq!(counted, json!({ "jobs": wanted, "more": false }), "{filter}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_summary_and_its_series_count_what_happened() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a"), job("b"), job("c")]).await?;
    // One comes a second; the jobs are in the next one, or the one after it.
    let mut summary = Value::Null;
    for _ in 0..200 {
        summary = fixture.get("/scheduler/summary").await?.json()?;
        if summary["jobs"]["ready"] == 3 && summary["stranded"] == 3 {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert_eq!((&summary["jobs"]["ready"], &summary["reasons"][0]["jobs"]), (&json!(3), &json!(3)));
    assert!(summary.to_string().len() < 4_096, "{summary}");
    let series = fixture.get("/scheduler/series").await?.json()?;
    let submitted = series["submitted"].as_array().context("a list")?;
    assert_eq!(submitted.iter().filter_map(Value::as_u64).sum::<u64>(), 3);
    assert_eq!(series["at"].as_array().map(Vec::len), Some(submitted.len()));
    assert_eq!(fixture.get("/scheduler/series?span=1y").await?.problem()?.0, 400);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_and_its_files_are_handed_out_under_a_strict_policy() -> Result<()> {
    let fixture = Fixture::start().await?;
    let home = fixture.get("/").await?;
    assert_eq!((home.status.as_u16(), home.header("location")), (307, "/ui/"));
    for view in ["/ui/", "/ui/jobs", "/ui/jobs/a%2Fb", "/ui/runs/x?y=z"] {
        let page = fixture.get(view).await?;
        assert_eq!(page.status, 200, "{view}");
        assert!(page.header("content-security-policy").contains("default-src 'none'"), "{view}");
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    }
    assert_eq!(fixture.get("/ui/assets/app/main.js").await?.status, 200);
    assert_eq!(fixture.get("/ui/assets/../Cargo.toml").await?.status, 404);
    assert_eq!(fixture.get("/ui/assets/none.js").await?.status, 404);
    Ok(())
}
