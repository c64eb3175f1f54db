//! One seed from beginning to end: faults for a while, then calm until every job has ended.

use std::collections::BTreeMap;

use super::chaos;
use super::client::Clients;
use super::court::{Court, Seen, Violation};
use super::defect::Defect;
use super::happening::{About, Asker, ChaosDue, Happening, WorkerDue};
use super::plan;
use super::random::Random;
use super::scheduler::Scheduler;
use super::stage::Stage;
use super::weather::Weather;
use super::worker::SimWorker;
use super::workload::Workload;

/// How long a healed fleet may take to end every job, in microseconds.
const HEALED_TIME_MAX: u64 = 3 * 3_600 * 1_000_000;
/// Steps of one seed: a run that takes more goes round in circles.
const STEPS_MAX: u64 = 400_000;

/// What became of one seed.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub violation: Option<Violation>,
    pub steps: u64,
    /// Virtual microseconds.
    pub time: u64,
    pub faults: BTreeMap<&'static str, u64>,
    /// Of the last state and the journal's chain.
    pub hashes: [[u8; 32]; 2],
    pub log: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct World {
    stage: Stage,
    scheduler: Scheduler,
    fleet: Vec<SimWorker>,
    clients: Clients,
    healed_at: Option<u64>,
}

impl World {
    pub(crate) fn new(seed: u64, defect: Option<Defect>, keeps_log: bool) -> World {
        let mut random = Random::new(seed);
        let weather = Weather::draw(&mut random);
        let config = plan::config(&mut random);
        let fleet = plan::fleet(&mut random);
        let workload = Workload::new(random.fork(), fleet.len());
        let faulty_time = random.between(20_000_000, 120_000_000);
        let court = Court::new(config.clone(), defect);
        let mut stage = Stage::new(random, weather, court, fleet.len());
        if keeps_log {
            stage.keep_log();
        }
        let scheduler = Scheduler::new(&mut stage, config.clone(), defect);
        for worker in &fleet {
            let (index, instance) = (worker.index, worker.spec.instance);
            let delay = stage.random.between(1, 3_000_000);
            let due = WorkerDue::Starts;
            stage.after(delay, Happening::Worker { worker: index, instance, due });
        }
        let specs = fleet.iter().map(|worker| worker.spec.clone()).collect();
        let clients = Clients::new(&mut stage, workload, config, specs);
        chaos::begin(&mut stage);
        stage.after(faulty_time, Happening::Heals);
        World { stage, scheduler, fleet, clients, healed_at: None }
    }

    /// Runs to the end or to the first violation. `on_step` hears how far it is.
    pub(crate) fn run(mut self, on_step: impl Fn(u64)) -> Outcome {
        while self.stage.court.violation().is_none() && !self.is_over() {
            let Some(happening) = self.stage.advance() else {
                break;
            };
            on_step(self.stage.step);
            self.happen(happening);
        }
        self.scheduler.inspect(&mut self.stage);
        let (engine, disk) = (self.scheduler.engine(), self.scheduler.disk());
        self.stage.court.see(&Seen::Finished { engine, disk });
        self.into_outcome()
    }

    fn is_over(&self) -> bool {
        let Some(healed_at) = self.healed_at else {
            return false;
        };
        let ended = self.stage.court.ledger().live == 0
            && self.clients.are_done()
            && self.scheduler.is_quiet();
        ended || self.stage.now > healed_at + HEALED_TIME_MAX || self.stage.step > STEPS_MAX
    }

    fn into_outcome(mut self) -> Outcome {
        let mut faults = self.stage.take_faults();
        let failures = self.scheduler.predictor_failures();
        if failures > 0 {
            faults.insert("predictor_failed", failures);
        }
        Outcome {
            violation: self.stage.court.violation().cloned(),
            steps: self.stage.step,
            time: self.stage.now,
            faults,
            hashes: [self.stage.court.follower_hash(), self.scheduler.disk().chain_head()],
            log: self.stage.take_log(),
        }
    }

    fn happen(&mut self, happening: Happening) {
        let stage = &mut self.stage;
        match happening {
            Happening::Arrives(letter) => {
                if !is_from_the_dead(&self.fleet, letter.from) {
                    self.scheduler.receive(stage, *letter);
                }
            }
            Happening::Answered { to: Asker::Client { request }, result } => {
                self.clients.answered(stage, request, &result);
            }
            Happening::Answered { to: Asker::Nobody, .. } => {}
            Happening::Answered { to: Asker::Worker { worker, instance, about }, result } => {
                let to = Asker::Worker { worker, instance, about };
                let Some(worker) = awake(&mut self.fleet[worker], || Happening::Answered {
                    to,
                    result: result.clone(),
                }) else {
                    return;
                };
                if worker.spec.instance == instance {
                    worker.answered(stage, about, &result);
                }
            }
            Happening::Delivered { worker, instance, message } => {
                let Some(worker) = awake(&mut self.fleet[worker], || Happening::Delivered {
                    worker,
                    instance,
                    message: message.clone(),
                }) else {
                    return;
                };
                if worker.spec.instance == instance {
                    worker.receive(stage, message);
                }
            }
            Happening::AppendEnds { incarnation } => {
                self.scheduler.append_ends(stage, incarnation);
            }
            Happening::Wakes { incarnation } => self.scheduler.wake(stage, incarnation),
            Happening::Boots => self.boot(),
            Happening::Worker { worker, instance, due } => self.worker_due(worker, instance, due),
            Happening::Client(due) => self.clients.due(stage, due),
            Happening::Chaos(due) => self.strike(due),
            Happening::Heals => self.heal(),
        }
    }

    fn boot(&mut self) {
        if !self.scheduler.boot(&mut self.stage) {
            return;
        }
        // Every connection broke with the old process; each worker notices in its own time.
        for worker in &self.fleet {
            let delay = self.stage.random.skewed(1_000, 4_000_000);
            let (index, instance) = (worker.index, worker.spec.instance);
            let due = WorkerDue::Reconnects;
            self.stage.after(delay, Happening::Worker { worker: index, instance, due });
        }
    }

    fn worker_due(&mut self, index: usize, instance: u64, due: WorkerDue) {
        let stage = &mut self.stage;
        match due {
            WorkerDue::Rejoins => {
                stage.cut[index] = false;
                return;
            }
            WorkerDue::Resumes => {
                self.resume(index);
                return;
            }
            _ => {}
        }
        let happening = || Happening::Worker { worker: index, instance, due };
        let Some(worker) = awake(&mut self.fleet[index], happening) else { return };
        if worker.spec.instance == instance {
            worker.due(stage, due);
        }
    }

    /// A stopped worker goes on as if no time had passed: first with what it missed.
    fn resume(&mut self, index: usize) {
        let Some(missed) = self.fleet[index].missed.take() else { return };
        let id = &self.fleet[index].spec.id;
        self.stage.note(|| format!("{id} goes on"));
        for happening in missed {
            self.happen(happening);
        }
    }

    fn strike(&mut self, due: ChaosDue) {
        if self.healed_at.is_some() {
            return;
        }
        match due {
            ChaosDue::WorkerFault => chaos::strike(&mut self.stage, &mut self.fleet),
            ChaosDue::ClockJump => {
                self.scheduler.jump_clock(&mut self.stage);
                let delay = self.stage.random.between(1, 2 * self.stage.weather.clock_jump_every);
                self.stage.after(delay, Happening::Chaos(ChaosDue::ClockJump));
            }
        }
    }

    fn heal(&mut self) {
        self.stage.note(|| "the faults are over".to_owned());
        self.healed_at = Some(self.stage.now);
        let delay_max = self.stage.weather.delay_max;
        self.stage.weather = Weather::calm();
        self.stage.cut.fill(false);
        self.scheduler.heal();
        for index in 0..self.fleet.len() {
            self.resume(index);
            let worker = &mut self.fleet[index];
            worker.due(&mut self.stage, WorkerDue::Recovers);
            worker.due(&mut self.stage, WorkerDue::Starts);
            // A stream that lost messages is broken: on a new one it learns what it must drop.
            worker.due(&mut self.stage, WorkerDue::Reconnects);
        }
        self.clients.heal(&mut self.stage, delay_max);
    }
}

/// A connection ends with its process, so nobody registers from beyond. What a process reported
/// before it died may still arrive.
fn is_from_the_dead(fleet: &[SimWorker], from: Asker) -> bool {
    match from {
        Asker::Worker { worker, instance, about: About::Registration { .. } } => {
            fleet[worker].spec.instance != instance
        }
        Asker::Worker { .. } | Asker::Client { .. } | Asker::Nobody => false,
    }
}

/// The worker, if it runs; if it is stopped, it will hear of it when it goes on.
fn awake(worker: &mut SimWorker, happening: impl FnOnce() -> Happening) -> Option<&mut SimWorker> {
    if let Some(missed) = &mut worker.missed {
        missed.push(happening());
        return None;
    }
    Some(worker)
}
