//! Many seeds on many threads, and one report that depends on the seeds alone.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};

use super::court::{NEVER_PANICS, Planted, Violation};
use super::defect::Defect;
use super::world::{Outcome, World};
use crate::cluster::world as cluster;

/// Violations that a report lists at the most; one is enough to act on.
const VIOLATIONS_MAX: usize = 100;
const HOUR: f64 = 3_600e6;

/// How many schedulers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedulers {
    /// One, with successors.
    #[default]
    One,
    /// Three to five that agree by votes.
    Several,
}

pub struct FaultOptions<'a> {
    pub schedulers: Schedulers,
    pub seeds: u64,
    pub first_seed: u64,
    pub defect: Option<Defect>,
    /// The one invariant that watches; all of them if none is named.
    pub only: Option<&'static str>,
    /// 0 for as many as there are cores.
    pub threads: usize,
    /// Stop at the first violation: seeds after it may not run.
    pub stop_at_first: bool,
    /// Told how many seeds are done, from any thread.
    pub progress: Option<&'a (dyn Fn(u64) + Sync)>,
}

impl Default for FaultOptions<'_> {
    fn default() -> Self {
        FaultOptions {
            schedulers: Schedulers::One,
            seeds: 1,
            first_seed: 1,
            defect: None,
            only: None,
            threads: 0,
            stop_at_first: false,
            progress: None,
        }
    }
}

impl fmt::Debug for FaultOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultOptions")
            .field("seeds", &self.seeds)
            .field("first_seed", &self.first_seed)
            .field("defect", &self.defect)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct FaultReport {
    /// How many ran.
    pub seeds: u64,
    pub sim_hours: f64,
    pub steps: u64,
    /// How often each kind of fault struck.
    pub faults: BTreeMap<&'static str, u64>,
    /// In the order of their seeds.
    pub violations: Vec<FoundViolation>,
    /// Of every seed's last state and journal, in the order of the seeds.
    pub final_hash: [u8; 32],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundViolation {
    pub seed: u64,
    pub invariant: &'static str,
    pub step: u64,
    pub detail: String,
}

/// Simulates the seeds and reports what happened.
pub fn run_many(options: &FaultOptions<'_>) -> FaultReport {
    name_seeds_in_panics();
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    let next = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let stopped = AtomicBool::new(false);
    let outcomes = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= options.seeds || stopped.load(Ordering::Relaxed) {
                        return;
                    }
                    let seed = options.first_seed.wrapping_add(index);
                    let planted = Planted { defect: options.defect, only: options.only };
                    let outcome = simulate(options.schedulers, seed, planted, false);
                    if options.stop_at_first && outcome.violation.is_some() {
                        stopped.store(true, Ordering::Relaxed);
                    }
                    outcomes
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .insert(index, (seed, outcome));
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    if let Some(progress) = options.progress {
                        progress(done);
                    }
                }
            });
        }
    });
    report(outcomes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Runs one seed and tells every step of it, for a person to read.
pub fn trace_seed(
    schedulers: Schedulers,
    seed: u64,
    defect: Option<Defect>,
) -> (Option<FoundViolation>, Vec<String>) {
    name_seeds_in_panics();
    let outcome = simulate(schedulers, seed, Planted { defect, only: None }, true);
    let steps = outcome.steps;
    (outcome.violation.map(|violation| found(seed, steps, violation)), outcome.log)
}

fn report(outcomes: BTreeMap<u64, (u64, Outcome)>) -> FaultReport {
    let mut hasher = blake3::Hasher::new();
    let mut report = FaultReport {
        seeds: outcomes.len() as u64,
        sim_hours: 0.0,
        steps: 0,
        faults: BTreeMap::new(),
        violations: Vec::new(),
        final_hash: [0; 32],
    };
    let mut time = 0_u64;
    for (seed, outcome) in outcomes.into_values() {
        report.steps += outcome.steps;
        time += outcome.time;
        for (fault, count) in outcome.faults {
            *report.faults.entry(fault).or_default() += count;
        }
        for hash in &outcome.hashes {
            hasher.update(hash);
        }
        if let Some(violation) = outcome.violation
            && report.violations.len() < VIOLATIONS_MAX
        {
            report.violations.push(found(seed, outcome.steps, violation));
        }
    }
    report.sim_hours = time as f64 / HOUR;
    report.final_hash = *hasher.finalize().as_bytes();
    report
}

fn found(seed: u64, step: u64, violation: Violation) -> FoundViolation {
    FoundViolation { seed, invariant: violation.invariant, step, detail: violation.detail }
}

thread_local! {
    /// The seed and step that this thread is at.
    static CURRENT: Cell<Option<(u64, u64)>> = const { Cell::new(None) };
    /// Somebody reads along, and wants to see where it panics.
    static TRACED: Cell<bool> = const { Cell::new(false) };
}

fn simulate(schedulers: Schedulers, seed: u64, planted: Planted, keeps_log: bool) -> Outcome {
    CURRENT.set(Some((seed, 0)));
    TRACED.set(keeps_log);
    let on_step = |step| CURRENT.set(Some((seed, step)));
    let run = || match schedulers {
        Schedulers::One => World::new(seed, planted, keeps_log).run(on_step),
        Schedulers::Several => cluster::World::new(seed, planted, keeps_log).run(on_step),
    };
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(run));
    let steps = CURRENT.take().map_or(0, |(_, step)| step);
    let counts = planted.only.is_none_or(|only| only == NEVER_PANICS);
    outcome.unwrap_or_else(|panic| Outcome {
        violation: counts
            .then(|| Violation { invariant: NEVER_PANICS, detail: panic_text(&*panic) }),
        steps,
        time: 0,
        faults: BTreeMap::new(),
        hashes: [[0; 32]; 2],
        log: Vec::new(),
    })
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text").to_owned()
}

/// Where a panic ends the process, its message must name the seed, or it could not be replayed.
fn name_seeds_in_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let Some((seed, step)) = CURRENT.get() else {
                return usual(info);
            };
            if cfg!(panic = "abort") {
                eprintln!("violation of never_panics at seed {seed}, step {step}: {info}");
            } else if TRACED.get() {
                usual(info);
            }
        }));
    });
}
