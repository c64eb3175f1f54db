//! Thousands of connections that say nothing, or next to nothing.

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::{NewJob, Outcome, Worker};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::memory;
use crate::plain_http::send;
use crate::site::{BACKOFF, Site};

const IDLE: usize = 10_000;
/// Of them, those that begin to talk and fall silent.
const BEGUN: usize = 1_000;
/// File descriptors for everything else.
const SPARE: usize = 500;
/// For each connection: sockets are the kernel's, so this is what we keep of them.
const BYTES_EACH: u64 = 8 << 10;

/// How a client of gRPC begins.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// And one of HTTP.
const HEAD: &[u8] = b"GET /healthz HTTP/1.1\r\n";

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
            stream.write_all(PREFACE).await?;
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

/// Without a token, from the same address as everybody else: as many connections as the scheduler serves, and
/// more, each with a call that needs none. They give way.
#[tokio::test(flavor = "multi_thread")]
async fn strangers_who_take_all_places_keep_nobody_out_who_has_a_token() -> Result<()> {
    const PLACES: usize = 40;
    let site = Site::new(&[("connections_max", &PLACES.to_string())])?;
    let scheduler = site.start().await?;
    let mut strangers = Vec::new();
    for (address, beginning) in [(site.address(), PREFACE), (site.http, HEAD)] {
        for _ in 0..2 * PLACES {
            let mut stream = TcpStream::connect(address).await?;
            stream.write_all(beginning).await?;
            strangers.push(stream);
        }
    }
    // Whoever has shown a token stays, however many come after.
    let client = site.client()?;
    ensure!(client.status().await?.workers == 0);
    for _ in 0..PLACES {
        let mut stream = TcpStream::connect(site.address()).await?;
        stream.write_all(PREFACE).await?;
        strangers.push(stream);
    }
    client.submit(NewJob::new("work").id("one")).await?;
    let host = [("host", "localhost")];
    ensure!(send(site.http, "GET", "/readyz", &host, b"").await?.status == 200);
    drop(strangers);
    scheduler.stop().await
}

/// With tokens nobody gives way; those who are too many are counted, and fill no log.
#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_all_places_are_counted_and_fill_no_log() -> Result<()> {
    let site = Site::new(&[("connections_max", "4")])?;
    let scheduler = site.start().await?;
    let began = std::time::Instant::now();
    let client = site.client()?;
    client.status().await?;
    let other = site.client()?;
    other.status().await?;
    for _ in 0..200 {
        let mut stream = TcpStream::connect(site.address()).await?;
        stream.write_all(PREFACE).await?;
        // It is told nothing: the connection ends.
        let mut nothing = Vec::new();
        drop(stream.read_to_end(&mut nothing).await);
    }
    ensure!(client.status().await?.workers == 0 && other.status().await?.workers == 0);
    let bearer = site.bearer()?;
    let headers = [("host", "localhost"), ("authorization", bearer.as_str())];
    let metrics = send(site.http, "GET", "/metrics", &headers, b"").await?.body;
    ensure!(metrics.contains("bellwether_denied_total{cause=\"places\"} 200\n"), "{metrics}");
    let seconds = began.elapsed().as_secs() as usize + 2;
    scheduler.stop().await?;
    let log = std::fs::read_to_string(site.folder().join("stderr"))?;
    let told = log.matches("not let in").count();
    ensure!(told >= 1 && told <= 10 * seconds, "{told} lines in {seconds} s");
    Ok(())
}
