//! One seed from beginning to end: faults for a while, then calm until every job has ended.

use std::collections::BTreeMap;

use super::chaos;
use super::client::Clients;
use super::court::{Court, Observation, Planted, Violation};
use super::due::{Asker, ChaosDue, Due};
use super::fleet::Fleet;
use super::invariants;
use super::plan;
use super::random::Random;
use super::scheduler::Scheduler;
use super::stage::Stage;
use super::weather::Weather;
use super::workload::Workload;

/// How long a healed fleet may take to end every job, in microseconds.
const HEALED_TIME_MAX: u64 = 3 * 3_600 * 1_000_000;
/// Steps of one seed: a run that takes more goes round in circles.
const STEPS_MAX: u64 = 400_000;

/// How long a worker may take to notice that its connection is broken, in microseconds.
const NOTICED_WITHIN: u64 = 4_000_000;
/// Between two messages that a scheduler finds when it goes on, in microseconds at the most.
const READ_AFTER_STOP_MAX: u64 = 2_000;

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
    fleet: Fleet,
    clients: Clients,
    healed_at: Option<u64>,
}

impl World {
    pub(crate) fn new(seed: u64, planted: Planted, keeps_log: bool) -> World {
        let mut random = Random::new(seed);
        let weather = Weather::draw(&mut random);
        let config = plan::config(&mut random);
        let fleet = plan::fleet(&mut random);
        let workload = Workload::new(random.fork(), fleet.len());
        let faulty_time = random.between(20_000_000, 120_000_000);
        let court = Court::new(invariants::all(&config), planted);
        let mut stage = Stage::new(random, weather, court, fleet.len());
        if keeps_log {
            stage.keep_log();
        }
        let scheduler = Scheduler::new(&mut stage, config.clone(), planted.defect);
        let specs = fleet.iter().map(|worker| worker.spec.clone()).collect();
        let fleet = Fleet::new(&mut stage, fleet);
        let clients = Clients::new(&mut stage, workload, config, specs);
        chaos::begin(&mut stage);
        stage.after(faulty_time, Due::Heals);
        World { stage, scheduler, fleet, clients, healed_at: None }
    }

    /// Runs to the end or to the first violation. `on_step` hears how far it is.
    pub(crate) fn run(mut self, on_step: impl Fn(u64)) -> Outcome {
        while self.stage.court.violation().is_none() && !self.is_over() {
            let Some(due) = self.stage.advance() else {
                break;
            };
            on_step(self.stage.step);
            self.come(due);
        }
        self.scheduler.inspect(&mut self.stage);
        let (engine, disk) = (self.scheduler.engine(), self.scheduler.disk());
        self.stage.court.see(&Observation::Finished { engine, disk: Some(disk) });
        self.into_outcome()
    }

    fn is_over(&self) -> bool {
        if self.stage.step > STEPS_MAX {
            return true;
        }
        let Some(healed_at) = self.healed_at else {
            return false;
        };
        let ended = self.stage.court.ledger().live == 0
            && self.clients.are_done()
            && self.scheduler.is_quiet();
        ended || self.stage.now > healed_at + HEALED_TIME_MAX
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

    fn come(&mut self, due: Due) {
        let Some(due) = self.scheduler.attend(due) else { return };
        let Some(due) = self.fleet.come(&mut self.stage, due) else { return };
        let stage = &mut self.stage;
        match due {
            Due::Arrives(letter) => {
                if !self.fleet.is_from_the_dead(letter.from) {
                    self.scheduler.receive(stage, *letter);
                }
            }
            Due::Answered { to: Asker::Client { request }, outcome } => {
                self.clients.answered(stage, request, &outcome);
            }
            Due::AppendEnds { reign } => self.scheduler.append_ends(stage, reign),
            Due::SnapshotEnds { reign } => self.scheduler.snapshot_ends(stage, reign),
            Due::Rebuilds { reign } => self.scheduler.rebuild(stage, reign),
            Due::Wakes { reign } => self.scheduler.wake(stage, reign),
            Due::Continues { reign } => self.continue_scheduler(reign),
            Due::TakesOver { reign } => {
                if self.scheduler.succeed(stage, reign) {
                    self.fleet.break_connections(stage, NOTICED_WITHIN);
                }
            }
            Due::Boots => {
                if self.scheduler.boot(stage) {
                    self.fleet.break_connections(stage, NOTICED_WITHIN);
                }
            }
            // Taken by the fleet.
            Due::Answered { .. } | Due::Delivered { .. } | Due::Worker { .. } => {}
            // Of several schedulers; here is one.
            Due::Among(_) => {}
            Due::Client(due) => self.clients.due(stage, due),
            Due::Chaos(due) => self.strike(due),
            Due::Heals => self.heal(),
        }
    }

    /// A stopped scheduler goes on: its timer has long been due, and what was sent to it meanwhile
    /// is read a little later, in order.
    fn continue_scheduler(&mut self, reign: u32) {
        let Some(missed) = self.scheduler.go_on_after_stop(&mut self.stage, reign) else { return };
        self.scheduler.wake(&mut self.stage, reign);
        let mut delay = 0;
        for due in missed {
            if let Due::Arrives(_) = due {
                delay += self.stage.random.between(0, READ_AFTER_STOP_MAX);
                self.stage.after(delay, due);
            } else {
                self.come(due);
            }
        }
    }

    fn strike(&mut self, due: ChaosDue) {
        if self.healed_at.is_some() {
            return;
        }
        match due {
            ChaosDue::WorkerFault => chaos::strike(&mut self.stage, &mut self.fleet.workers),
            ChaosDue::ClockStep => {
                self.scheduler.step_wall_clock(&mut self.stage);
                let delay = self.stage.random.between(1, 2 * self.stage.weather.clock_step_every);
                self.stage.after(delay, Due::Chaos(ChaosDue::ClockStep));
            }
            ChaosDue::SchedulerStops => {
                self.scheduler.stop(&mut self.stage);
                let every = self.stage.weather.scheduler_stop_every;
                let delay = self.stage.random.between(1, 2 * every);
                self.stage.after(delay, Due::Chaos(ChaosDue::SchedulerStops));
            }
            ChaosDue::DiskFills => {
                self.scheduler.fill_disk(&mut self.stage);
                let delay = self.stage.random.skewed(100_000, 20_000_000);
                self.stage.after(delay, Due::Chaos(ChaosDue::DiskHasRoom));
            }
            ChaosDue::DiskHasRoom => {
                self.scheduler.make_room(&mut self.stage);
                let delay = self.stage.random.between(1, 2 * self.stage.weather.disk_full_every);
                self.stage.after(delay, Due::Chaos(ChaosDue::DiskFills));
            }
            ChaosDue::Takeover => {
                self.scheduler.cut_off(&mut self.stage);
                let delay = self.stage.random.between(1, 2 * self.stage.weather.takeover_every);
                self.stage.after(delay, Due::Chaos(ChaosDue::Takeover));
            }
        }
    }

    fn heal(&mut self) {
        self.stage.note(|| "the faults are over".to_owned());
        self.healed_at = Some(self.stage.now);
        let delay_max = self.stage.weather.delay_max;
        self.stage.weather = Weather::calm();
        self.scheduler.heal();
        if let Some(reign) = self.scheduler.is_stopped() {
            self.continue_scheduler(reign);
        }
        self.fleet.heal(&mut self.stage);
        self.clients.heal(&mut self.stage, delay_max);
    }
}
