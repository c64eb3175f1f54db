//! Everything at once, for as long as somebody has time: load, a mix of all that jobs can be, queries,
//! and faults. Whether promises are kept is judged from outside, by what was acknowledged, what
//! workers did, and what the scheduler takes of its machine.

mod account;
mod faults;
mod finder;
mod fleet;
mod flood;
mod gauge;
mod histogram;
mod ledger;
mod mix;
mod options;
mod promises;
mod report;
mod scene;
mod site;
mod visitors;
mod webhook;
mod worker_process;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::Client;
use bellwether_sdk::worker::RunningWorker;
use bellwether_testbed::{Random, WallClock};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use crate::stage::folder_in;
use account::Account;
use faults::{Injector, LEASE};
use finder::Finder;
use fleet::Fleet;
use flood::Flood;
use gauge::{Gauge, Positions, Sizes};
use ledger::Ledger;
use mix::Mix;
use options::Fault;
pub use options::Options;
use promises::Promises;
pub use report::{Growth, Minute, Report};
use site::Site;
use webhook::Receiver;
pub use worker_process::work;

const MINUTE: Duration = Duration::from_secs(60);
/// When faults have ended, everything ends within this.
const HEAL_WITHIN: Duration = Duration::from_secs(180);
/// So few that the memory of keys is full after two minutes and no longer grows, and that their files are
/// written and merged all the time.
const KEYS_IN_MEMORY: u64 = 4_000;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Tells every minute how it goes.
///
/// # Errors
/// When the scheduler or a worker does not start, or ends by itself. What is broken otherwise is in
/// the report.
pub async fn run(
    options: &Options,
    mut tell: impl FnMut(&Minute) -> anyhow::Result<()>,
) -> anyhow::Result<Report> {
    let seed = options.seed.unwrap_or_else(Random::any_seed);
    let folder = folder_in(options.data_dir.as_deref())?;
    let mut soak = Soak::start(options, seed, folder.path()).await?;
    let limits = options.limits();
    let mut minutes = Vec::new();
    let begun = Instant::now();
    for number in 1..=options.minutes {
        let minute = soak.minute(number, begun + MINUTE * u32::try_from(number)?).await?;
        minute.judge(&limits).into_iter().for_each(|broken| soak.promises.broken(broken));
        tell(&minute)?;
        minutes.push(minute);
    }
    let growth = Growth::of(&minutes, options.history_jobs_max);
    let grown = growth.map(|growth| growth.judge(&limits)).unwrap_or_default();
    grown.into_iter().for_each(|broken| soak.promises.broken(broken));
    let mut report = soak.end(options, seed, growth).await?;
    if !report.broken.is_empty() {
        report.kept = Some(folder.keep().display().to_string());
    }
    Ok(report)
}

/// All that runs.
#[derive(Debug)]
struct Soak {
    client: Client,
    promises: Arc<Promises>,
    account: Arc<Account>,
    ledger: Arc<Ledger>,
    mix: Arc<Mix>,
    gauge: Gauge,
    counts: Counts,
    faults_done: watch::Receiver<std::collections::BTreeMap<&'static str, u64>>,
    flood_workers: Vec<RunningWorker>,
    injecting: JoinHandle<anyhow::Result<Injector>>,
    finding: JoinHandle<Finder>,
    /// The flood, the mix and those who ask.
    driving: JoinSet<()>,
    slow_readers: JoinSet<()>,
    receiver: Option<Receiver>,
    stop: watch::Sender<bool>,
}

/// At the end of the last minute.
#[derive(Debug, Default)]
struct Counts {
    acknowledged: u64,
    confirmed: u64,
    mixed: u64,
    refused: u64,
    faults: u64,
}

impl Soak {
    async fn start(options: &Options, seed: u64, folder: &Path) -> anyhow::Result<Soak> {
        let mut random = Random(seed);
        let clock = match options.faults.has(Fault::Clock) {
            true => WallClock::in_folder(folder)?,
            false => None,
        };
        let mut faults = options.faults.sudden();
        if clock.is_none() && options.faults.has(Fault::Clock) {
            tracing::warn!("there is no C compiler to make a wall clock with: it is not set");
            faults.retain(|fault| *fault != Fault::Clock);
        }
        let receiver = match options.faults.has(Fault::Webhooks) {
            true => Some(Receiver::start(folder).await?),
            false => None,
        };
        let config = receiver.as_ref().map(|receiver| receiver.config.clone());
        let site = Site::start(folder, config, settings(options, clock.as_ref())).await?;
        let (client, promises) = (site.client()?, Arc::new(Promises::default()));
        let account = Arc::new(Account::default());
        let jobs_max = options.rate * (options.minutes + 1) * MINUTE.as_secs();
        let ledger = Arc::new(Ledger::new(jobs_max));
        let flood_workers = flood::workers(&site.url(), &ledger)?;
        let fleet = Fleet::start(site.url(), account.clone())?;
        let mix = Arc::new(Mix {
            client: site.client()?,
            account: account.clone(),
            promises: promises.clone(),
            reads: histogram::Histogram::default(),
            played: AtomicU64::new(0),
            jobs: AtomicU64::new(0),
            hooks: receiver.as_ref().map(|receiver| receiver.received.clone()),
            faults: !faults.is_empty(),
            workers_fail: faults
                .iter()
                .any(|f| matches!(f, Fault::KillWorker | Fault::PauseWorker)),
        });
        let gauge = Gauge {
            client: client.clone(),
            http: site.http(),
            data_dir: site.data_dir(),
            process: site.process(),
            promises: promises.clone(),
            positions: Positions::default(),
        };
        let (stop, stopping) = watch::channel(false);
        let slow_readers = match options.faults.has(Fault::SlowReaders) {
            true => visitors::slow_readers(&site.http()),
            false => JoinSet::new(),
        };
        let flood = Flood {
            client: site.client()?,
            ledger: ledger.clone(),
            rate: options.rate,
            stopping: stopping.clone(),
        };
        let mut driving = JoinSet::new();
        driving.spawn(flood.pour());
        driving.spawn(mix.clone().play(options.rate, random.next(), stopping.clone()));
        let visitor = Random(random.next());
        driving.spawn(visitors::ask(site.client()?, promises.clone(), visitor, stopping.clone()));
        let (done, faults_done) = watch::channel(std::collections::BTreeMap::new());
        let injector = Injector {
            site,
            fleet,
            clock,
            ahead: 0,
            promises: promises.clone(),
            faults,
            every: Duration::from_secs_f64(options.fault_every.max(0.1)),
            random,
            done,
        };
        let finder = Finder {
            client: client.clone(),
            ledger: ledger.clone(),
            promises: promises.clone(),
            settled: 0,
        };
        let finding = tokio::spawn(finder.run(stopping.clone()));
        let injecting = tokio::spawn(injector.run(stopping));
        let counts = Counts::default();
        Ok(Soak {
            client,
            promises,
            account,
            ledger,
            mix,
            gauge,
            counts,
            faults_done,
            flood_workers,
            injecting,
            finding,
            driving,
            slow_readers,
            receiver,
            stop,
        })
    }

    async fn minute(&mut self, number: u64, end: Instant) -> anyhow::Result<Minute> {
        let begun = Instant::now();
        let sizes = self.gauge.look_until(end).await;
        if self.injecting.is_finished() {
            let ended = (&mut self.injecting).await?;
            ended?;
            anyhow::bail!("the faults have ended before their time");
        }
        self.account.sweep(false).into_iter().for_each(|broken| self.promises.broken(broken));
        Ok(self.measured(number, begun.elapsed(), sizes))
    }

    fn measured(&mut self, number: u64, took: Duration, sizes: Sizes) -> Minute {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let now = Counts {
            acknowledged: read(&self.ledger.acknowledged),
            confirmed: read(&self.ledger.confirmed),
            mixed: read(&self.mix.jobs),
            refused: read(&self.ledger.refused),
            faults: self.faults_done.borrow().values().sum(),
        };
        let last = std::mem::replace(&mut self.counts, now);
        let now = &self.counts;
        let rate = |count: u64| count as f64 / took.as_secs_f64();
        Minute {
            minute: number,
            acknowledged_per_s: rate(now.acknowledged - last.acknowledged),
            confirmed_per_s: rate(now.confirmed - last.confirmed),
            mixed_jobs: now.mixed - last.mixed,
            start_p99_ms: self.ledger.starts.take_quantile_ms(0.99),
            read_p99_ms: self.mix.reads.take_quantile_ms(0.99),
            lag_s: sizes.lag_seconds,
            rows: sizes.rows,
            rss_bytes: sizes.rss_bytes,
            files: sizes.files,
            disk_bytes: sizes.disk_bytes,
            refused: now.refused - last.refused,
            faults: now.faults - last.faults,
        }
    }

    /// Lets everything end, and looks at what is left.
    async fn end(
        mut self,
        options: &Options,
        seed: u64,
        growth_percent: Option<Growth>,
    ) -> anyhow::Result<Report> {
        self.stop.send_replace(true);
        self.slow_readers.shutdown().await;
        let Injector { site, fleet, .. } = self.injecting.await??;
        let driving = async { while self.driving.join_next().await.is_some() {} };
        if tokio::time::timeout(HEAL_WITHIN, driving).await.is_err() {
            self.promises.broken(format!("terminal_after_heal: jobs run {HEAL_WITHIN:?} later"));
        }
        self.finding.await?.finish(HEAL_WITHIN).await?;
        none_live(&self.client, &self.promises).await?;
        if let Some(receiver) = &self.receiver {
            all_posted(receiver, &self.promises).await;
        }
        fleet.stop().await?;
        for mut worker in self.flood_workers {
            worker.leave();
            worker.ended().await?;
        }
        self.account.sweep(true).into_iter().for_each(|broken| self.promises.broken(broken));
        if let Some(wrong) = site.end_and_replay().await? {
            self.promises.broken(wrong);
        }
        if let (Some(why), true) = (self.ledger.refusal(), options.faults.sudden().is_empty()) {
            self.promises.broken(format!("submissions were refused: {why}"));
        }
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Ok(Report {
            seed,
            minutes: options.minutes,
            acknowledged: read(&self.ledger.acknowledged),
            confirmed: read(&self.ledger.confirmed),
            started_again: read(&self.ledger.again),
            mixed_jobs: read(&self.mix.jobs),
            faults: self.faults_done.borrow().clone(),
            growth_percent,
            broken: self.promises.all_broken(),
            kept: None,
        })
    }
}

/// Everything that was to be posted was, and that what was refused came again.
async fn all_posted(receiver: &Receiver, promises: &Promises) {
    let deadline = Instant::now() + HEAL_WITHIN;
    loop {
        let missing = receiver.received.missing();
        if missing.is_empty() {
            return;
        }
        if Instant::now() > deadline {
            let some = missing.iter().take(10).collect::<Vec<_>>();
            promises.broken(format!("webhooks: {} were not posted: {some:?}", missing.len()));
            return;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// Nothing is left to do.
async fn none_live(client: &Client, promises: &Promises) -> anyhow::Result<()> {
    let deadline = Instant::now() + HEAL_WITHIN;
    loop {
        let status = client.status().await.context("the scheduler does not answer at the end")?;
        let live = status.jobs.iter().filter(|count| !count.state().has_ended());
        let live: u64 = live.map(|count| count.count).sum();
        if live == 0 {
            return Ok(());
        }
        if Instant::now() > deadline {
            promises.broken(format!("terminal_after_heal: {live} jobs have not ended"));
            return Ok(());
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The scheduler's settings, as variables.
fn settings(options: &Options, clock: Option<&WallClock>) -> Vec<(&'static str, String)> {
    let mut settings = vec![
        ("BELLWETHER_HISTORY_JOBS_MAX", options.history_jobs_max.to_string()),
        ("BELLWETHER_IDEMPOTENCY_MAX", KEYS_IN_MEMORY.to_string()),
        ("BELLWETHER_RETRY_BASE", "100ms".to_owned()),
        ("BELLWETHER_LOG_LEVEL", "warn".to_owned()),
    ];
    if !options.faults.sudden().is_empty() {
        settings.extend([
            ("BELLWETHER_HEARTBEAT_INTERVAL", "500ms".to_owned()),
            ("BELLWETHER_UNREACHABLE_AFTER", format!("{}s", LEASE.as_secs())),
            // Workers are killed more often than any job deserves.
            ("BELLWETHER_MAX_CRASHES", "100".to_owned()),
        ]);
    }
    settings.extend(clock.into_iter().flat_map(WallClock::variables));
    settings
}
