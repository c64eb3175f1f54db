//! Killed at every call that writes.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::lanes;
use crate::load::Load;
use crate::seed::{seed, stride};
use crate::site::{Site, Start, was_killed};
use crate::tracer::{Point, Tracer, calls, launching, log, points};

const JOBS: usize = 100;
const BATCH: usize = 5;
const WORKERS: usize = 2;
/// Points of a quick run.
const POINTS_MAX: usize = 120;
const STARTS_MAX: usize = 40;
/// Times that a point is tried which was asked for by name.
const AGAIN: usize = 40;
/// Runs differ in how much they gather in a batch: a dry run on a busy machine has points that others
/// do not have. Fewer reached than so many in a hundred, and it is not that.
const RUN_REACHED_PERCENT_MIN: usize = 50;
/// A start does the same each time, but for what its threads tell each other.
const START_REACHED_PERCENT_MIN: usize = 50;
const ZEROS: [u8; 4_096] = [0; 4_096];

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_write_of_a_run_on_sqlite() -> Result<()> {
    killed_at_every_write_of_a_run("sqlite").await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_write_of_a_run_on_files() -> Result<()> {
    killed_at_every_write_of_a_run("file").await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_write_of_a_start_on_sqlite() -> Result<()> {
    killed_at_every_write_of_a_start("sqlite").await
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_every_write_of_a_start_on_files() -> Result<()> {
    killed_at_every_write_of_a_start("file").await
}

async fn killed_at_every_write_of_a_run(journal: &'static str) -> Result<()> {
    let all = count(journal).await?;
    let chosen = choose(&all, POINTS_MAX)?;
    let trials = lanes::each(chosen, move |point| killed_at(journal, point)).await?;
    judge(&format!("{journal}, a run"), all.len(), &trials, RUN_REACHED_PERCENT_MIN)
}

/// What became of the attempt to kill it there.
#[derive(Debug)]
enum Trial {
    Killed,
    /// It did what it had to with fewer such calls in any of its threads.
    NotReached {
        point: Point,
        calls: usize,
    },
}

/// Says how many points were reached and why not the rest.
fn judge(what: &str, points: usize, trials: &[Trial], percent_min: usize) -> Result<()> {
    let missed: Vec<String> = trials
        .iter()
        .filter_map(|trial| match trial {
            Trial::Killed => None,
            Trial::NotReached { point, calls } => Some(format!("{point} (made {calls})")),
        })
        .collect();
    let (tried, reached) = (trials.len(), trials.len() - missed.len());
    eprintln!("{what}: of {points} points {tried} were tried and {reached} reached");
    if !missed.is_empty() {
        eprintln!("not reached, with fewer calls than in the dry run: {}", missed.join(", "));
    }
    ensure!(
        reached > 0 && reached * 100 >= tried * percent_min,
        "{what}: {reached} of {tried} points were reached, and {percent_min} % must be; not {}",
        missed.join(", ")
    );
    Ok(())
}

/// A dry run of the whole load, to see where it writes.
async fn count(journal: &str) -> Result<Vec<Point>> {
    let site = Site::new(&[("journal", journal)])?;
    let scheduler = site.start().await?;
    let tracer = Tracer::attach(scheduler.id()?, &site, None).await?;
    let load = Load::new(&site)?;
    let workers = load.workers(&site, WORKERS)?;
    load.clone().run(JOBS, BATCH).await?;
    load.verify(&site).await?;
    workers.into_iter().for_each(|worker| worker.kill());
    scheduler.kill().await?;
    tracer.ended().await?;
    points(&site)
}

/// The load with a kill in it.
async fn killed_at(journal: &str, point: Point) -> Result<Trial> {
    let site = Site::new(&[("journal", journal)])?;
    let mut scheduler = site.start().await?;
    let tracer = Tracer::attach(scheduler.id()?, &site, Some(&point)).await?;
    let load = Load::new(&site)?;
    let workers = load.workers(&site, WORKERS)?;
    // The questions are part of it: some of what is written is written for them.
    let work = async {
        load.clone().run(JOBS, BATCH).await?;
        load.verify(&site).await
    };
    tokio::pin!(work);
    let killed = tokio::select! {
        status = scheduler.ended() => {
            let status = status?;
            ensure!(was_killed(status), "it ended by itself: {status}");
            scheduler = site.start().await?;
            work.await?;
            load.verify(&site).await?;
            true
        }
        result = &mut work => {
            result?;
            false
        }
    };
    workers.into_iter().for_each(|worker| worker.kill());
    // After the last question the tracer may have had its kill, too.
    scheduler.end().await?;
    tracer.ended().await?;
    if killed {
        return Ok(Trial::Killed);
    }
    let calls = calls(&log(&site), &point)?;
    Ok(Trial::NotReached { point, calls })
}

/// `BELLWETHER_POINT="History pwrite64 23"` tries that one again and again.
fn choose(all: &[Point], most: usize) -> Result<Vec<Point>> {
    match std::env::var("BELLWETHER_POINT") {
        Ok(wanted) => Ok(vec![named(all, &wanted)?; AGAIN]),
        Err(_) => {
            let stride = stride(all.len(), most);
            let first = usize::try_from(seed() % stride as u64).unwrap_or(0);
            Ok(all.iter().skip(first).step_by(stride).cloned().collect())
        }
    }
}

fn named(all: &[Point], wanted: &str) -> Result<Point> {
    let found = all.iter().find(|point| point.to_string() == wanted);
    found.cloned().with_context(|| {
        format!("BELLWETHER_POINT={wanted} is none of the points, which are: {}", listed(all))
    })
}

/// A line for each place and call: their numbers begin at 1.
fn listed(all: &[Point]) -> String {
    let next = all.iter().skip(1).map(Some).chain([None]);
    let last = all.iter().zip(next).filter(|(_, next)| next.is_none_or(|next| next.number == 1));
    last.map(|(point, _)| format!("\n  {point} and below")).collect()
}

/// What a start finds: nothing at all, or a journal that the process before was killed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    Journal,
}

async fn killed_at_every_write_of_a_start(journal: &'static str) -> Result<()> {
    for found in [Found::Nothing, Found::Journal] {
        let site = Site::new(&[("journal", journal)])?;
        let load = prepare(&site, found).await?;
        // On a copy, so that the trials find what this one found.
        let dry = Site::new(&[("journal", journal)])?;
        copy(&site.data_dir, &dry.data_dir)?;
        let tracing = launching(&log(&dry), &dry.data_dir, None);
        let Start::Serving(scheduler) = dry.launch(&tracing).await? else {
            bail!("strace could not start the scheduler");
        };
        scheduler.kill().await?;
        let all = points(&dry)?;
        let mut trials = Vec::new();
        for point in choose(&all, STARTS_MAX)? {
            let trial = Site::new(&[("journal", journal)])?;
            copy(&site.data_dir, &trial.data_dir)?;
            let tracing = launching(&log(&trial), &trial.data_dir, Some(&point));
            match trial.launch(&tracing).await? {
                Start::Ended { status, .. } => {
                    ensure!(was_killed(status), "{point:?}: it ended by itself: {status}");
                    trials.push(Trial::Killed);
                }
                Start::Serving(scheduler) => {
                    scheduler.end().await?;
                    let calls = calls(&log(&trial), &point)?;
                    trials.push(Trial::NotReached { point, calls });
                }
            }
            let scheduler = trial.start().await?;
            load.all_known(&trial).await?;
            scheduler.kill().await?;
        }
        let what = format!("{journal}, a start that finds {found:?}");
        judge(&what, all.len(), &trials, START_REACHED_PERCENT_MIN)?;
    }
    Ok(())
}

async fn prepare(site: &Site, found: Found) -> Result<Load> {
    let load = Load::new(site)?;
    if found == Found::Journal {
        let scheduler = site.start().await?;
        let workers = load.workers(site, WORKERS)?;
        load.batch(0..JOBS / 2).await?;
        workers.into_iter().for_each(|worker| worker.kill());
        load.submit(JOBS / 2..JOBS).await?;
        scheduler.kill().await?;
        trim(&site.data_dir)?;
    }
    Ok(load)
}

/// Copies a data directory.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if !from.exists() {
        return Ok(());
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        std::fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Cuts off the space that a journal in files has reserved behind its data, so that copies are
/// small; the next start reserves it again.
pub(crate) fn trim(data_dir: &Path) -> Result<()> {
    for entry in std::fs::read_dir(data_dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            let bytes = std::fs::read(&path)?;
            let zero = |chunk: &[u8]| *chunk == ZEROS[..chunk.len()];
            let chunks = bytes.chunks(ZEROS.len()).rposition(|chunk| !zero(chunk));
            let end = chunks.map_or(0, |last| ((last + 1) * ZEROS.len()).min(bytes.len()));
            let data = bytes[..end].iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            std::fs::File::options().write(true).open(path)?.set_len(data as u64)?;
        }
    }
    Ok(())
}

#[test]
fn a_mistyped_point_is_an_error_that_names_those_there_are() {
    let point = |call: &str, number| Point::outside(call, number);
    let all = [point("sendto", 1), point("sendto", 2), point("write", 1)];
    assert_eq!(named(&all, "Outside sendto 2").expect("there is"), all[1]);
    let error = named(&all, "Outside sendto 3").expect_err("there is none").to_string();
    assert!(error.contains("Outside sendto 3 is none of the points"), "{error}");
    assert!(error.contains("Outside sendto 2 and below"), "{error}");
    assert!(error.contains("Outside write 1 and below"), "{error}");
}
