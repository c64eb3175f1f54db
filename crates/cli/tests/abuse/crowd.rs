//! Thousands of connections that say nothing, or next to nothing.

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::{NewJob, Outcome, Worker};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::memory;
use crate::site::{BACKOFF, Site};

const IDLE: usize = 10_000;
/// Of them, those that begin to talk and fall silent.
const BEGUN: usize = 1_000;
/// File descriptors for everything else.
const SPARE: usize = 500;
/// For each connection: sockets are the kernel's, so this is what we keep of them.
const BYTES_EACH: u64 = 8 << 10;

/// As many files as we may have open; says how many connections that leaves room for.
fn room() -> Result<usize> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })?;
    let files =
        maximum.map_or(usize::MAX, |maximum| usize::try_from(maximum).unwrap_or(usize::MAX));
    let room = files.saturating_sub(SPARE).min(IDLE);
    if room < IDLE {
        eprintln!("only {room} connections: the limit of open files is {files}");
    }
    Ok(room)
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_idle_connections_harm_nobody() -> Result<()> {
    let count = room()?;
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    client.submit(NewJob::new("work").id("before")).await?;
    let before = memory::now(&scheduler)?;
    let mut idle = Vec::with_capacity(count);
    for index in 0..count {
        let stream = TcpStream::connect(site.address()).await;
        let mut stream = stream.with_context(|| format!("connection {index}"))?;
        if index < BEGUN {
            stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await?;
        }
        idle.push(stream);
    }

    // Everybody else is served: who is connected, and who comes now.
    let worker = Worker::builder(site.url()).id("w").slots(4).backoff(BACKOFF);
    let worker = worker.job("work", async |_| Outcome::done("done")).start()?;
    let newcomer = site.client()?;
    let accepted = newcomer.submit_many((0..100).map(|i| NewJob::new("work").id(format!("j{i}"))));
    for result in accepted.await? {
        result?;
    }
    let ids = (0..100).map(|i| format!("j{i}")).chain(["before".to_owned()]);
    let mut ended = newcomer.follow(ids, false);
    let mut done = 0;
    while let Some(job) = ended.next().await? {
        ensure!(job.result() == "done");
        done += 1;
    }
    ensure!(done == 101);
    let grown = memory::peak(&scheduler)?.saturating_sub(before);
    eprintln!("{count} connections, {} KiB more memory", grown >> 10);
    let bound = (64 << 20) + BYTES_EACH * count as u64;
    ensure!(grown < bound, "{grown} bytes more, above {bound}");
    drop(idle);
    ensure!(client.status().await?.workers == 1);
    worker.kill();
    scheduler.stop().await
}
