//! The jobs of a measurement, and when each was sent, started and confirmed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::{Client, v1};
use bytes::{BufMut as _, Bytes, BytesMut};
use tokio::sync::Notify;

use super::STUCK_AFTER;

pub(in crate::bench) const TYPE: &str = "noop";
const WARM_UP_JOBS: u64 = 2_000;
/// The number of jobs that are not measured.
const UNMEASURED: u64 = u64::MAX;

#[derive(Debug, Clone, Copy)]
pub(in crate::bench) enum Shape {
    Single(u64),
    Chain(u64),
    Fan(u64),
}

#[derive(Debug, Clone)]
pub(in crate::bench) struct Load {
    pub(in crate::bench) shape: Shape,
    guarantee: v1::Guarantee,
    payload_bytes: usize,
    /// Ids of two measurements on one scheduler must differ.
    prefix: String,
    pub(in crate::bench) times: Arc<Times>,
}

/// Nanoseconds since the beginning, by the job's number; 0 is not yet.
#[derive(Debug)]
pub(in crate::bench) struct Times {
    base: Instant,
    pub(in crate::bench) sent: Vec<AtomicU64>,
    pub(in crate::bench) started: Vec<AtomicU64>,
    pub(in crate::bench) confirmed: Vec<AtomicU64>,
    confirmed_count: AtomicU64,
    warm_count: AtomicU64,
    done: Notify,
}

impl Load {
    pub(in crate::bench) fn new(shape: Shape, guarantee: &str, payload_bytes: u64) -> Load {
        let guarantee = match guarantee {
            "at_most_once" => v1::Guarantee::AtMostOnce,
            "exactly_once" => v1::Guarantee::ExactlyOnce,
            _ => v1::Guarantee::AtLeastOnce,
        };
        let jobs = shape.jobs();
        let zeros = || (0..jobs).map(|_| AtomicU64::new(0)).collect();
        let times = Times {
            base: Instant::now(),
            sent: zeros(),
            started: zeros(),
            confirmed: zeros(),
            confirmed_count: AtomicU64::new(0),
            warm_count: AtomicU64::new(0),
            done: Notify::new(),
        };
        let payload_bytes = usize::try_from(payload_bytes).unwrap_or(usize::MAX);
        let prefix = format!("bench-{}-{:08x}", std::process::id(), times.salt());
        Load { shape, guarantee, payload_bytes, prefix, times: Arc::new(times) }
    }

    pub(in crate::bench) fn jobs(&self) -> u64 {
        self.shape.jobs()
    }

    pub(in crate::bench) fn submission(&self, number: u64) -> v1::Submission {
        v1::Submission { run_id: String::new(), jobs: vec![self.job(number)] }
    }

    /// The whole shape as one run.
    pub(in crate::bench) fn run(&self) -> v1::Submission {
        let last = self.jobs() - 1;
        let jobs = (0..=last).map(|number| {
            let after: Vec<u64> = match self.shape {
                Shape::Single(_) => Vec::new(),
                Shape::Chain(_) => number.checked_sub(1).into_iter().collect(),
                Shape::Fan(_) if number == 0 => Vec::new(),
                Shape::Fan(_) if number == last => (1..last).collect(),
                Shape::Fan(_) => vec![0],
            };
            let dependencies = after.into_iter().map(|number| self.id(number)).collect();
            v1::NewJob { dependencies, ..self.job(number) }
        });
        v1::Submission { run_id: self.prefix.clone(), jobs: jobs.collect() }
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.prefix)
    }

    fn job(&self, number: u64) -> v1::NewJob {
        v1::NewJob {
            id: self.id(number),
            r#type: TYPE.to_owned(),
            payload: self.payload(number),
            guarantee: self.guarantee.into(),
            ..Default::default()
        }
    }

    fn payload(&self, number: u64) -> Bytes {
        let mut payload = BytesMut::with_capacity(self.payload_bytes);
        payload.put_u64_le(number);
        payload.resize(self.payload_bytes, b'x');
        payload.freeze()
    }

    /// Connections are open and durations known before the measurement begins, and nothing of the
    /// warm-up is left to write.
    pub(in crate::bench) async fn warm_up(&self, client: &Client) -> anyhow::Result<()> {
        for batch in (0..WARM_UP_JOBS).collect::<Vec<_>>().chunks(100) {
            let jobs = batch.iter().map(|number| v1::Submission {
                run_id: String::new(),
                jobs: vec![v1::NewJob {
                    id: self.warm_id(*number),
                    payload: self.payload(UNMEASURED),
                    ..self.job(0)
                }],
            });
            for result in client.submit_batch(jobs.collect()).await? {
                result?;
            }
        }
        let warm = || self.times.warm_count.load(Ordering::Relaxed);
        self.wait_for(WARM_UP_JOBS, warm).await.context("the warm-up did not end")?;
        let position = client.status().await?.position;
        client.job(&self.warm_id(WARM_UP_JOBS - 1), position).await?;
        Ok(())
    }

    fn warm_id(&self, number: u64) -> String {
        format!("{}-warm-{number}", self.prefix)
    }

    /// From the first that was sent to the last that was confirmed.
    pub(in crate::bench) fn completed_per_s(&self) -> f64 {
        let read = |time: &AtomicU64| time.load(Ordering::Relaxed);
        let first = self.times.sent.iter().map(read).min().unwrap_or(0);
        let last = self.times.confirmed.iter().map(read).max().unwrap_or(0);
        self.jobs() as f64 * 1e9 / (last.saturating_sub(first).max(1)) as f64
    }

    pub(in crate::bench) async fn wait_until_confirmed(
        &self,
        client: &Client,
    ) -> anyhow::Result<()> {
        let confirmed = || self.times.confirmed_count.load(Ordering::Relaxed);
        if self.wait_for(self.jobs(), confirmed).await.is_err() {
            let status = client.status().await?;
            anyhow::bail!(
                "only {} of {} jobs ended; the scheduler says {:?}",
                confirmed(),
                self.jobs(),
                status.jobs
            );
        }
        Ok(())
    }

    async fn wait_for(&self, wanted: u64, count: impl Fn() -> u64) -> anyhow::Result<()> {
        let mut last = count();
        loop {
            let done = self.times.done.notified();
            if count() >= wanted {
                return Ok(());
            }
            if tokio::time::timeout(STUCK_AFTER, done).await.is_err() {
                anyhow::ensure!(count() > last, "no job has ended for {STUCK_AFTER:?}");
                last = count();
            }
        }
    }
}

impl Shape {
    fn jobs(self) -> u64 {
        match self {
            Shape::Single(jobs) | Shape::Chain(jobs) => jobs,
            Shape::Fan(jobs) => jobs + 2,
        }
    }
}

impl Times {
    pub(in crate::bench) fn now(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    pub(in crate::bench) fn at(&self, instant: Instant) -> u64 {
        instant.saturating_duration_since(self.base).as_nanos() as u64
    }

    pub(in crate::bench) fn instant(&self, nanos: u64) -> Instant {
        self.base + Duration::from_nanos(nanos)
    }

    pub(in crate::bench) fn started(&self, payload: &[u8]) {
        if let Some(time) = number(payload).and_then(|number| self.started.get(number)) {
            // Of two runs of a job the first counts; they can't be at the same moment.
            if time.load(Ordering::Relaxed) == 0 {
                time.store(self.now(), Ordering::Relaxed);
            }
        }
    }

    pub(in crate::bench) fn confirmed(&self, payload: &[u8]) {
        let count = match number(payload).and_then(|number| self.confirmed.get(number)) {
            None => &self.warm_count,
            Some(time) => {
                if time.swap(self.now(), Ordering::Relaxed) != 0 {
                    return;
                }
                &self.confirmed_count
            }
        };
        let count = count.fetch_add(1, Ordering::Relaxed) + 1;
        if count == WARM_UP_JOBS || count >= self.confirmed.len() as u64 {
            self.done.notify_waiters();
        }
    }

    /// Differs from process to process even where process numbers repeat.
    fn salt(&self) -> u32 {
        std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.subsec_nanos() ^ since.as_secs() as u32)
    }
}

fn number(payload: &[u8]) -> Option<usize> {
    let number = u64::from_le_bytes(payload.get(..8)?.try_into().ok()?);
    if number == UNMEASURED { None } else { usize::try_from(number).ok() }
}
