//! Events, followed through restarts.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bellwether_server::ServerConfig;
use bellwether_wire::v1;
use bellwether_wire::v1::JobState;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

use super::watching::Watching;
use crate::fixture::{DEADLINE, Fixture, job};

/// Long for a follower that reads, short for one that does not.
const TOO_SLOW: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_goes_on_after_a_restart_without_a_gap_or_a_repeat() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut first = Watching::start(&fixture, "/scheduler/events", None).await?;
    fixture.submit(vec![job("a"), job("b")]).await?;
    let run =
        json!({ "run": "r", "jobs": [{ "id": "x", "type": "t" }, { "id": "y", "type": "t" }] });
    fixture.post("/scheduler/runs", run.to_string()).await?;
    let mut seen = Vec::new();
    // Who submits is told first; then two jobs, and one of the two of the run, which lie at the same
    // position.
    for _ in 0..4 {
        seen.push(first.next().await?.context("there is more")?.id);
    }
    let last = seen.last().context("some were seen")?.clone();
    assert!(last.ends_with(".0"), "{seen:?}");

    let mut fixture = fixture.restart().await?;
    let mut second = Watching::start(&fixture, "/scheduler/events", Some(&last)).await?;
    fixture.submit(vec![job("c")]).await?;
    let until_c = async {
        loop {
            let told = second.next().await?.context("there is more")?;
            let is_c = told.data["subject"] == "c";
            seen.push(told.id);
            if is_c {
                return Ok::<_, anyhow::Error>(());
            }
        }
    };
    until_c.await?;
    let all = Watching::start(&fixture, "/scheduler/events?from=1&follow=false", None).await?;
    let all: Vec<String> = all.rest().await?.into_iter().map(|told| told.id).collect();
    let start = all.iter().position(|id| *id == seen[0]).context("it is there")?;
    assert_eq!(seen, all[start..]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_tells_a_decision_as_the_job_does() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "{}").await?;
    fixture.job_is("a", JobState::Completed).await?;
    let path = "/scheduler/events?from=1&follow=false&kind=task_assigned";
    let told = Watching::start(&fixture, path, None).await?.rest().await?;
    let decision = &told[0].data["data"]["decision"];
    assert_eq!(decision["strategy"], "predictive");
    assert_eq!(decision["reason"], "only_worker");
    let shown = fixture.get("/scheduler/jobs/a").await?.json()?;
    assert_eq!(shown["attempts"][0]["decision"], *decision);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_cloud_events_of_what_was_asked_for() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture
        .post("/scheduler/submissions", r#"[{"id":"a","type":"t"},{"id":"b","type":"t"}]"#)
        .await?;
    let mut worker = fixture.worker("w", 1).await?;
    for _ in 0..2 {
        let offer = worker.offer().await?;
        worker.complete(&offer, "{}").await?;
    }
    fixture.job_is("b", JobState::Completed).await?;
    let path = "/scheduler/events?from=1&follow=false&job=b&kind=job_submitted,job_completed";
    let told = Watching::start(&fixture, path, None).await?.rest().await?;
    let kinds: Vec<&str> = told.iter().map(|told| told.kind.as_str()).collect();
    assert_eq!(kinds, ["job_submitted", "job_completed"]);
    let completed = &told[1].data;
    assert_eq!(completed["specversion"], "1.0");
    assert_eq!(completed["type"], "bellwether.job_completed");
    assert_eq!(completed["subject"], "b");
    assert_eq!(completed["id"], told[1].id);
    assert!(completed["source"].as_str().is_some_and(|source| source.starts_with("urn:uuid:")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_is_not_there_is_refused() -> Result<()> {
    let fixture = Fixture::start().await?;
    let refused = async |path: &str| fixture.get(path).await?.problem();
    assert_eq!(refused("/scheduler/events?from=0").await?, (400, "malformed".to_owned()));
    assert_eq!(refused("/scheduler/events?from=1000").await?, (400, "position_ahead".to_owned()));
    Ok(())
}

/// A request by hand, with the token that the scheduler has made.
fn asking(fixture: &Fixture, path: &str) -> Result<String> {
    let token = fixture.server.local_token().context("it has made one")?;
    Ok(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_reads_nothing_slows_nobody() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut stuck = TcpStream::connect(fixture.server.http_address()).await?;
    stuck.write_all(asking(&fixture, "/scheduler/events?from=1")?.as_bytes()).await?;
    // More than the buffers between the two can hold.
    let payload = format!("\"{}\"", "x".repeat(60_000));
    for round in 0..10 {
        let jobs = (0..50).map(|i| v1::JobSpec {
            payload: payload.clone().into(),
            ..job(&format!("j{round}-{i}"))
        });
        fixture.submit(jobs.collect()).await?;
    }
    let path = "/scheduler/events?from=1&follow=false&kind=job_submitted";
    let told = Watching::start(&fixture, path, None).await?.rest().await?;
    assert_eq!(told.len(), 500);
    assert_eq!(fixture.worker("w", 1).await?.offer().await?.job_id(), "j0-0");
    drop(stuck);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_end_and_streams_are_closed_when_it_shuts_down() -> Result<()> {
    let fixture = Fixture::start().await?;
    let mut watching = Watching::start(&fixture, "/scheduler/events", None).await?;
    fixture.server.shutdown().await;
    assert!(watching.next().await?.is_none(), "the stream ends");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn watchers_are_bounded_and_leave_their_places() -> Result<()> {
    let fixture = Fixture::start().await?;
    let mut watchers = Vec::new();
    for _ in 0..256 {
        watchers.push(Watching::start(&fixture, "/scheduler/events", None).await?);
    }
    let refused = fixture.get("/scheduler/events").await?;
    assert_eq!(refused.problem()?, (429, "too_many_watchers".to_owned()));
    drop(watchers);
    let again = async {
        loop {
            if Watching::start(&fixture, "/scheduler/events", None).await.is_ok() {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::fixture::DEADLINE, again).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_does_not_read_is_cut_off_and_told_and_counted() -> Result<()> {
    let patience = |config: &mut ServerConfig| config.limits.follow_timeout = TOO_SLOW;
    let mut fixture = Fixture::with(patience).await?;
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4_096)?;
    let mut slow = socket.connect(fixture.server.http_address()).await?;
    slow.write_all(asking(&fixture, "/scheduler/events")?.as_bytes()).await?;
    slow.read_exact(&mut [0; 12]).await?;
    let counted = async {
        for number in 0.. {
            fixture.submit((0..500).map(|i| job(&format!("j{number}-{i}"))).collect()).await?;
            let metrics = fixture.get("/metrics").await?;
            if String::from_utf8_lossy(&metrics.body).contains("followers_cut_off_total 1") {
                break;
            }
        }
        Ok::<_, anyhow::Error>(())
    };
    tokio::time::timeout(DEADLINE, counted).await??;
    let mut text = String::new();
    tokio::time::timeout(DEADLINE, slow.read_to_string(&mut text)).await??;
    let last = text.rsplit("event: ").next().context("an event")?;
    assert!(last.starts_with("problem\n") && last.contains("too_slow"), "{last}");
    Ok(())
}
