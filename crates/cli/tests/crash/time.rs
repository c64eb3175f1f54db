//! A scheduler that is stopped for longer than every lease, and a wall clock that is set by an hour:
//! neither is anybody's fault, and nothing runs twice for it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bellwether_sdk::v1;
use bellwether_testbed::{Random, WallClock, cannot_run, signal};
use rustix::process::Signal;

use crate::seed::{is_full, seed};
use crate::site::{DEADLINE, Scheduler, Site};
use crate::stage::{QUICK, Stage};

/// Three times the lease of a worker.
const STOP: Duration = Duration::from_secs(3);
const HOUR: i64 = 3_600;
/// Stops and steps under load.
const FAULTS_FULL: usize = 50;
const FAULTS_QUICK: usize = 4;
/// The longest stop of them. A connection is given up after 20 seconds without an answer.
const STOP_MILLIS_MAX: u64 = 2_500;
const STOP_PAST_CONNECTIONS: Duration = Duration::from_secs(25);
const JOBS_PER_FAULT: usize = 6;

/// Stopped for so long; what happens meanwhile it finds when it goes on.
async fn stopped(scheduler: &Scheduler, length: Duration) -> Result<()> {
    signal(scheduler.id()?, Signal::STOP)?;
    tokio::time::sleep(length).await;
    Ok(signal(scheduler.id()?, Signal::CONT)?)
}

/// The clock of the schedulers that are started on this site; none if there is no compiler.
fn wall_clock(site: &mut Site) -> Result<Option<WallClock>> {
    let Some(clock) = WallClock::in_folder(site.folder())? else {
        cannot_run("there is no C compiler to make a wall clock with");
        return Ok(None);
    };
    for (variable, value) in clock.variables() {
        site.set_variable(variable, &value);
    }
    Ok(Some(clock))
}

impl Stage {
    /// Each of these has ended well, in one attempt, with one effect.
    async fn ran_once(&self, ids: &[String]) -> Result<()> {
        for id in ids {
            let job = self.completed(id).await?;
            ensure!(job.0.attempts.len() == 1 && job.0.crashes == 0, "{job:?}");
        }
        let mut effects: BTreeMap<String, usize> = BTreeMap::new();
        for line in self.lines("effects")? {
            *effects.entry(line).or_default() += 1;
        }
        let once = |id: &String| effects.get(id) == Some(&1);
        ensure!(ids.iter().all(once) && effects.len() == ids.len(), "{effects:?}");
        Ok(())
    }

    /// The first event of this kind.
    async fn event(&self, kind: &str) -> Result<v1::EventEnvelope> {
        let kinds = vec![kind.to_owned()];
        let request = v1::WatchEventsRequest { from: 1, kinds, ..Default::default() };
        let mut events = self.client.events(request);
        let found = tokio::time::timeout(DEADLINE, events.next()).await;
        Ok(found.with_context(|| format!("{kind} is told in time"))??)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduler_stopped_past_every_lease_loses_nobody_and_runs_nothing_twice() -> Result<()> {
    let stage = Stage::new()?;
    let scheduler = stage.site.start().await?;
    let _workers = (stage.worker_with("one", 5)?, stage.worker_with("two", 5)?);
    let mut ids = Vec::new();
    for number in 0..9 {
        let (guarantee, id) = match number % 3 {
            0 => (v1::Guarantee::AtLeastOnce, format!("least-{number}")),
            _ => (v1::Guarantee::ExactlyOnce, format!("exactly-{number}")),
        };
        // A part of them ends while the scheduler is stopped, the others when it goes on.
        let gate = if number % 2 == 0 { "early" } else { "go" };
        let script = format!("echo $BELLWETHER_JOB >> effects; wait_for {gate}");
        stage.script(&id, guarantee, &script).await?;
        ids.push(id);
    }
    stage.lines_are("effects", ids.len()).await?;
    std::fs::write(stage.file("early"), "")?;
    stopped(&scheduler, STOP).await?;
    // It comes back to work, with everybody.
    let id = "after".to_owned();
    stage.script(&id, v1::Guarantee::ExactlyOnce, "echo $BELLWETHER_JOB >> effects").await?;
    stage.completed(&id).await?;
    ids.push(id);
    stage.go()?;
    stage.ran_once(&ids).await?;
    ensure!(stage.client.workers(true).await?.iter().all(|worker| worker.connected));
    stage.event("terms_extended").await?;
    stage.holds().await
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_do_not_follow_a_wall_clock_that_is_set_forwards() -> Result<()> {
    let mut site = Site::new(&QUICK)?;
    let Some(mut clock) = wall_clock(&mut site)? else { return Ok(()) };
    let stage = Stage::on(site)?;
    let _scheduler = stage.site.start().await?;
    let _worker = stage.worker_with("worker", 2)?;
    let script = "echo $BELLWETHER_JOB >> effects; wait_for go";
    let long = stage.job("long", script).timeout(Duration::from_secs(600));
    stage.client.submit(long).await?;
    stage.lines_are("effects", 1).await?;
    // The scheduler knows of it, too, and counts its time.
    stage.worker_is("worker", |worker| worker.held.iter().any(|held| held.running)).await?;
    clock.step(HOUR)?;
    // Time passes after that, by its own measure.
    let delayed = stage.job("delayed", "echo $BELLWETHER_JOB >> effects");
    stage.client.submit(delayed.delay(Duration::from_secs(1))).await?;
    stage.completed("delayed").await?;
    // A moment is one of the wall clock as it is now.
    let mut timed = stage.job("timed", "echo $BELLWETHER_JOB >> effects");
    let moment = clock.now() + Duration::from_secs(1);
    timed.wire().not_before = u64::try_from(moment.as_micros())?;
    stage.client.submit(timed).await?;
    let timed = stage.completed("timed").await?;
    let shown = Duration::from_micros(timed.0.ended_at);
    ensure!(shown >= moment && shown < moment + DEADLINE, "{shown:?} {moment:?}");
    stage.go()?;
    stage.ran_once(&["long".to_owned(), "delayed".to_owned(), "timed".to_owned()]).await?;
    stage.event("clock_stepped").await?;
    stage.holds().await
}

#[tokio::test(flavor = "multi_thread")]
async fn spans_do_not_stand_still_with_a_wall_clock_that_is_set_back() -> Result<()> {
    let mut site = Site::new(&QUICK)?;
    let Some(mut clock) = wall_clock(&mut site)? else { return Ok(()) };
    let stage = Stage::on(site)?;
    let scheduler = stage.site.start().await?;
    let (mut doomed, _heir) = (stage.worker("doomed")?, stage.worker("heir")?);
    stage.worker_is("doomed", |worker| worker.connected).await?;
    stage.worker_is("heir", |worker| worker.connected).await?;
    clock.step(-HOUR)?;
    let delayed = stage.job("delayed", "echo $BELLWETHER_JOB >> effects");
    stage.client.submit(delayed.delay(Duration::from_secs(1))).await?;
    stage.completed("delayed").await?;
    doomed.kill().await?;
    let unreachable = i32::from(v1::WorkerStatus::Unreachable);
    stage.worker_is("doomed", |worker| worker.status == unreachable).await?;
    stage.event("clock_stepped").await?;
    // A scheduler that starts with a clock behind its journal goes on from where that ends.
    scheduler.kill().await?;
    let _scheduler = stage.site.start().await?;
    let again = stage.job("again", "echo $BELLWETHER_JOB >> effects");
    stage.client.submit(again.delay(Duration::from_secs(1))).await?;
    stage.ran_once(&["delayed".to_owned(), "again".to_owned()]).await?;
    stage.holds().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_exactly_once_runs_once_under_stops_and_steps() -> Result<()> {
    let mut random = Random(seed());
    let mut site = Site::new(&QUICK)?;
    let Some(mut clock) = wall_clock(&mut site)? else { return Ok(()) };
    let stage = Stage::on(site)?;
    let scheduler = stage.site.start().await?;
    let _workers = (stage.worker_with("one", 3)?, stage.worker_with("two", 3)?);
    let faults = if is_full() { FAULTS_FULL } else { FAULTS_QUICK };
    let mut ids = Vec::new();
    for fault in 0..faults {
        for number in 0..JOBS_PER_FAULT {
            let id = format!("job-{fault}-{number}");
            let pause = random.below(STOP_MILLIS_MAX);
            let script = format!(
                "echo $BELLWETHER_JOB >> effects; sleep {}.{:03}",
                pause / 1_000,
                pause % 1_000
            );
            stage.script(&id, v1::Guarantee::ExactlyOnce, &script).await?;
            ids.push(id);
        }
        match fault % 4 {
            1 => clock.step(HOUR)?,
            3 => clock.step(-2 * HOUR)?,
            _ if is_full() && fault == 0 => stopped(&scheduler, STOP_PAST_CONNECTIONS).await?,
            _ => {
                let length = Duration::from_millis(random.below(STOP_MILLIS_MAX));
                stopped(&scheduler, length).await?;
            }
        }
    }
    stage.ran_once(&ids).await?;
    eprintln!("{faults} stops and steps, {} jobs, no second execution", ids.len());
    stage.holds().await
}
