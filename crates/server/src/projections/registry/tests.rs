//! Whichever way the registry came to know of a history, it says the same, and what the core says.

use std::collections::BTreeMap;
use std::time::Duration;

use bellwether_core::model::{
    Config, Escalation, FailureCause, HeldAttempt, JobNo, JobSpec, Micros, Name, OnFailure,
    Priority, Submission, Timestamp, WorkerSpec,
};
use bellwether_core::{Command, Engine, Entry, Report};
use bellwether_wire::{Mirror as _, v1};

use super::projection::{Pace, Projection};
use super::{Retention, schema, store};

const HISTORIES: u64 = 40;
const STEPS: u64 = 150;

struct History {
    engine: Engine,
    entries: Vec<Entry>,
    now: Timestamp,
    random: Random,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        // Xorshift: the same seed, the same history.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound.max(1)
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

impl History {
    fn play(seed: u64) -> History {
        let mut history = History {
            engine: Engine::new(Config::default()),
            entries: Vec::new(),
            now: Timestamp(1_763_000_000_000_000),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        };
        for worker in ["w1", "w2"] {
            let spec = WorkerSpec::new(Name::fixed(worker), 2);
            history.send(Command::Register { spec, held: Vec::new() });
        }
        for _ in 0..STEPS {
            history.step();
        }
        history
    }

    fn send(&mut self, command: Command) {
        // What is refused is part of the history.
        drop(self.engine.handle(self.now, command));
        self.entries.extend(self.engine.take_batch());
    }

    fn step(&mut self) {
        self.now = self.now + Micros::from_millis(self.random.below(300));
        match self.random.below(12) {
            0..=3 => {
                let job = self.new_job();
                self.send(Command::Submit(Submission::one(job)));
            }
            4..=8 => self.report(),
            9 => self.with_job(|job| Command::Retry { job }),
            10 if self.random.one_in(3) => {
                self.with_job(|job| Command::Cancel { job, reason: String::new() });
            }
            _ => {
                self.now = self.now + Micros::from_secs(self.random.below(5));
                self.send(Command::Tick);
            }
        }
    }

    fn new_job(&mut self) -> JobSpec {
        let known: Vec<Name> =
            self.engine.state().jobs().map(|(_, job)| job.spec.id.clone()).collect();
        let mut job = JobSpec::new(Name::fixed(&format!("j{}", known.len())), Name::fixed("t"));
        job.retry = Some(self.random.below(3) as u32);
        if self.random.one_in(3) {
            job.extras_mut().delay = Micros::from_millis(self.random.below(3_000));
        }
        if self.random.one_in(4) {
            job.on_failure = OnFailure::Run;
        }
        if self.random.one_in(3) {
            job.extras_mut().escalation =
                Some(Escalation { priority: Some(Priority::High), role: None });
        }
        if !known.is_empty() && self.random.one_in(2) {
            let back = 1 + self.random.below(known.len().min(6) as u64) as usize;
            job.dependencies = Box::new([known[known.len() - back].clone()]);
        }
        job
    }

    fn report(&mut self) {
        let state = self.engine.state();
        let held = state.workers().flat_map(|(_, worker)| {
            worker.held.iter().map(|attempt| (worker.id().clone(), *attempt))
        });
        let held: Vec<(Name, HeldAttempt)> = held.collect();
        if held.is_empty() {
            return;
        }
        let (worker, attempt) = held[self.random.below(held.len() as u64) as usize].clone();
        let fail = |cause| Report::Fail { cause, error: "boom".to_owned(), retry_after: None };
        let report = match self.random.below(10) {
            0..=2 => Report::Acknowledge,
            3 => Report::Progress { permille: 500, note: "half".to_owned() },
            4..=6 => Report::Complete { result: "ok".into() },
            7 => fail(FailureCause::Permanent),
            8 => fail(FailureCause::Returned),
            _ => fail(FailureCause::Failed),
        };
        self.send(Command::Report { worker, attempt, report });
    }

    fn with_job(&mut self, command: impl FnOnce(Name) -> Command) {
        let jobs = self.engine.state().jobs().map(|(_, job)| job.spec.id.clone());
        let jobs: Vec<Name> = jobs.collect();
        if !jobs.is_empty() {
            let chosen = self.random.below(jobs.len() as u64) as usize;
            self.send(command(jobs[chosen].clone()));
        }
    }
}

struct Folder {
    _dir: tempfile::TempDir,
    path: std::path::PathBuf,
}

fn folder() -> Folder {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("registry.sqlite");
    Folder { _dir: dir, path }
}

fn projection(folder: &Folder) -> Projection {
    let keep_for = Duration::from_secs(100_000_000_000);
    let retention = Retention { jobs_max: 1_000_000, keep_for };
    Projection::open(schema::open(&folder.path).unwrap(), retention).unwrap()
}

fn follow(projection: &mut Projection, entries: &[Entry]) {
    entries.iter().for_each(|entry| projection.project(entry).unwrap());
}

/// All that is in the file, once everything is written.
fn jobs(folder: &Folder, mut projection: Projection, last: u64) -> BTreeMap<u64, v1::Job> {
    projection.flush(Pace::Quick).unwrap();
    let connection = schema::open_for_reading(&folder.path).unwrap();
    let rows = (1..=last).filter_map(|no| store::load(&connection, JobNo(no)).unwrap());
    rows.map(|row| (row.job.job, row.job)).collect()
}

fn last(history: &History) -> u64 {
    history.engine.state().jobs().map(|(no, _)| no.0).max().unwrap_or(0)
}

fn agrees_with_the_core(history: &History, jobs: &BTreeMap<u64, v1::Job>) {
    for (no, job) in history.engine.state().jobs() {
        let shown = &jobs[&no.0];
        let counts = (shown.failures, shown.crashes);
        assert_eq!(shown.state, job.state.status().to_wire(), "{}", job.spec.id);
        assert_eq!(counts, (job.counts.failures, job.counts.crashes), "{}", job.spec.id);
        assert_eq!(shown.ended_at, job.ended().map_or(0, |at| at.0), "{}", job.spec.id);
    }
}

#[test]
fn it_follows_the_core_whatever_is_written_or_forgotten_on_the_way() {
    for seed in 0..HISTORIES {
        let mut history = History::play(seed);
        let (straight, winding) = (folder(), folder());
        let mut followed = projection(&straight);
        follow(&mut followed, &history.entries);
        let followed = jobs(&straight, followed, last(&history));
        agrees_with_the_core(&history, &followed);

        let mut wound = projection(&winding);
        for entry in &history.entries {
            wound.project(entry).unwrap();
            match history.random.below(30) {
                0 => wound.flush(Pace::Quick).unwrap(),
                1 => wound.flush_ended().unwrap(),
                2 => {
                    wound.rewind().unwrap();
                    let read = history.entries.iter().take_while(|read| read.seq <= entry.seq);
                    read.for_each(|entry| wound.project(entry).unwrap());
                }
                3 => {
                    drop(wound);
                    wound = projection(&winding);
                    let read = history.entries.iter().take_while(|read| read.seq <= entry.seq);
                    read.for_each(|entry| wound.project(entry).unwrap());
                }
                _ => {}
            }
        }
        assert_eq!(jobs(&winding, wound, last(&history)), followed, "seed {seed}");
    }
}

#[test]
fn it_goes_on_from_a_state_as_from_what_led_to_it() {
    for seed in 0..HISTORIES {
        let mut history = History::play(seed);
        let half = history.random.below(history.entries.len() as u64) as usize;
        let mut engine = Engine::new(Config::default());
        history.entries[..half].iter().for_each(|entry| engine.replay(entry));
        let folder = folder();
        let mut imported = projection(&folder);
        imported.import(engine.state()).unwrap();
        follow(&mut imported, &history.entries[half..]);
        agrees_with_the_core(&history, &jobs(&folder, imported, last(&history)));
    }
}
