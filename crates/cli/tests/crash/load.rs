//! Work for a scheduler that is killed meanwhile, and the account of what was promised and done.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::client::Job;
use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Client, Context, NewJob, Outcome, Worker, v1};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::site::{BACKOFF, Site};

const TYPE: &str = "count";
const SLOTS: u32 = 4;
/// Every third job takes this long, so that some run while the scheduler dies.
const WORK: Duration = Duration::from_millis(3);

/// What was acknowledged, run and seen, told by those who were there.
#[derive(Debug, Default)]
struct Account {
    acknowledged: Vec<String>,
    /// Tokens of the attempts that ran, by job.
    executions: BTreeMap<String, Vec<u64>>,
    results: BTreeMap<String, Vec<u8>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Load {
    client: Client,
    /// A lock, because handlers, submitters and followers write it from their own tasks.
    account: Arc<Mutex<Account>>,
    acknowledged: watch::Sender<usize>,
}

impl Load {
    pub(crate) fn new(site: &Site) -> Result<Load> {
        Ok(Load {
            client: site.client()?,
            account: Arc::default(),
            acknowledged: watch::Sender::new(0),
        })
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn acknowledged(&self) -> watch::Receiver<usize> {
        self.acknowledged.subscribe()
    }

    /// Workers that outlive the scheduler.
    pub(crate) fn workers(&self, site: &Site, count: usize) -> Result<Vec<RunningWorker>> {
        let start = |index| {
            let load = self.clone();
            let work = move |context: Context| load.clone().work(context);
            let worker = Worker::builder(site.url()).id(format!("w{index}")).slots(SLOTS);
            Ok(worker.backoff(BACKOFF).job(TYPE, work).start()?)
        };
        (0..count).map(start).collect()
    }

    async fn work(self, context: Context) -> Outcome {
        let executions = {
            let mut account = self.account();
            let tokens = account.executions.entry(context.id().to_owned()).or_default();
            tokens.push(context.token());
            tokens.len()
        };
        if context.payload().first() == Some(&1) {
            tokio::time::sleep(WORK).await;
        }
        // Another execution has another result, so that two can't be taken for one.
        Outcome::done(format!("{} {} {executions}", context.id(), context.token()))
    }

    /// Submits jobs and follows them to their end, whatever happens to the scheduler.
    pub(crate) async fn batch(&self, ids: std::ops::Range<usize>) -> Result<()> {
        let followed = self.submit(ids).await?;
        self.follow(followed).await
    }

    /// Returns once all are acknowledged. Sending again after a crash is the client's business.
    pub(crate) async fn submit(&self, ids: std::ops::Range<usize>) -> Result<Vec<String>> {
        let results = self.client.submit_many(ids.clone().map(job)).await?;
        let mut taken = Vec::new();
        for result in results {
            taken.push(result?.id().to_owned());
        }
        ensure!(taken == ids.map(name).collect::<Vec<_>>());
        self.account().acknowledged.extend(taken.iter().cloned());
        self.acknowledged.send_modify(|count| *count += taken.len());
        Ok(taken)
    }

    async fn follow(&self, ids: Vec<String>) -> Result<()> {
        let mut ended = self.client.follow(ids, false);
        while let Some(job) = ended.next().await? {
            self.note(&job)?;
        }
        Ok(())
    }

    /// A result that was seen once stays what it is.
    fn note(&self, job: &Job) -> Result<()> {
        ensure!(job.state() == v1::JobState::Completed, "{} is {:?}", job.id(), job.state());
        let hash = job.0.result_hash.to_vec();
        let mut account = self.account();
        let before = account.results.entry(job.id().to_owned()).or_insert_with(|| hash.clone());
        ensure!(*before == hash, "{} has another result than before", job.id());
        Ok(())
    }

    /// Submits `jobs` in batches, one after the other, and follows all of them.
    pub(crate) async fn run(self, jobs: usize, batch: usize) -> Result<()> {
        let mut followers = JoinSet::new();
        for first in (0..jobs).step_by(batch) {
            let taken = self.submit(first..(first + batch).min(jobs)).await?;
            let load = self.clone();
            followers.spawn(async move { load.follow(taken).await });
        }
        while let Some(followed) = followers.join_next().await {
            followed??;
        }
        Ok(())
    }

    /// Everything that was acknowledged has completed, with the result of an attempt that ran; what
    /// is exactly_once ran once and completed once; and the journal says the same.
    pub(crate) async fn verify(&self, site: &Site) -> Result<()> {
        let acknowledged = self.account().acknowledged.clone();
        for id in &acknowledged {
            let job = self.client.job(id, 0).await.with_context(|| format!("{id} is lost"))?;
            self.note(&job)?;
            let tokens = self.account().executions.get(id).cloned().unwrap_or_default();
            let result = String::from_utf8_lossy(job.result()).into_owned();
            let known = tokens.iter().any(|token| result.starts_with(&format!("{id} {token} ")));
            ensure!(known, "{id} has the result {result:?} of none of {tokens:?}: {job:?}");
            let guarantee = job.0.spec.as_ref().context("a job has a spec")?.guarantee();
            let once = guarantee == v1::Guarantee::ExactlyOnce;
            ensure!(!once || tokens.len() == 1, "{id} is exactly_once and ran as {tokens:?}");
        }
        let completed = self.completions().await?;
        for id in &acknowledged {
            let times = completed.get(id).copied().unwrap_or_default();
            ensure!(times == 1, "{id} completed {times} times");
        }
        let replay = site.replay().await?;
        ensure!(replay.code == Some(0) && replay.report["mismatches"] == 0, "{replay:?}");
        Ok(())
    }

    /// A scheduler at another site, which found what ours left behind, knows all that was
    /// acknowledged, and what it saw completed is completed.
    pub(crate) async fn all_known(&self, site: &Site) -> Result<()> {
        let client = site.client()?;
        let (acknowledged, results) = {
            let account = self.account();
            (account.acknowledged.clone(), account.results.clone())
        };
        for id in &acknowledged {
            let job = client.job(id, 0).await.with_context(|| format!("{id} is lost"))?;
            let before = results.get(id).map(Vec::as_slice).unwrap_or_default();
            ensure!(job.0.result_hash == before, "{id} has another result than before");
        }
        let replay = site.replay().await?;
        ensure!(replay.code == Some(0) && replay.report["mismatches"] == 0, "{replay:?}");
        Ok(())
    }

    /// How often each job completed, from the events of the whole journal.
    async fn completions(&self) -> Result<BTreeMap<String, usize>> {
        let end = self.client.status().await?.position;
        let mut events =
            self.client.events(v1::WatchEventsRequest { from: 1, ..Default::default() });
        let mut completed = BTreeMap::new();
        loop {
            let event = events.next().await?;
            if event.kind == "job_completed" {
                *completed.entry(event.job_id).or_default() += 1;
            }
            if event.seq >= end {
                return Ok(completed);
            }
        }
    }
}

fn name(index: usize) -> String {
    format!("job-{index}")
}

/// Half of them exactly_once; some wait for the one before, some take a moment.
fn job(index: usize) -> NewJob {
    let guarantee = match index % 2 {
        0 => v1::Guarantee::ExactlyOnce,
        _ => v1::Guarantee::AtLeastOnce,
    };
    let job = NewJob::new(TYPE)
        .id(name(index))
        .idempotency_key(name(index))
        .guarantee(guarantee)
        .payload(vec![u8::from(index.is_multiple_of(3))]);
    if index % 5 == 4 { job.after(name(index - 1)) } else { job }
}
