//! More jobs than anybody looks at one by one.

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::{Security, v1};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::seed::is_full;
use crate::site::{Site, eventually};

const JOBS_FULL: usize = 1_000_000;
const JOBS_QUICK: usize = 210_000;
const BATCH: usize = 5_000;

#[tokio::test(flavor = "multi_thread")]
async fn one_operation_cancels_all_that_match_however_many() -> Result<()> {
    let jobs = if is_full() { JOBS_FULL } else { JOBS_QUICK };
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    let numbers: Vec<usize> = (0..jobs).collect();
    for batch in numbers.chunks(BATCH) {
        let single = |number: &usize| {
            let job = v1::JobSpec::new(format!("job-{number}"), "nobody-runs-it");
            v1::Submission { run_id: String::new(), jobs: vec![job], ..Default::default() }
        };
        for result in client.submit_batch(batch.iter().map(single).collect()).await? {
            result?;
        }
    }
    let wanted = json!({ "action": "cancel", "filter": { "type": "nobody-runs-it" } });
    let started = request(&site, "POST", "/scheduler/operations", &wanted.to_string()).await?;
    let path = format!("/scheduler/operations/{}", started["id"].as_str().context("an id")?);
    let last_done = std::cell::Cell::new(0);
    let ended = loop {
        // As long as it takes, if only it goes on.
        let (site, path, last_done) = (&site, &path, &last_done);
        let shown = eventually("the operation goes on", || async {
            let shown = request(site, "GET", path, "").await?;
            let done = shown["done"].as_u64().unwrap_or(0);
            let goes_on = shown["state"] != "running" || done > last_done.replace(done);
            Ok(goes_on.then_some(shown))
        });
        let shown = shown.await?;
        if shown["state"] != "running" {
            break shown;
        }
    };
    ensure!(ended["state"] == "done" && ended["refused"] == 0, "{ended}");
    ensure!(ended["done"] == jobs && ended["total"] == jobs, "{ended}");
    let cancelled = v1::StateCount { state: v1::JobState::Cancelled.into(), count: jobs as u64 };
    // The history, which counts them, is a little behind.
    eventually("all are counted as cancelled", || async {
        Ok((client.status().await?.jobs == std::slice::from_ref(&cancelled)).then_some(()))
    })
    .await?;
    eprintln!("{jobs} jobs were cancelled by one operation");
    scheduler.kill().await
}

async fn request(site: &Site, method: &str, path: &str, body: &str) -> Result<Value> {
    let mut stream = TcpStream::connect(site.http).await?;
    let token = Security::default().token_for(&site.http.to_string())?;
    let token = token.context("the scheduler has made a token")?;
    let head = format!(
        "{method} {path} HTTP/1.0\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
    serde_json::from_str(body).with_context(|| answer.clone())
}
