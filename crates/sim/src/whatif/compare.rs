//! What was, what the recorded policy makes of it here, and what another one would.

use bellwether_core::model::config::PredictorKind;
use bellwether_core::model::{Config, Micros, Name, Strategy, Target, Timestamp, WorkerSpec};
use serde::Serialize;

use super::recording::{LeftOut, RecordedJob, Recording};
use super::speeds::Slowness;
use crate::trace::fleet::Speed;
use crate::trace::{Distribution, EngineRun, EngineRunError, Fleet, Stage, StageJob};

/// What is to be otherwise than it was.
#[derive(Debug, Clone, Default)]
pub struct Change {
    pub strategy: Option<Strategy>,
    pub predictor: Option<PredictorKind>,
    /// Speed 1 is that of the average class of the recorded workers. Its workers have every role,
    /// capability and model that a recorded job asks for.
    pub fleet: Option<Fleet>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    pub jobs: usize,
    pub left_out: LeftOut,
    /// As it was; simulated as it was configured; simulated with the change.
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Column {
    pub name: &'static str,
    pub strategy: &'static str,
    pub predictor: &'static str,
    pub workers: usize,
    pub slots: u32,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// From ready (submitted, due, dependencies complete) to start.
    pub wait_ms: Distribution,
    /// From ready to end.
    pub response_ms: Distribution,
    pub makespan_ms: f64,
    /// The share of the slots' time that was spent on jobs.
    pub utilization: f64,
    pub hedges: u64,
    /// Executions that came to nothing because another one won.
    pub extra_executions: u64,
    pub extra_seconds: f64,
}

/// `finished` is called for every job that is simulated.
pub fn what_if(
    recording: &Recording,
    change: &Change,
    mut finished: impl FnMut(),
) -> Result<Report, EngineRunError> {
    let slowness = Slowness::observed(recording.jobs.iter().map(|job| {
        let class = recording.workers.get(&job.worker).map_or(&job.trace.kind, |spec| &spec.class);
        (&job.trace.kind, class, job.ended.since(job.started))
    }));
    let workers = recording
        .workers
        .values()
        .map(|spec| (WorkerSpec::clone(spec), Speed::of(1.0 / slowness.of(&spec.class))));
    let fleet = Fleet::of(workers.collect()).expect("jobs that completed ran on workers");
    let stage = stage(recording, &slowness);
    let mut columns = vec![reality(recording, &fleet)];
    columns.push(simulated("as_configured", &recording.config, &fleet, &stage, &mut finished)?);
    let mut config = recording.config.clone();
    config.strategy = change.strategy.unwrap_or(config.strategy);
    config.predictor = change.predictor.unwrap_or(config.predictor);
    let column = match change.fleet.clone() {
        None => simulated("what_if", &config, &fleet, &stage, &mut finished)?,
        Some(other) => {
            let other = able(other, recording);
            simulated("what_if", &config, &other, &for_anybody(stage), &mut finished)?
        }
    };
    columns.push(column);
    Ok(Report { jobs: recording.jobs.len(), left_out: recording.left_out, columns })
}

fn stage<'a>(recording: &'a Recording, slowness: &Slowness) -> Stage<'a> {
    let origin = origin(recording);
    let mut jobs: Vec<StageJob<'a>> = recording
        .jobs
        .iter()
        .map(|job| {
            let class = recording.workers.get(&job.worker).map(|spec| &spec.class);
            let slowness = class.map_or(1.0, |class| slowness.of(class));
            let work = job.ended.since(job.started).0 as f64 / slowness;
            StageJob {
                trace: &job.trace,
                arrival: job.submitted.since(origin),
                work: Micros((work.round() as u64).max(1)),
                dependencies: job.dependencies.clone(),
                dependents: Vec::new(),
                asked: Some(job.asked.clone()),
                quiet: job.quiet,
            }
        })
        .collect();
    for (at, job) in recording.jobs.iter().enumerate() {
        for &on in &job.dependencies {
            jobs[on].dependents.push(at);
        }
    }
    Stage { run: None, jobs, batches: recording.batches.clone() }
}

/// The one worker that a job asked for is not part of another fleet.
fn for_anybody(mut stage: Stage<'_>) -> Stage<'_> {
    for asked in stage.jobs.iter_mut().filter_map(|job| job.asked.as_mut()) {
        if matches!(asked.requirements.target, Target::Receiver(_)) {
            asked.requirements_mut().target = Target::Any;
        }
    }
    stage
}

fn able(fleet: Fleet, recording: &Recording) -> Fleet {
    let asked = || recording.jobs.iter().map(|job| &job.asked.requirements);
    let sorted = |names: Vec<&Name>| -> Box<[Name]> {
        let mut names: Vec<Name> = names.into_iter().cloned().collect();
        names.sort();
        names.dedup();
        names.into()
    };
    let roles = sorted(
        asked()
            .filter_map(|asked| match &asked.target {
                Target::Role(role) => Some(role),
                Target::Any | Target::Receiver(_) => None,
            })
            .collect(),
    );
    let capabilities = sorted(asked().flat_map(|asked| &asked.capabilities).collect());
    let models = sorted(asked().filter_map(|asked| asked.model.as_ref()).collect());
    fleet.changed(|spec| {
        spec.roles = roles.clone();
        spec.capabilities = capabilities.clone();
        spec.models = models.clone();
    })
}

fn simulated(
    name: &'static str,
    config: &Config,
    fleet: &Fleet,
    stage: &Stage<'_>,
    finished: &mut impl FnMut(),
) -> Result<Column, EngineRunError> {
    let mut run = EngineRun::with(config.clone(), fleet)?;
    let outcomes = run.run(stage, finished)?;
    let times = outcomes.iter().map(|outcome| (outcome.ready, outcome.start, outcome.end));
    let mut figures = figures(times.collect(), slots(fleet));
    figures.hedges = run.hedges;
    figures.extra_executions = run.duplicates;
    figures.extra_seconds = run.wasted.0 as f64 / 1e6;
    Ok(column(name, config, fleet, figures))
}

fn reality(recording: &Recording, fleet: &Fleet) -> Column {
    let origin = origin(recording);
    let ready = |job: &RecordedJob| {
        let due = job.submitted + job.asked.extras().delay;
        let ends = job.dependencies.iter().map(|&on| recording.jobs[on].ended);
        ends.fold(due, Timestamp::max)
    };
    let times = recording
        .jobs
        .iter()
        .map(|job| (ready(job).since(origin), job.started.since(origin), job.ended.since(origin)));
    let mut figures = figures(times.collect(), slots(fleet));
    figures.hedges = recording.hedges;
    figures.extra_executions = recording.duplicates;
    figures.extra_seconds = recording.wasted.0 as f64 / 1e6;
    column("recorded", &recording.config, fleet, figures)
}

/// When the first job arrived.
fn origin(recording: &Recording) -> Timestamp {
    recording.jobs.iter().map(|job| job.submitted).min().unwrap_or_default()
}

fn column(name: &'static str, config: &Config, fleet: &Fleet, figures: Figures) -> Column {
    Column {
        name,
        strategy: config.strategy.as_str(),
        predictor: config.predictor.as_str(),
        workers: fleet.machines().len(),
        slots: slots(fleet),
        figures,
    }
}

fn slots(fleet: &Fleet) -> u32 {
    fleet.machines().iter().map(|machine| machine.slots).sum()
}

/// From when jobs were ready, started and ended.
fn figures(times: Vec<(Micros, Micros, Micros)>, slots: u32) -> Figures {
    let millis = |span: Micros| span.0 as f64 / 1e3;
    let waits = times.iter().map(|(ready, start, _)| millis(start.minus(*ready)));
    let responses = times.iter().map(|(ready, _, end)| millis(end.minus(*ready)));
    let busy: f64 = times.iter().map(|(_, start, end)| millis(end.minus(*start))).sum();
    let makespan_ms = times.iter().map(|(_, _, end)| millis(*end)).fold(0.0, f64::max);
    Figures {
        wait_ms: Distribution::of(&mut waits.collect::<Vec<_>>()),
        response_ms: Distribution::of(&mut responses.collect::<Vec<_>>()),
        makespan_ms,
        utilization: busy / (f64::from(slots) * makespan_ms).max(1.0),
        hedges: 0,
        extra_executions: 0,
        extra_seconds: 0.0,
    }
}
