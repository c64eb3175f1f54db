//! Those who look at the scheduler while it is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bellwether_sdk::{Client, v1};
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::http::{get, metric, take_nothing};

const SCRAPE_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Onlookers {
    http: String,
    tasks: Vec<JoinHandle<()>>,
    scrapes: Arc<AtomicU64>,
    events: Arc<AtomicU64>,
}

/// What they saw by the end.
#[derive(Debug, Serialize)]
pub(super) struct Seen {
    pub(super) scrapes: u64,
    pub(super) events_followed: u64,
    pub(super) clickhouse_written: u64,
    pub(super) clickhouse_waiting: u64,
    pub(super) clickhouse_dropped: u64,
    pub(super) spans_written: u64,
    pub(super) spans_dropped: u64,
    pub(super) telemetry_lag_events: u64,
}

impl Onlookers {
    /// They look on when it returns: the first scrape has been answered.
    pub(super) async fn start(
        elsewhere: &Handle,
        grpc: &str,
        http: &str,
        followers: u32,
    ) -> anyhow::Result<Onlookers> {
        get(http, "/metrics").await?;
        let (scrapes, events) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)));
        let mut tasks = vec![
            elsewhere.spawn(scrape(http.to_owned(), scrapes.clone())),
            elsewhere.spawn(take_nothing(http.to_owned())),
        ];
        for _ in 0..followers {
            tasks.push(elsewhere.spawn(follow(grpc.to_owned(), events.clone())));
        }
        Ok(Onlookers { http: http.to_owned(), tasks, scrapes, events })
    }

    pub(super) async fn stop(self) -> anyhow::Result<Seen> {
        let metrics = get(&self.http, "/metrics").await?;
        for task in &self.tasks {
            task.abort();
        }
        let value = |name: &str| metric(&metrics, name);
        let sink =
            |name: &str, sink: &str| value(&format!("bellwether_sink_{name}{{sink=\"{sink}\"}}"));
        Ok(Seen {
            scrapes: self.scrapes.load(Ordering::Relaxed),
            events_followed: self.events.load(Ordering::Relaxed),
            clickhouse_written: sink("written_total", "clickhouse")?,
            clickhouse_waiting: sink("waiting", "clickhouse")?,
            clickhouse_dropped: sink("dropped_total", "clickhouse")?,
            spans_written: sink("written_total", "otlp")?,
            spans_dropped: sink("dropped_total", "otlp")?,
            telemetry_lag_events: value("bellwether_telemetry_lag_events")?,
        })
    }
}

async fn scrape(http: String, scrapes: Arc<AtomicU64>) {
    let mut interval = tokio::time::interval(SCRAPE_INTERVAL);
    loop {
        interval.tick().await;
        if get(&http, "/metrics").await.is_ok() {
            scrapes.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Follows every event as it happens.
async fn follow(grpc: String, events: Arc<AtomicU64>) {
    let Ok(client) = Client::connect(grpc).await else { return };
    let mut stream = client.events(v1::WatchEventsRequest::default());
    while let Ok(event) = stream.next().await {
        drop(event);
        events.fetch_add(1, Ordering::Relaxed);
    }
}
