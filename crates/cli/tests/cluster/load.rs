//! Work while leaders come and go, and the account of what was promised and done.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_bench::cluster::{Cluster, DEADLINE};
use bellwether_sdk::client::Job;
use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Client, Context, NewJob, Outcome, v1};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::contest::{self, Contests};

const TYPE: &str = "count";
const SLOTS: u32 = 4;
/// Every third job takes this long, so that some run while the leader dies.
const WORK: Duration = Duration::from_millis(30);
const BATCH: usize = 30;
/// A batch at most as often as this, so that workers keep up and a long test does not become a test of how much
/// can be kept.
const PACE: Duration = Duration::from_millis(75);
/// Jobs that are looked at at the same time, in the end.
const LOOKS: usize = 16;
const GUARANTEES: [v1::Guarantee; 3] =
    [v1::Guarantee::AtLeastOnce, v1::Guarantee::ExactlyOnce, v1::Guarantee::AtMostOnce];

#[derive(Debug, Default)]
struct Account {
    acknowledged: Vec<String>,
    /// Tokens of the attempts that ran, by job.
    executions: BTreeMap<String, Vec<u64>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Load {
    client: Client,
    contests: Contests,
    // Handlers and submitters write it from their own tasks.
    account: Arc<Mutex<Account>>,
    acknowledged: watch::Sender<usize>,
    enough: Arc<AtomicBool>,
}

impl Load {
    pub(crate) fn new(cluster: &Cluster) -> Result<Load> {
        let client = cluster.client()?;
        Ok(Load {
            contests: Contests::new(client.clone()),
            client,
            account: Arc::default(),
            acknowledged: watch::Sender::new(0),
            enough: Arc::default(),
        })
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Workers that outlive every leader.
    pub(crate) fn workers(&self, cluster: &Cluster, count: usize) -> Result<Vec<RunningWorker>> {
        let start = |index| {
            let load = self.clone();
            let work = move |context: Context| load.clone().work(context);
            let contests = self.contests.clone();
            let contend = move |context: Context| contests.clone().work(context);
            let worker = cluster.worker().id(format!("w{index}")).slots(SLOTS);
            Ok(worker.job(TYPE, work).job(contest::TYPE, contend).start()?)
        };
        (0..count).map(start).collect()
    }

    async fn work(self, context: Context) -> Outcome {
        {
            let mut account = self.account();
            account.executions.entry(context.id().to_owned()).or_default().push(context.token());
        }
        if context.payload().first() == Some(&1) {
            tokio::time::sleep(WORK).await;
        }
        Outcome::done(format!("{} {}", context.id(), context.token()))
    }

    /// Submits until there is enough.
    pub(crate) async fn run(self) -> Result<()> {
        let (mut next, mut contests) = (0, JoinSet::new());
        let mut pace = tokio::time::interval(PACE);
        pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !self.enough.load(Ordering::Relaxed) {
            pace.tick().await;
            self.contests.begin(next, &mut contests);
            let results = self.client.submit_many((next..next + BATCH).map(job)).await?;
            let mut taken = Vec::new();
            for result in results {
                taken.push(result?.id().to_owned());
            }
            next += BATCH;
            self.account().acknowledged.extend(taken);
            self.acknowledged.send_modify(|count| *count += BATCH);
        }
        while let Some(contest) = contests.join_next().await {
            contest??;
        }
        Ok(())
    }

    pub(crate) fn stop(&self) {
        self.enough.store(true, Ordering::Relaxed);
    }

    /// Waits until so many more have been acknowledged.
    pub(crate) async fn more(&self, jobs: usize) -> Result<()> {
        let mut acknowledged = self.acknowledged.subscribe();
        let wanted = *acknowledged.borrow_and_update() + jobs;
        let reached = acknowledged.wait_for(|count| *count >= wanted);
        tokio::time::timeout(DEADLINE, reached).await.context("no more jobs are taken")??;
        Ok(())
    }

    /// Everything that was acknowledged has ended as its guarantee says, and every contest had an order.
    pub(crate) async fn verify(&self) -> Result<usize> {
        let acknowledged = self.account().acknowledged.clone();
        let mut looks = JoinSet::new();
        for part in acknowledged.chunks(acknowledged.len().div_ceil(LOOKS).max(1)) {
            looks.spawn(self.clone().verify_each(part.to_vec()));
        }
        while let Some(looked) = looks.join_next().await {
            looked??;
        }
        let contests = self.contests.verify().await?;
        ensure!(contests > 0, "nobody contended for a job");
        Ok(acknowledged.len())
    }

    async fn verify_each(self, ids: Vec<String>) -> Result<()> {
        let mut ended = self.client.follow(ids.clone(), false);
        while ended.next().await?.is_some() {}
        for id in &ids {
            let job = self.client.job(id, 0).await.with_context(|| format!("{id} is lost"))?;
            let tokens = self.account().executions.get(id).cloned().unwrap_or_default();
            verify_one(&job, &tokens)?;
        }
        Ok(())
    }
}

fn verify_one(job: &Job, tokens: &[u64]) -> Result<()> {
    let id = job.id();
    let guarantee = job.0.spec.as_ref().context("a job has a spec")?.guarantee();
    let result = String::from_utf8_lossy(job.result()).into_owned();
    let known = tokens.iter().any(|token| result == format!("{id} {token}"));
    match guarantee {
        v1::Guarantee::AtMostOnce => {
            ensure!(tokens.len() <= 1, "{id} is at_most_once and ran as {tokens:?}");
            // No worker dies here, and an offer that was lost on the way is made again.
            let completed = job.state() == v1::JobState::Completed;
            ensure!(completed && known, "{id} has the result {result:?} of {tokens:?}: {job:?}");
        }
        v1::Guarantee::ExactlyOnce => {
            ensure!(tokens.len() == 1, "{id} is exactly_once and ran as {tokens:?}");
            ensure!(known, "{id} has the result {result:?} of {tokens:?}: {job:?}");
        }
        _ => ensure!(known, "{id} has the result {result:?} of {tokens:?}: {job:?}"),
    }
    Ok(())
}

fn job(number: usize) -> NewJob {
    let guarantee = GUARANTEES[number % GUARANTEES.len()];
    let slow = u8::from(number.is_multiple_of(7));
    NewJob::new(TYPE).id(format!("job-{number}")).guarantee(guarantee).payload(vec![slow])
}
