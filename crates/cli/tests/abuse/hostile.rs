//! Texts that cost whoever reads them more than whoever wrote them.

use anyhow::{Result, ensure};
use bellwether_sdk::{Context, NewJob, Outcome, Worker};

use crate::memory;
use crate::plain_http::{get, post};
use crate::site::{BACKOFF, DEADLINE, Site};

/// What reading one request may need besides a few copies of it.
const MEMORY_BYTES_MAX: u64 = 192 << 20;
/// An answer says what is wrong, and not all that was.
const ANSWER_BYTES_MAX: usize = 1_024;

async fn is_healthy(site: &Site) -> Result<()> {
    ensure!(get(site, "/healthz").await?.status == 200);
    ensure!(get(site, "/readyz").await?.status == 200);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_not_everybody_can_read_is_kept_and_shown_as_text() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    let echo = async |context: Context| Outcome::done(context.payload().clone());
    let worker = Worker::builder(site.url()).id("w").backoff(BACKOFF).job("t", echo).start()?;
    let payloads = ["1e999", r#"{"a":[-1e400]}"#, r#""\ud800""#, "{\n\"b\": 1e999\n}"];
    for (index, payload) in payloads.into_iter().enumerate() {
        let id = format!("j{index}");
        let body = format!(r#"{{"type":"t","id":"{id}","payload":{payload}}}"#);
        let submitted = post(&site, "/scheduler/jobs", body.as_bytes()).await?;
        ensure!(submitted.status == 201, "{payload}: {submitted:?}");
        let done = client.wait(&id).await?;
        ensure!(done.result() == payload, "{payload}: {done:?}");
        for _ in 0..2 {
            let shown = get(&site, &format!("/scheduler/jobs/{id}")).await?;
            ensure!(shown.status == 200, "{payload}: {shown:?}");
            let shown = shown.json()?;
            ensure!(shown["payload"] == payload && shown["result"] == payload, "{shown}");
        }
    }
    let events = get(&site, "/scheduler/events?from=1&follow=false").await?;
    ensure!(events.status == 200 && events.body.contains("job_submitted"), "{events:?}");
    let deep =
        format!(r#"{{"type":"t","payload":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    let refused = post(&site, "/scheduler/jobs", deep.as_bytes()).await?;
    ensure!(refused.status == 400 && refused.code() == "malformed", "{refused:?}");
    ensure!(refused.body.len() < ANSWER_BYTES_MAX, "{refused:?}");
    // The grammar has no such limit, and gRPC no grammar.
    let payload = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    client.submit(NewJob::new("t").id("deep").payload(payload.clone())).await?;
    client.wait("deep").await?;
    let shown = get(&site, "/scheduler/jobs/deep").await?;
    ensure!(shown.json()?["payload"] == payload);
    is_healthy(&site).await?;
    worker.kill();
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_is_refused_before_it_is_read() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    is_healthy(&site).await?;
    let before = memory::now(&scheduler)?;
    for (what, path, body) in too_large() {
        ensure!(body.len() < 16 << 20, "{what} is not even read");
        let sent = post(&site, path, body.as_bytes());
        let others = async {
            // Nobody waits for it: not those who come by the same door.
            for _ in 0..20 {
                is_healthy(&site).await?;
            }
            anyhow::Ok(())
        };
        let (refused, others) = tokio::join!(sent, others);
        others?;
        let refused = refused?;
        ensure!(refused.status == 400 || refused.status == 413, "{what}: {refused:?}");
        let size = refused.body.len();
        ensure!(size < ANSWER_BYTES_MAX, "{what}: the answer has {size} bytes");
        let grown = memory::peak(&scheduler)?.saturating_sub(before);
        eprintln!("{what}: {} KiB more memory, {}", grown >> 10, refused.body);
        ensure!(grown < MEMORY_BYTES_MAX, "{what}: {grown} bytes more");
    }
    scheduler.stop().await
}

/// What it is, where it is sent, and the body.
fn too_large() -> Vec<(&'static str, &'static str, String)> {
    let (job, runs, several) = ("/scheduler/jobs", "/scheduler/runs", "/scheduler/submissions");
    let by_node = |job: &str, count| {
        let nodes: Vec<String> = (0..count).map(|node| format!("\"{node}\":{job}")).collect();
        format!("{{\"jobs\":{{{}}}}}", nodes.join(","))
    };
    let same = |text: &str, bytes: usize| vec![text; bytes / (text.len() + 1)].join(",");
    let name = "x".repeat(15 << 20);
    vec![
        ("a million jobs by node", runs, by_node("{}", 1_000_000)),
        ("600,000 good jobs by node", runs, by_node("{\"type\":\"t\"}", 600_000)),
        ("a list of jobs", runs, format!("{{\"jobs\":[{}]}}", same("{\"type\":\"t\"}", 14 << 20))),
        ("a list of numbers", several, format!("[{}]", same("1", 15 << 20))),
        ("an unknown name", job, format!("{{\"type\":\"t\",\"{name}\":1}}")),
        ("a name of a node", runs, format!("{{\"jobs\":{{\"{name}\":{{\"type\":\"t\"}}}}}}")),
        ("a type", job, format!("{{\"type\":\"{name}\"}}")),
        ("a priority", job, format!("{{\"type\":\"t\",\"priority\":[{}]}}", same("1", 15 << 20))),
        ("tags", job, format!("{{\"type\":\"t\",\"tags\":[{}]}}", same("\"\"", 15 << 20))),
        ("the same field", job, format!("{{\"type\":\"t\",{}}}", same("\"retry\":1", 15 << 20))),
        ("settings", "/scheduler/operations", format!("{{\"{name}\":1}}")),
        ("no JSON", job, name),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_never_come_to_an_end_keep_nobody_out() -> Result<()> {
    use tokio::io::AsyncWriteExt as _;
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let bearer = site.bearer()?;
    let mut slow = Vec::new();
    for _ in 0..64 {
        let mut stream = tokio::net::TcpStream::connect(site.http).await?;
        let head = "POST /scheduler/jobs HTTP/1.1\r\nhost: localhost\r\ncontent-type: \
                    application/json\r\ncontent-length: 16000000";
        stream.write_all(format!("{head}\r\nauthorization: {bearer}\r\n\r\n{{").as_bytes()).await?;
        slow.push(stream);
    }
    let payload = "p".repeat(900_000);
    let body = format!(r#"{{"type":"t","id":"a","payload":"{payload}"}}"#);
    let submitted = tokio::time::timeout(DEADLINE, post(&site, "/scheduler/jobs", body.as_bytes()));
    ensure!(submitted.await??.status == 201);
    is_healthy(&site).await?;
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_are_none_are_not_remembered() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    client.status().await?;
    let before = memory::now(&scheduler)?;
    for _ in 0..24 {
        let job = NewJob::new("t").id("x".repeat(15 << 20));
        let refused = client.submit(job).await.map(|accepted| accepted.id().len());
        ensure!(refused.is_err(), "{refused:?}");
    }
    let grown = memory::now(&scheduler)?.saturating_sub(before);
    ensure!(grown < MEMORY_BYTES_MAX, "{grown} bytes more");
    scheduler.stop().await
}
