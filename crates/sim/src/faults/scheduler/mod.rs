//! The scheduler's process around the engine: its loop, its disk, its timer, and its deaths.

mod durability;
mod recovery;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bellwether_core::model::{Config, HeldAttempt, Seq, Timestamp, WorkerId, WorkerSpec};
use bellwether_core::{Answer, Command, Engine, Entry, Rejection};

use self::durability::tell;
use self::recovery::Moment;
use super::court::Seen;
use super::defect::Defect;
use super::disk::Disk;
use super::happening::{About, Asker, Happening, Letter};
use super::predictor::Mood;
use super::stage::Stage;

#[derive(Debug)]
pub(crate) struct Scheduler {
    disk: Disk,
    process: Option<Process>,
    incarnation: u32,
    config: Config,
    mood: Arc<Mood>,
    defect: Option<Defect>,
    /// What its clock is ahead of, or behind, the world's.
    skew: i64,
    skew_max: i64,
    /// The latest time that an engine was given.
    clock_max: Timestamp,
    snapshot_every: u64,
    /// Whether a second engine decides beside the first.
    twinned: bool,
    inspected: u64,
}

/// What a crash loses.
#[derive(Debug)]
struct Process {
    engine: Engine,
    twin: Option<Engine>,
    /// Answers that wait until their position is durable.
    answers: VecDeque<Waiting>,
    appending: Option<Vec<Entry>>,
    durable: Seq,
    wakes_at: Option<u64>,
    /// The process behind each worker's connection.
    connected: Vec<Option<u64>>,
    snapshot_at: Seq,
}

#[derive(Debug)]
struct Waiting {
    seq: Seq,
    letter: Letter,
    result: Result<Answer, Rejection>,
}

impl Scheduler {
    pub(crate) fn new(stage: &mut Stage, config: Config, defect: Option<Defect>) -> Scheduler {
        let mood = Arc::new(Mood::default());
        mood.fails_permille.store(stage.weather.predictor_fails, Ordering::Relaxed);
        stage.after(0, Happening::Boots);
        Scheduler {
            disk: Disk::default(),
            process: None,
            incarnation: 0,
            config,
            mood,
            defect,
            skew: 0,
            skew_max: 0,
            clock_max: Timestamp(0),
            snapshot_every: stage.random.skewed(20, 1_000),
            twinned: stage.random.chance(250),
            inspected: 0,
        }
    }

    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.process.as_ref().map(|process| &process.engine)
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Whether all that was decided is durable and told.
    pub(crate) fn is_quiet(&self) -> bool {
        self.process.as_ref().is_some_and(|process| {
            process.appending.is_none()
                && process.answers.is_empty()
                && process.engine.last_seq() == process.durable
        })
    }

    pub(crate) fn predictor_failures(&self) -> u64 {
        self.mood.failures.load(Ordering::Relaxed)
    }

    pub(crate) fn heal(&mut self) {
        self.mood.fails_permille.store(0, Ordering::Relaxed);
        // Time never goes back for the engine: a clock left behind would stand still.
        self.skew = self.skew_max;
    }

    pub(crate) fn jump_clock(&mut self, stage: &mut Stage) {
        let size = stage.random.skewed(100_000, 90_000_000) as i64;
        if stage.random.chance(500) {
            stage.count("clock_jumped_forwards");
            self.skew += size;
        } else {
            stage.count("clock_jumped_backwards");
            self.skew -= size;
        }
        self.skew_max = self.skew_max.max(self.skew);
        stage.note(|| format!("the clock jumps to {:+} us", self.skew));
        self.set_timer(stage);
    }

    pub(crate) fn receive(&mut self, stage: &mut Stage, letter: Letter) {
        let now = self.clock(stage);
        let Some(process) = &mut self.process else { return };
        if let Asker::Worker { worker, instance, about: About::Registration { .. } } = letter.from {
            process.connected[worker] = Some(instance);
        }
        self.handle(stage, now, letter);
    }

    pub(crate) fn wake(&mut self, stage: &mut Stage, incarnation: u32) {
        let now = self.clock(stage);
        let Some(process) = self.process.as_mut().filter(|_| incarnation == self.incarnation)
        else {
            return;
        };
        process.wakes_at = None;
        if process.engine.next_deadline().is_some_and(|deadline| deadline <= now) {
            self.handle(stage, now, Letter { from: Asker::Nobody, command: Command::Tick });
        } else {
            self.set_timer(stage);
        }
    }

    fn handle(&mut self, stage: &mut Stage, now: Timestamp, letter: Letter) {
        let Some(process) = &mut self.process else { return };
        let held_before = named_and_held(&process.engine, &letter.command);
        self.clock_max = self.clock_max.max(now);
        let handled = process.engine.handle(now, letter.command.clone());
        stage.note(|| format!("{:?} -> {} {:?}", letter.command, handled.seq, handled.result));
        stage.see(Seen::Asked {
            command: &letter.command,
            handled: &handled,
            held_before: &held_before,
            engine: &process.engine,
        });
        if let Some(twin) = &mut process.twin {
            twin.handle(now, letter.command.clone());
        }
        let waiting = Waiting { seq: handled.seq, letter, result: handled.result };
        if self.defect == Some(Defect::AcknowledgeBeforeDurable) {
            tell(stage, waiting);
        } else {
            process.answers.push_back(waiting);
        }
        if self.crashes(stage, Moment::Handled) {
            return;
        }
        self.flush(stage);
        self.set_timer(stage);
    }

    fn clock(&self, stage: &Stage) -> Timestamp {
        Timestamp(stage.now.saturating_add_signed(self.skew))
    }

    /// Asks to be woken when the engine next has something to do.
    fn set_timer(&mut self, stage: &mut Stage) {
        let clock = self.clock(stage);
        let incarnation = self.incarnation;
        let Some(process) = &mut self.process else { return };
        let Some(deadline) = process.engine.next_deadline() else { return };
        let at = stage.now + deadline.since(clock).0;
        if process.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            process.wakes_at = Some(at);
            stage.after(at - stage.now, Happening::Wakes { incarnation });
        }
    }
}

/// The attempts that a command speaks of and that its worker holds.
fn named_and_held(engine: &Engine, command: &Command) -> Vec<HeldAttempt> {
    match command {
        Command::Report { worker, attempt, .. } if holds(engine, worker, *attempt) => {
            vec![*attempt]
        }
        Command::Register { spec, held } if is_known_process(engine, spec) => {
            held.iter().copied().filter(|attempt| holds(engine, &spec.id, *attempt)).collect()
        }
        _ => Vec::new(),
    }
}

fn is_known_process(engine: &Engine, spec: &WorkerSpec) -> bool {
    let state = engine.state();
    let number = state.worker_no(spec.id.as_str());
    number
        .and_then(|number| state.worker(number))
        .is_some_and(|known| known.spec.instance == spec.instance)
}

pub(crate) fn holds(engine: &Engine, worker: &WorkerId, attempt: HeldAttempt) -> bool {
    let state = engine.state();
    let Some(number) = state.worker_no(worker.as_str()) else {
        return false;
    };
    let Some(job) = state.job(attempt.job) else {
        return false;
    };
    job.attempt(attempt.token).is_some_and(|open| open.worker == number)
}
