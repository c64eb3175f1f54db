//! The scheduler's processes around the real host: their disk, their clock, their timers and their
//! deaths. One reigns; another may not know yet that it has been deposed.

mod edge;
mod journal;
mod lease;
mod life;
mod output;
mod stop;
mod witness;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bellwether_core::model::{Config, Micros, Timestamp};
use bellwether_core::{Command, Engine};
use bellwether_host::{Failure, Host, Mode, Reading, SnapshotRule};
use bellwether_journal::MemoryJournal;

pub(crate) use self::edge::{Sessions, SimEdge};
use self::journal::Appends;
use self::stop::Stopped;
pub(crate) use self::witness::{Witness, holds};
use super::court::Observation;
use super::defect::Defect;
use super::disk::Disk;
use super::due::{Due, Letter};
use super::predictor::Mood;
use super::stage::Stage;

/// What the wall clock shows when the world begins, in microseconds.
pub(crate) const WALL_START: u64 = 1_000_000_000_000;
/// Steps between two looks at a quiet engine's whole state.
const INSPECTED_EVERY: u64 = 200;

#[derive(Debug)]
pub(crate) struct Scheduler {
    disk: Disk,
    /// The one that reigns, as far as the journal is concerned.
    process: Option<Process>,
    /// One that has been deposed, whether it knows it or not.
    deposed: Option<Process>,
    reigns: u32,
    config: Config,
    mood: Arc<Mood>,
    defect: Option<Defect>,
    /// What its wall clock is ahead of, or behind, the world's.
    skew: i64,
    /// The reigning process is stopped.
    stopped: Option<Stopped>,
    /// The latest time that an engine was given.
    clock_max: Timestamp,
    snapshots: SnapshotRule,
    /// Whether a second engine decides beside the first.
    twinned: bool,
    inspected: u64,
}

/// A host, and those who talk to it.
#[derive(Debug)]
pub(crate) struct Desk {
    pub(crate) host: Host<SimEdge>,
    /// Decides the same beside it, if there is one.
    pub(crate) twin: Option<Engine>,
    pub(crate) reign: u32,
    pub(crate) sessions: Sessions,
}

/// What a crash loses.
#[derive(Debug)]
struct Process {
    desk: Desk,
    journal: MemoryJournal,
    appends: Appends,
    wakes_at: Option<u64>,
    /// When another may take over, unless it is renewed before.
    lease_ends: u64,
    /// Nothing of it reaches the journal's keeper, so the lease is not renewed.
    cut_off: bool,
}

impl Scheduler {
    pub(crate) fn new(stage: &mut Stage, config: Config, defect: Option<Defect>) -> Scheduler {
        let mood = Arc::new(Mood::default());
        mood.fails_permille.store(stage.weather.predictor_fails, Ordering::Relaxed);
        stage.after(0, Due::Boots);
        Scheduler {
            disk: Disk::new(defect),
            process: None,
            deposed: None,
            reigns: 0,
            config,
            mood,
            defect,
            skew: 0,
            stopped: None,
            clock_max: Timestamp(0),
            snapshots: SnapshotRule {
                every: stage.random.skewed(20, 1_000),
                slice_things: stage.random.skewed(5, 500) as usize,
            },
            twinned: stage.random.chance(250),
            inspected: 0,
        }
    }

    pub(crate) fn engine(&self) -> Option<&Engine> {
        self.process.as_ref().map(|process| process.desk.host.engine())
    }

    pub(crate) fn disk(&self) -> &Disk {
        &self.disk
    }

    /// Whether all that was decided is durable and told.
    pub(crate) fn is_quiet(&self) -> bool {
        self.process.as_ref().is_some_and(|process| {
            process.desk.host.mode() == Mode::Reigning && process.desk.host.is_quiet()
        })
    }

    pub(crate) fn predictor_failures(&self) -> u64 {
        self.mood.failures.load(Ordering::Relaxed)
    }

    pub(crate) fn heal(&mut self) {
        self.mood.fails_permille.store(0, Ordering::Relaxed);
        self.disk.make_room();
        self.deposed = None;
        if let Some(process) = &mut self.process {
            process.cut_off = false;
        }
        // Somebody sets it right, or a job that waits for a moment would wait for hours.
        self.skew = 0;
    }

    /// Somebody sets the wall clock, by up to an hour.
    pub(crate) fn step_wall_clock(&mut self, stage: &mut Stage) {
        let size = stage.random.skewed(100_000, 3_600_000_000) as i64;
        if stage.random.chance(500) {
            stage.count("clock_stepped_forwards");
            self.skew += size;
        } else {
            stage.count("clock_stepped_backwards");
            self.skew -= size;
        }
        stage.note(|| format!("the wall clock is set to {:+} us", self.skew));
    }

    /// The disk fills up; somebody makes room a while later.
    pub(crate) fn fill_disk(&mut self, stage: &mut Stage) {
        stage.note(|| "the disk is full".to_owned());
        self.disk.fill();
    }

    pub(crate) fn make_room(&mut self, stage: &mut Stage) {
        stage.note(|| "the disk has room".to_owned());
        self.disk.make_room();
    }

    pub(crate) fn receive(&mut self, stage: &mut Stage, mut letter: Letter) {
        if let Command::Submit(submission) = &mut letter.command {
            submission.keys = self.disk.keys.look(submission);
            if !submission.keys.found.is_empty() {
                stage.count("key_found_on_disk");
            }
            if !submission.keys.ids.is_empty() {
                stage.count("id_found_on_disk");
            }
        }
        // Somebody may still talk to a scheduler that has been deposed; workers do not, because
        // their connections broke with the takeover.
        let late = self.deposed.is_some() && letter.is_from_client() && stage.random.chance(300);
        let reign = match &self.deposed {
            Some(deposed) if late => deposed.desk.reign,
            _ => self.reigns,
        };
        self.with(reign, |scheduler, process| {
            scheduler.begin_round(stage, process);
            if process.desk.host.must_wait() {
                stage.count("message_deferred");
                process.desk.host.defer(letter);
                return true;
            }
            process.desk.take(stage, letter);
            scheduler.go_on(stage, process, life::Moment::Handled)
        });
    }

    pub(crate) fn wake(&mut self, stage: &mut Stage, reign: u32) {
        self.with(reign, |scheduler, process| {
            // An earlier one was asked for meanwhile, and has come.
            if process.wakes_at.is_none_or(|at| at > stage.now) {
                return true;
            }
            process.wakes_at = None;
            scheduler.begin_round(stage, process);
            if scheduler.has_lost_its_lease(stage, process) {
                return scheduler.append_failed(stage, process, Failure::Deposed);
            }
            let mut witness = Witness::new(stage, &mut process.desk.twin, reign);
            if process.desk.host.must_probe() {
                let has_room = scheduler.disk.has_room();
                witness.stage.count(if has_room { "disk_has_room" } else { "disk_still_full" });
                process.desk.host.handle_probe(has_room, &mut witness);
            }
            process.desk.host.handle_tick(|()| false, &mut witness);
            scheduler.go_on(stage, process, life::Moment::Handled)
        });
    }

    /// Lets a process act, if it is still there. It is gone if it does not survive that.
    fn with(&mut self, reign: u32, act: impl FnOnce(&mut Scheduler, &mut Process) -> bool) {
        let of =
            |process: &Option<Process>| process.as_ref().is_some_and(|p| p.desk.reign == reign);
        let deposed = of(&self.deposed);
        let place = if deposed { &mut self.deposed } else { &mut self.process };
        let Some(mut process) = place.take_if(|process| process.desk.reign == reign) else {
            return;
        };
        if !act(self, &mut process) {
            return;
        }
        self.clock_max = self.clock_max.max(process.desk.host.now());
        *(if deposed { &mut self.deposed } else { &mut self.process }) = Some(process);
    }

    fn reading(&self, stage: &Stage) -> Reading {
        let wall = Timestamp((WALL_START + stage.now).saturating_add_signed(self.skew));
        Reading { monotonic: Micros(stage.now), wall }
    }

    /// Tells the host what time it is, before anything else.
    fn begin_round(&self, stage: &mut Stage, process: &mut Process) {
        let reading = self.reading(stage);
        let mut witness = Witness::new(stage, &mut process.desk.twin, process.desk.reign);
        process.desk.host.handle_time(reading, &mut witness);
    }

    /// Asks to be woken when the host next has something to do.
    fn set_timer(&mut self, stage: &mut Stage, process: &mut Process) -> bool {
        let Some(deadline) = process.desk.host.next_deadline() else { return true };
        let at = stage.now + deadline.since(process.desk.host.time_at(self.reading(stage))).0;
        if process.wakes_at.is_none_or(|wakes_at| at < wakes_at) {
            process.wakes_at = Some(at);
            stage.after(at - stage.now, Due::Wakes { reign: process.desk.reign });
        }
        true
    }

    /// A quiet engine is shown each time, and now and then with everything that it knows.
    pub(super) fn show_if_quiet(&mut self, stage: &mut Stage) {
        let Some(engine) = self.engine().filter(|_| self.is_quiet()) else { return };
        stage.see(Observation::Quiet { engine });
        if stage.step >= self.inspected + INSPECTED_EVERY {
            self.inspect(stage);
        }
    }

    pub(crate) fn inspect(&mut self, stage: &mut Stage) {
        self.inspected = stage.step;
        if let Some(engine) = self.engine().filter(|_| self.is_quiet()) {
            stage.see(Observation::Inspected { engine, now: self.clock_max });
        }
    }
}
