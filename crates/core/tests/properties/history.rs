//! Random histories: steps that mean something in whatever state they meet.

use bellwether_core::model::{
    Config, Escalation, FailureCause, Guarantee, Heartbeat, HeldAttempt, JobId, JobNo, JobSpec,
    Micros, Name, OnFailure, Phase, Priority, Submission, Target, WorkerSpec, config,
};
use bellwether_core::{Command, Report};
use proptest::prelude::*;

use crate::script::{World, name};

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Submit(Wish),
    Run(Vec<Wish>),
    /// What the n-th attempt at hand has to say.
    Report(usize, Saying),
    /// Every worker answers, and finishes after a time that depends on its class.
    Work(u64),
    Wait(u64),
    Beat(usize, u32, u32, bool),
    Cancel(usize),
    Retry(usize),
    Pin(usize, usize),
    Join(usize),
    /// Comes back with all, or nothing, of what it held; as a new process or the same.
    Reconnect(usize, bool, bool),
    Silence(usize, bool),
    Drain(usize, bool),
    Leave(usize),
    Pause(usize, bool),
    Warm(usize),
    Configure(usize),
    BreakPredictor(bool),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Saying {
    Acknowledge,
    Claim,
    Progress,
    Complete,
    Fail,
    FailForGood,
    Return,
}

#[derive(Debug, Clone)]
pub(crate) struct Wish {
    kind: usize,
    priority: usize,
    guarantee: usize,
    retry: u32,
    /// How far back the jobs lie that it depends on.
    after: Vec<usize>,
    requires: usize,
    runs_anyway: bool,
    escalates: bool,
    delay: u64,
}

const FLEET: [(&str, u32, &str, bool); 6] = [
    ("w1", 1, "slow", false),
    ("w2", 2, "slow", true),
    ("w3", 1, "fast", false),
    ("w4", 2, "fast", true),
    ("w5", 1, "middling", true),
    ("w6", 3, "slow", false),
];

pub(crate) fn spec(which: usize) -> WorkerSpec {
    let (id, slots, class, special) = FLEET[which % FLEET.len()];
    let mut spec = WorkerSpec::new(name(id), slots);
    spec.class = name(class);
    spec.zone = Some(name(if which.is_multiple_of(2) { "east" } else { "west" }));
    if special {
        spec.roles = Box::new([name("special")]);
        spec.loads_models = true;
        (spec.resources.cpu, spec.resources.memory) = (1_500, 1 << 20);
    }
    spec
}

pub(crate) fn steps(count: usize) -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..count)
}

fn wish() -> impl Strategy<Value = Wish> {
    (
        0..4usize,
        0..4usize,
        prop_oneof![4 => Just(1usize), 1 => Just(0), 1 => Just(2)],
        0..3u32,
        prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(1..6usize, 1..3)],
        prop_oneof![5 => Just(0usize), 3 => 1..7usize],
        any::<bool>(),
        prop::bool::weighted(0.2),
        prop_oneof![6 => Just(0u64), 1 => 1..3_000u64],
    )
        .prop_map(|wish| Wish {
            kind: wish.0,
            priority: wish.1,
            guarantee: wish.2,
            retry: wish.3,
            after: wish.4,
            requires: wish.5,
            runs_anyway: wish.6,
            escalates: wish.7,
            delay: wish.8,
        })
}

fn step() -> impl Strategy<Value = Step> {
    let saying = prop_oneof![
        4 => Just(Saying::Acknowledge),
        2 => Just(Saying::Claim),
        1 => Just(Saying::Progress),
        4 => Just(Saying::Complete),
        2 => Just(Saying::Fail),
        1 => Just(Saying::FailForGood),
        1 => Just(Saying::Return),
    ];
    prop_oneof![
        8 => wish().prop_map(Step::Submit),
        2 => prop::collection::vec(wish(), 2..6).prop_map(Step::Run),
        8 => (0..8usize, saying).prop_map(|(nth, saying)| Step::Report(nth, saying)),
        6 => (10..200u64).prop_map(Step::Work),
        3 => (1..2_000u64).prop_map(Step::Wait),
        1 => (20_000..40_000u64).prop_map(Step::Wait),
        2 => (0..6usize, 0..1_500u32, 0..4u32, prop::bool::weighted(0.2))
            .prop_map(|(who, load, queue, over)| Step::Beat(who, load, queue, over)),
        1 => (0..20usize).prop_map(Step::Cancel),
        2 => (0..20usize).prop_map(Step::Retry),
        1 => (0..20usize, 0..6usize).prop_map(|(job, who)| Step::Pin(job, who)),
        5 => (0..6usize).prop_map(Step::Join),
        2 => (0..6usize, any::<bool>(), any::<bool>()).prop_map(|(w, a, b)| Step::Reconnect(w, a, b)),
        1 => (0..6usize, any::<bool>()).prop_map(|(who, how)| Step::Silence(who, how)),
        2 => (0..6usize, any::<bool>()).prop_map(|(who, how)| Step::Drain(who, how)),
        1 => (0..6usize).prop_map(Step::Leave),
        2 => (0..4usize, any::<bool>()).prop_map(|(kind, how)| Step::Pause(kind, how)),
        1 => (0..6usize).prop_map(Step::Warm),
        1 => (0..10usize).prop_map(Step::Configure),
        1 => prop::bool::weighted(0.3).prop_map(Step::BreakPredictor),
    ]
}

/// A configuration under which little things already reach the bounds.
pub(crate) fn tight() -> Config {
    Config {
        retain_jobs: 40,
        jobs_max: 60,
        max_crashes: 2,
        prefetch_horizon: Micros::from_millis(30),
        ..Config::default()
    }
}

/// Carries out a step; what it says is refused is refused, which is part of the history.
pub(crate) fn take(world: &mut World, step: &Step) {
    match step {
        Step::Submit(wish) => {
            let job = new_job(world, wish, 0, &[]);
            world.send(Command::Submit(Submission::one(job)));
        }
        Step::Run(wishes) => submit_run(world, wishes),
        Step::Report(nth, saying) => report(world, *nth, *saying),
        Step::Work(millis) => work(world, Micros::from_millis(*millis)),
        Step::Wait(millis) => world.wait(Micros::from_millis(*millis), |_, _| {}),
        Step::Beat(who, load, queue, overloaded) => beat(world, *who, *load, *queue, *overloaded),
        Step::Cancel(nth) => {
            with_job(world, *nth, |job| Command::Cancel { job, reason: "on request".to_owned() })
        }
        Step::Retry(nth) => with_job(world, *nth, |job| Command::Retry { job, force: false }),
        Step::Pin(nth, who) => {
            with_job(world, *nth, |job| Command::Pin { job, worker: spec(*who).id });
        }
        Step::Join(who) => {
            if !world.workers.contains_key(spec(*who).id.as_str()) {
                world.register(spec(*who), vec![]);
            }
        }
        Step::Reconnect(who, holding, same) => reconnect(world, *who, *holding, *same),
        Step::Silence(who, silent) => {
            let now = world.now;
            if let Some(worker) = world.workers.get_mut(spec(*who).id.as_str()) {
                (worker.silent, worker.next_beat) = (*silent, now);
            }
        }
        Step::Drain(who, true) => steer(world, Command::Drain { worker: spec(*who).id }),
        Step::Drain(who, false) => steer(world, Command::Undrain { worker: spec(*who).id }),
        Step::Leave(who) => {
            let worker = spec(*who).id;
            world.workers.remove(worker.as_str());
            steer(world, Command::Leave { worker });
        }
        Step::Pause(kind, true) => steer(world, Command::Pause { kind: kind_name(*kind) }),
        Step::Pause(kind, false) => steer(world, Command::Unpause { kind: kind_name(*kind) }),
        Step::Warm(who) => {
            let (worker, model) = (spec(*who).id, name("m"));
            steer(world, Command::ModelLoaded { worker, model, took: Micros::from_secs(2) });
        }
        Step::BreakPredictor(fails) => world.break_predictor(*fails),
        Step::Configure(which) => {
            let mut config = world.engine.state().config().clone();
            config.strategy = config::Strategy::ALL[which % 5];
            config.shadow = (which % 2 == 0).then_some(config::Strategy::RoundRobin);
            config.hold_max = if which % 3 == 0 { 0 } else { 64 };
            steer(world, Command::Configure { config: Box::new(config), expected_version: None });
        }
    }
}

fn steer(world: &mut World, command: Command) {
    world.send(command);
}

fn kind_name(kind: usize) -> Name {
    name(["short", "long", "odd", "even"][kind % 4])
}

/// Jobs that the engine still knows, oldest first.
fn known_jobs(world: &World) -> Vec<JobId> {
    world.engine.state().jobs().map(|(_, job)| job.spec.id.clone()).collect()
}

fn new_job(world: &World, wish: &Wish, offset: u64, own: &[JobId]) -> JobSpec {
    let number = world.engine.state().totals().submitted + offset;
    let mut job = JobSpec::new(name(&format!("j{number}")), kind_name(wish.kind));
    job.priority = Priority::ALL[wish.priority];
    job.guarantee =
        [Guarantee::AtMostOnce, Guarantee::AtLeastOnce, Guarantee::ExactlyOnce][wish.guarantee];
    job.retry = Some(wish.retry);
    job.extras_mut().delay = Micros::from_millis(wish.delay);
    job.on_failure = if wish.runs_anyway { OnFailure::Run } else { OnFailure::Skip };
    if wish.escalates {
        let priority = Some(Priority::Critical);
        job.extras_mut().escalation = Some(Escalation { priority, role: Some(name("special")) });
    }
    let mut earlier = known_jobs(world);
    earlier.extend_from_slice(own);
    let back = wish.after.iter().filter_map(|back| earlier.len().checked_sub(*back));
    let mut after: Vec<JobId> = back.map(|position| earlier[position].clone()).collect();
    after.sort();
    after.dedup();
    job.dependencies = after.into();
    let requirements = job.requirements_mut();
    match wish.requires {
        1 => requirements.target = Target::Role(name("special")),
        2 => requirements.target = Target::Receiver(name("w1")),
        3 => requirements.model = Some(name("m")),
        4 => requirements.resources.cpu = 1_000,
        5 => requirements.target = Target::Role(name("absent")),
        _ => {}
    }
    job
}

fn submit_run(world: &mut World, wishes: &[Wish]) {
    let mut jobs: Vec<JobSpec> = Vec::new();
    for (offset, wish) in wishes.iter().enumerate() {
        let own: Vec<JobId> = jobs.iter().map(|job| job.id.clone()).collect();
        jobs.push(new_job(world, wish, offset as u64, &own));
    }
    steer(world, Command::Submit(Submission::of(None, jobs)));
}

/// Attempts at hand, in order of their jobs.
pub(crate) fn at_hand(world: &World) -> Vec<(JobNo, bellwether_core::model::Attempt)> {
    let jobs = world.engine.state().jobs();
    jobs.flat_map(|(no, job)| job.offers().iter().map(move |attempt| (no, attempt.clone())))
        .collect()
}

fn say(world: &mut World, no: JobNo, attempt: &bellwether_core::model::Attempt, report: Report) {
    let worker = world.engine.state().worker(attempt.worker).expect("attempts are on workers");
    let (worker, attempt) = (worker.id().clone(), HeldAttempt { job: no, token: attempt.token });
    steer(world, Command::Report { worker, attempt, report });
}

fn report(world: &mut World, nth: usize, saying: Saying) {
    let attempts = at_hand(world);
    let Some((no, attempt)) = attempts.get(nth % attempts.len().max(1)) else { return };
    let fail = |cause| Report::Fail { cause, error: "boom".to_owned(), retry_after: None };
    let report = match saying {
        Saying::Acknowledge => Report::Acknowledge,
        Saying::Claim => Report::Claim,
        Saying::Progress => Report::Progress { permille: 500, note: String::new() },
        Saying::Complete => Report::Complete { result: "ok".into() },
        Saying::Fail => fail(FailureCause::Failed),
        Saying::FailForGood => fail(FailureCause::Permanent),
        Saying::Return => fail(FailureCause::Returned),
    };
    say(world, *no, attempt, report);
}

fn work(world: &mut World, unit: Micros) {
    for (no, attempt) in at_hand(world) {
        if let Phase::Offered { .. } = attempt.phase {
            say(world, no, &attempt, Report::Acknowledge);
            say(world, no, &attempt, Report::Claim);
        }
    }
    for (class, span) in [("fast", unit), ("middling", unit), ("slow", unit.times(2))] {
        world.wait(span, |_, _| {});
        for (no, attempt) in at_hand(world) {
            let worker = world.engine.state().worker(attempt.worker).expect("it holds an attempt");
            let started = matches!(attempt.phase, Phase::Running { .. });
            if worker.spec.class.as_str() == class && started {
                say(world, no, &attempt, Report::Complete { result: "ok".into() });
            }
        }
    }
}

fn beat(world: &mut World, who: usize, load: u32, queue: u32, overloaded: bool) {
    let worker = spec(who).id;
    let beat =
        Heartbeat { load_permille: load, queue_depth: queue, overloaded, ..Heartbeat::default() };
    if let Some(live) = world.workers.get_mut(worker.as_str()) {
        live.beat = beat;
        steer(world, Command::Heartbeat { worker, beat });
    }
}

fn with_job(world: &mut World, nth: usize, command: impl FnOnce(JobId) -> Command) {
    let jobs = known_jobs(world);
    if let Some(job) = jobs.iter().rev().nth(nth) {
        steer(world, command(job.clone()));
    }
}

fn reconnect(world: &mut World, who: usize, holding: bool, same: bool) {
    let id = spec(who).id;
    let Some(live) = world.workers.get(id.as_str()) else { return };
    let mut spec = live.spec.clone();
    spec.instance += u64::from(!same);
    let state = world.engine.state();
    let held = state.worker_no(id.as_str()).and_then(|no| state.worker(no));
    let held = held.filter(|_| holding).map(|worker| worker.held.clone()).unwrap_or_default();
    world.register(spec, held);
}
