//! The jobs of a measurement, and when each was sent, started and confirmed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::{Client, v1};
use tokio::sync::Notify;

use crate::figures::quantile_ms;

pub(crate) const TYPE: &str = "noop";
pub(crate) const WARM_UP_JOBS: u64 = 2_000;
/// Jobs of the warm-up in one call.
const WARM_UP_BATCH: usize = 100;
/// Longer than this without any job that ends, and something is wrong.
pub(crate) const STUCK_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Single(u64),
    Chain(u64),
    Fan(u64),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Payload {
    /// So many bytes.
    Filled(usize),
    /// A little JSON, as it comes through a queue.
    Json,
}

#[derive(Debug, Clone)]
pub(crate) struct Load {
    pub(crate) shape: Shape,
    pub(crate) guarantee: v1::Guarantee,
    pub(crate) payload: Payload,
    pub(crate) tally: Arc<Tally>,
}

/// When things happened to the jobs whose ids are one prefix and a number.
#[derive(Debug)]
pub(crate) struct Tally {
    /// Ids of two measurements on one scheduler must differ.
    pub(crate) prefix: String,
    base: Instant,
    /// Nanoseconds since the base, by the job's number; 0 is not yet.
    sent: Vec<AtomicU64>,
    started: Vec<AtomicU64>,
    confirmed: Vec<AtomicU64>,
    confirmed_count: AtomicU64,
    all_confirmed: Notify,
}

impl Load {
    pub(crate) fn new(name: &str, shape: Shape, payload: Payload) -> Load {
        let guarantee = v1::Guarantee::AtLeastOnce;
        Load { shape, guarantee, payload, tally: Arc::new(Tally::new(name, shape.jobs())) }
    }

    pub(crate) fn jobs(&self) -> u64 {
        self.shape.jobs()
    }

    pub(crate) fn submission(&self, number: u64) -> v1::Submission {
        v1::Submission { jobs: vec![self.job(number)], ..Default::default() }
    }

    /// The whole shape as one run.
    pub(crate) fn run(&self) -> v1::Submission {
        let last = self.jobs() - 1;
        let jobs = (0..=last).map(|number| {
            let after: Vec<u64> = match self.shape {
                Shape::Single(_) => Vec::new(),
                Shape::Chain(_) => number.checked_sub(1).into_iter().collect(),
                Shape::Fan(_) if number == 0 => Vec::new(),
                Shape::Fan(_) if number == last => (1..last).collect(),
                Shape::Fan(_) => vec![0],
            };
            let dependencies = after.into_iter().map(|number| self.tally.id(number)).collect();
            v1::JobSpec { dependencies, ..self.job(number) }
        });
        let run_id = format!("{}run", self.tally.prefix);
        v1::Submission { run_id, jobs: jobs.collect(), extends: false }
    }

    fn job(&self, number: u64) -> v1::JobSpec {
        let id = self.tally.id(number);
        let payload = match self.payload {
            Payload::Filled(bytes) => vec![b'x'; bytes].into(),
            Payload::Json => json_payload(&id).into(),
        };
        let guarantee = self.guarantee.into();
        v1::JobSpec { payload, guarantee, ..v1::JobSpec::new(id, TYPE) }
    }

    /// Connections are open and durations known before the measurement begins, and nothing of the
    /// warm-up is left to write.
    pub(crate) async fn warm_up(&self, client: &Client) -> anyhow::Result<()> {
        let numbers: Vec<u64> = (0..self.jobs()).collect();
        for batch in numbers.chunks(WARM_UP_BATCH) {
            let jobs = batch.iter().map(|number| self.submission(*number)).collect();
            for result in client.submit_batch(jobs).await? {
                result?;
            }
        }
        self.tally.wait_until_confirmed().await.context("the warm-up did not end")?;
        let position = client.status().await?.position;
        client.job(&self.tally.id(self.jobs() - 1), position).await?;
        Ok(())
    }
}

/// What a job carries through a queue.
pub(crate) fn json_payload(id: &str) -> String {
    format!(r#"{{"n":"{id}"}}"#)
}

impl Shape {
    fn jobs(self) -> u64 {
        match self {
            Shape::Single(jobs) | Shape::Chain(jobs) => jobs,
            Shape::Fan(jobs) => jobs + 2,
        }
    }
}

impl Tally {
    fn new(name: &str, jobs: u64) -> Tally {
        // Differs from process to process even where process numbers repeat.
        let salt = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.subsec_nanos() ^ since.as_secs() as u32);
        let zeros = || (0..jobs).map(|_| AtomicU64::new(0)).collect();
        Tally {
            prefix: format!("bench-{}-{salt:08x}-{name}-", std::process::id()),
            base: Instant::now(),
            sent: zeros(),
            started: zeros(),
            confirmed: zeros(),
            confirmed_count: AtomicU64::new(0),
            all_confirmed: Notify::new(),
        }
    }

    pub(crate) fn id(&self, number: u64) -> String {
        format!("{}{number}", self.prefix)
    }

    fn number(&self, id: &str) -> Option<usize> {
        id.strip_prefix(&self.prefix)?.parse().ok()
    }

    fn nanos(&self, at: Instant) -> u64 {
        (at.saturating_duration_since(self.base).as_nanos() as u64).max(1)
    }

    pub(crate) fn sent(&self, number: u64, at: Instant) {
        self.sent[number as usize].store(self.nanos(at), Ordering::Relaxed);
    }

    pub(crate) fn started(&self, id: &str) {
        if let Some(time) = self.number(id).and_then(|number| self.started.get(number)) {
            // Of two runs of a job the first counts; they can't be at the same moment.
            if time.load(Ordering::Relaxed) == 0 {
                time.store(self.nanos(Instant::now()), Ordering::Relaxed);
            }
        }
    }

    pub(crate) fn confirmed(&self, id: &str) {
        let Some(time) = self.number(id).and_then(|number| self.confirmed.get(number)) else {
            return;
        };
        if time.swap(self.nanos(Instant::now()), Ordering::Relaxed) == 0 {
            let count = self.confirmed_count.fetch_add(1, Ordering::Relaxed) + 1;
            if count == self.confirmed.len() as u64 {
                self.all_confirmed.notify_waiters();
            }
        }
    }

    pub(crate) async fn wait_until_confirmed(&self) -> anyhow::Result<()> {
        let jobs = self.confirmed.len() as u64;
        let mut last = 0;
        loop {
            let all = self.all_confirmed.notified();
            let count = self.confirmed_count.load(Ordering::Relaxed);
            if count >= jobs {
                return Ok(());
            }
            if tokio::time::timeout(STUCK_AFTER, all).await.is_err() {
                anyhow::ensure!(
                    count > last,
                    "{count} of {jobs} jobs have ended, and none for {STUCK_AFTER:?}"
                );
                last = count;
            }
        }
    }

    /// From the first that was sent to the last that was confirmed; none if nothing was.
    pub(crate) fn took(&self) -> Option<Duration> {
        let first = self.sent.iter().map(read).filter(|&at| at > 0).min()?;
        let last = self.confirmed.iter().map(read).max().filter(|&at| at > 0)?;
        Some(Duration::from_nanos(last.saturating_sub(first).max(1)))
    }

    /// From when each job was to be sent until its handler started.
    pub(crate) fn until_started(&self) -> Spans {
        Spans::between(&self.sent, &self.started)
    }

    /// From when each job was to be sent until its result was durable and confirmed.
    pub(crate) fn until_confirmed(&self) -> Spans {
        Spans::between(&self.sent, &self.confirmed)
    }
}

fn read(time: &AtomicU64) -> u64 {
    time.load(Ordering::Relaxed)
}

/// Sorted times of what has happened.
#[derive(Debug)]
pub(crate) struct Spans(Vec<u64>);

impl Spans {
    fn between(from: &[AtomicU64], to: &[AtomicU64]) -> Spans {
        let ended = from.iter().zip(to).filter(|(_, to)| read(to) > 0);
        let mut spans: Vec<u64> =
            ended.map(|(from, to)| read(to).saturating_sub(read(from))).collect();
        spans.sort_unstable();
        Spans(spans)
    }

    pub(crate) fn quantile_ms(&self, share: f64) -> f64 {
        quantile_ms(&self.0, share)
    }
}
