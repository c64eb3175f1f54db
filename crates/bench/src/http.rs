//! Plain requests, and followers of events that take little or nothing.

use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};

/// A slow reader takes this much at a time, and so little fits into its socket's buffer.
const SIP_BYTES: usize = 100;
const SIP_INTERVAL: Duration = Duration::from_secs(1);
const BUFFER_BYTES: u32 = 4_096;
/// One that was cut off comes again.
const COME_BACK_AFTER: Duration = Duration::from_secs(1);

pub(crate) async fn get(http: &str, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(http).await?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nhost: localhost\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (head, body) = answer.split_once("\r\n\r\n").context("an answer without a head")?;
    anyhow::ensure!(head.contains(" 200 "), "{head}");
    Ok(body.to_owned())
}

/// The value of a metric without labels, or with those that the name ends in.
pub(crate) fn metric(metrics: &str, name: &str) -> anyhow::Result<u64> {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.with_context(|| format!("{name} is missing"))?.trim().parse().context("a number")
}

/// The same of one in seconds; 0 if it is not there.
pub(crate) fn seconds(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.and_then(|value| value.trim().parse().ok()).unwrap_or(0.0)
}

/// The buckets of a histogram without labels: what they go up to, and how many are not above that.
pub(crate) fn buckets(metrics: &str, name: &str) -> Vec<(f64, u64)> {
    let start = format!("{name}_bucket{{le=\"");
    let bucket = |line: &str| {
        let (bound, count) = line.strip_prefix(&start)?.split_once("\"} ")?;
        let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
        Some((bound, count.trim().parse().ok()?))
    };
    metrics.lines().filter_map(bucket).collect()
}

/// Asks for all events and takes none of them, until it is dropped.
pub(crate) async fn take_nothing(http: String) {
    if follow_events(&http).await.is_ok() {
        std::future::pending::<()>().await;
    }
}

/// Asks for all events, takes 100 bytes a second, and comes again when it was cut off.
pub(crate) async fn take_little(http: String) {
    let mut sip = [0; SIP_BYTES];
    loop {
        if let Ok(mut stream) = follow_events(&http).await {
            while matches!(stream.read(&mut sip).await, Ok(read) if read > 0) {
                tokio::time::sleep(SIP_INTERVAL).await;
            }
        }
        tokio::time::sleep(COME_BACK_AFTER).await;
    }
}

async fn follow_events(http: &str) -> anyhow::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(BUFFER_BYTES)?;
    let mut stream = socket.connect(http.parse()?).await?;
    let request =
        "GET /scheduler/events HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n\r\n";
    stream.write_all(request.as_bytes()).await?;
    Ok(stream)
}
