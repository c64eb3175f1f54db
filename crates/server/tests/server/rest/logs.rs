//! What jobs print, over HTTP.

use anyhow::{Context as _, Result};
use axum::body::Body;
use axum::http::{Method, StatusCode};
use bellwether_wire::v1;
use bellwether_wire::v1::{JobState, LogStream};

use super::client::{request, send};
use super::watching::Watching;
use crate::fixture::{FakeWorker, Fixture, job};

fn chunk(offer: &v1::Offer, position: u64, text: &'static str) -> v1::LogChunk {
    v1::LogChunk {
        job: offer.job,
        token: offer.token,
        position: Some(position),
        stream: LogStream::Stdout.into(),
        at: 1_800_000_000_000_000,
        data: text.into(),
    }
}

async fn print(worker: &FakeWorker, chunks: Vec<v1::LogChunk>) -> Result<()> {
    worker.send(v1::WorkerMessage { logs: chunks, ..Default::default() }).await
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_plain_text_of_which_a_part_can_be_asked_for() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w", 1).await?;
    fixture.submit(vec![job("a")]).await?;
    let offer = worker.offer().await?;
    print(&worker, vec![chunk(&offer, 0, "hello "), chunk(&offer, 16, "world\n")]).await?;
    worker.logs_done(2).await?;
    let whole = fixture.get("/scheduler/jobs/a/logs").await?;
    assert_eq!(whole.header("content-type"), "text/plain; charset=utf-8");
    assert_eq!(whole.body, "hello [10 bytes were cut here]\nworld\n");
    let part = request(Method::GET, "/scheduler/jobs/a/logs").header("range", "bytes=-6");
    let part = send(&fixture.server, part.body(Body::empty())?).await?;
    assert_eq!(part.status, StatusCode::PARTIAL_CONTENT);
    assert_eq!((part.header("content-range"), &part.body[..]), ("bytes 31-36/37", &b"world\n"[..]));
    let none = request(Method::GET, "/scheduler/jobs/a/logs").header("range", "bytes=100-");
    let none = send(&fixture.server, none.body(Body::empty())?).await?;
    assert_eq!(none.problem()?, (416, "no_such_range".to_owned()));
    assert_eq!(fixture.get("/scheduler/jobs/b/logs").await?.problem()?.0, 404);
    assert_eq!(fixture.get("/scheduler/jobs/a/logs?attempt=2").await?.body, "");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn output_is_followed_to_the_end_of_the_job_and_taken_up_again() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w", 1).await?;
    fixture.submit(vec![job("a")]).await?;
    let offer = worker.offer().await?;
    print(&worker, vec![chunk(&offer, 0, "one\n")]).await?;
    let path = "/scheduler/jobs/a/logs?follow=true";
    let mut following = Watching::start(&fixture, path, None).await?;
    let first = following.next().await?.context("there is more")?;
    assert_eq!(first.data["text"], "one\n");
    assert_eq!((&first.data["stream"], &first.data["attempt"]), (&"stdout".into(), &1.into()));
    // Both in one message: the end is seen only with all that was printed before it.
    let report = v1::report::Report::Complete(v1::Complete { result: "{}".into() });
    let report = v1::Report { job: offer.job, token: offer.token, report: Some(report) };
    let logs = vec![chunk(&offer, 4, "two\n"), chunk(&offer, 8, "three\n")];
    worker.send(v1::WorkerMessage { reports: vec![report], logs, ..Default::default() }).await?;
    let rest = following.rest().await?;
    let texts: Vec<&str> = rest.iter().filter_map(|told| told.data["text"].as_str()).collect();
    assert_eq!(texts, ["two\n", "three\n"]);
    fixture.job_is("a", JobState::Completed).await?;
    let again = Watching::start(&fixture, path, Some(&first.id)).await?.rest().await?;
    let texts: Vec<&str> = again.iter().filter_map(|told| told.data["text"].as_str()).collect();
    assert_eq!(texts, ["two\n", "three\n"]);
    assert!(again.iter().all(|told| told.data["cut"].is_null()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_says_of_an_attempt_that_it_was_not_given_is_shown_to_nobody() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w", 1).await?;
    fixture.submit(vec![job("a")]).await?;
    let offer = worker.offer().await?;
    let mut stranger = fixture.worker("stranger", 1).await?;
    print(&stranger, vec![chunk(&offer, 0, "lies\n")]).await?;
    stranger.logs_done(1).await?;
    print(&worker, vec![chunk(&offer, 0, "truth\n")]).await?;
    worker.logs_done(1).await?;
    assert_eq!(fixture.get("/scheduler/jobs/a/logs").await?.body, "truth\n");
    Ok(())
}
