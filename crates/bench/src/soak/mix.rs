//! Plays scenes at a rate, follows each to its end, and checks what became of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bellwether_sdk::client::Job;
use bellwether_sdk::v1::{self, Guarantee, JobState};
use bellwether_sdk::{Client, ClientError, NewJob};
use bellwether_testbed::Random;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::account::{Account, Execution};
use super::histogram::Histogram;
use super::promises::Promises;
use super::scene::{Kind, Part, Scene};
use super::webhook::Received;
use super::worker_process::{What, printed, result};

/// One scene for so many jobs of the flood, within these bounds.
const JOBS_PER_SCENE: u64 = 100;
const SCENES_PER_SECOND_MIN: u64 = 3;
const SCENES_PER_SECOND_MAX: u64 = 20;
/// Scenes under way: more, and nothing ends.
const OPEN_MAX: usize = 5_000;
/// No scene takes longer, whatever is broken meanwhile.
const END_WITHIN: Duration = Duration::from_secs(180);
/// What a worker told may be read later than what the scheduler told.
const TOLD_WITHIN: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub(super) struct Mix {
    pub(super) client: Client,
    pub(super) account: Arc<Account>,
    pub(super) promises: Arc<Promises>,
    /// How long queries took that name the position of a submission.
    pub(super) reads: Histogram,
    /// Scenes that have ended, and their jobs.
    pub(super) played: AtomicU64,
    pub(super) jobs: AtomicU64,
    /// Posts that are waited for, where somebody receives webhooks.
    pub(super) hooks: Option<Arc<Received>>,
    /// Whether anything is killed or stopped: then output may be cut.
    pub(super) faults: bool,
    /// Whether workers are killed or stopped: then what is dispatched once may be lost.
    pub(super) workers_fail: bool,
}

impl Mix {
    /// Plays until it is told to stop, and then all that has begun to its end.
    pub(super) async fn play(
        self: Arc<Mix>,
        rate: u64,
        seed: u64,
        stopping: watch::Receiver<bool>,
    ) {
        let mut random = Random(seed);
        let a_second = (rate / JOBS_PER_SCENE).clamp(SCENES_PER_SECOND_MIN, SCENES_PER_SECOND_MAX);
        let mut beat = tokio::time::interval(Duration::from_secs(1) / a_second as u32);
        beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut open = JoinSet::new();
        let mut number = 0;
        while !*stopping.borrow() {
            beat.tick().await;
            while open.try_join_next().is_some() {}
            if open.len() >= OPEN_MAX {
                self.promises.broken(format!("{OPEN_MAX} scenes have begun and none ends"));
                return;
            }
            let scene = Scene::draw(number, &mut random);
            number += 1;
            let mix = self.clone();
            open.spawn(async move { mix.play_one(scene).await });
        }
        while open.join_next().await.is_some() {}
    }

    async fn play_one(&self, scene: Scene) {
        match tokio::time::timeout(END_WITHIN, self.follow(&scene)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => self.promises.broken(format!("error: {scene:?}: {error}")),
            Err(_) => {
                self.promises.broken(format!(
                    "terminal_after_heal: {:?} has not ended after {END_WITHIN:?}",
                    scene.ids().collect::<Vec<_>>()
                ));
            }
        }
        self.played.fetch_add(1, Ordering::Relaxed);
        self.jobs.fetch_add(scene.parts.len() as u64, Ordering::Relaxed);
    }

    async fn follow(&self, scene: &Scene) -> Result<(), ClientError> {
        let position = match scene.kind {
            Kind::Twice => self.submit_twice(&scene.parts[0].job).await?,
            _ => self.client.submit_run(scene.run()).await?.position,
        };
        self.read_own_write(&scene.parts[0].id, position).await?;
        let cancelled = match scene.kind {
            Kind::Cancelled => self.cancel(scene).await?,
            _ => false,
        };
        let mut following = self.client.follow(scene.ids(), false);
        let mut ended = Vec::new();
        while let Some(job) = following.next().await? {
            ended.push(job);
        }
        for part in &scene.parts {
            let Some(job) = ended.iter().find(|job| job.id() == part.id) else {
                self.promises.broken(format!("acked_is_kept: no word of the end of {}", part.id));
                continue;
            };
            let accepted = scene.kind != Kind::Cancelled || cancelled;
            self.check(scene, part, job, accepted).await;
            if let Some(hooks) = &self.hooks
                && matches!(job.state(), JobState::Cancelled | JobState::DeadLettered)
            {
                hooks.expect(&part.id);
            }
            self.account.settle(part.id.clone(), part.guarantee);
        }
        match (ended.first(), scene.kind) {
            (Some(job), Kind::Single | Kind::Chain) => self.read_output(job).await,
            _ => Ok(()),
        }
    }

    /// What a job has printed can be read once it has ended.
    async fn read_output(&self, job: &Job) -> Result<(), ClientError> {
        let request = v1::WatchLogsRequest { id: job.id().to_owned(), ..Default::default() };
        let mut output = self.client.logs(request);
        let mut text = Vec::new();
        while let Some(response) = output.next().await? {
            text.extend(response.pieces.into_iter().flat_map(|piece| piece.data));
        }
        let text = String::from_utf8_lossy(&text);
        let told = self.account.executions(job.id());
        let is_there = told.iter().any(|run| text.contains(&printed(job.id(), run.token)));
        if job.state() == JobState::Completed && !is_there && !self.faults {
            self.promises.broken(format!("output: {} printed {text:?} as {told:?}", job.id()));
        }
        Ok(())
    }

    /// One key makes one job, however often it is sent.
    async fn submit_twice(&self, job: &NewJob) -> Result<u64, ClientError> {
        let (one, other) = (self.client.submit(job.clone()), self.client.submit(job.clone()));
        let (one, other) = futures_util::future::join(one, other).await;
        let (one, other) = (one?, other?);
        if one.numbers != other.numbers {
            self.promises.broken(format!("one_key_one_job: {one:?} and {other:?}"));
        }
        Ok(one.position.max(other.position))
    }

    async fn read_own_write(&self, id: &str, position: u64) -> Result<(), ClientError> {
        let begun = Instant::now();
        match self.client.job(id, position).await {
            Ok(_) => {
                if self.promises.is_calm_since(begun) {
                    self.reads.record(begun.elapsed());
                }
                Ok(())
            }
            Err(error) if error.code() == Some("unknown_job") => {
                self.promises.broken(format!("acked_is_kept: {id} is not known at {position}"));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Whether it was acknowledged.
    async fn cancel(&self, scene: &Scene) -> Result<bool, ClientError> {
        tokio::time::sleep(scene.cancel_after).await;
        let refused = self.client.cancel(scene.ids().collect(), "the soak wants it").await?;
        Ok(refused.is_empty())
    }

    async fn check(&self, scene: &Scene, part: &Part, job: &Job, accepted: bool) {
        let (id, state) = (&part.id, job.state());
        let lost = self.workers_fail && part.guarantee == Guarantee::AtMostOnce;
        if !accepted || (lost && state != JobState::Completed) {
            return;
        }
        if state != part.ends {
            let name = match part.ends {
                JobState::Cancelled => "cancelled_never_succeeds",
                _ => "ends_as_it_must",
            };
            self.promises.broken(format!("{name}: {id} is {state:?} and not {:?}", part.ends));
        }
        if state != JobState::Completed {
            if !job.result().is_empty() {
                self.promises.broken(format!("cancelled_never_succeeds: {id} has a result"));
            }
            return;
        }
        if job.0.failures > part.script.fails {
            let failures = job.0.failures;
            self.promises.broken(format!("attempts_bounded: {id} failed {failures} times"));
        }
        let Some(execution) = self.execution(id, job.result()).await else {
            let told = self.account.executions(id);
            let result = String::from_utf8_lossy(job.result());
            self.promises
                .broken(format!("exactly_one_result: {id} has {result:?} of none of {told:?}"));
            return;
        };
        for dependency in part.after.iter().map(|place| &scene.parts[*place].id) {
            let before = self.account.executions(dependency).iter().any(|first| {
                matches!(first.ended, Some((What::Succeeded, at)) if at <= execution.started)
            });
            if !before {
                self.promises.broken(format!(
                    "dependencies_first: {id} was started before {dependency} ended"
                ));
            }
        }
    }

    /// The one whose result it is, as soon as its worker has told of it.
    async fn execution(&self, id: &str, taken: &[u8]) -> Option<Execution> {
        let deadline = Instant::now() + TOLD_WITHIN;
        loop {
            let executions = self.account.executions(id);
            let known = executions.into_iter().find(|execution| {
                let succeeded = matches!(execution.ended, Some((What::Succeeded, _)));
                succeeded && result(id, execution.token).as_bytes() == taken
            });
            if known.is_some() || Instant::now() > deadline {
                return known;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}
