//! Faults that come out of the blue: to workers, to their network, and to the scheduler's clock.

use super::due::{ChaosDue, Due, WorkerDue};
use super::stage::Stage;
use super::worker::SimWorker;

/// Puts the first fault of each kind on the agenda.
pub(crate) fn begin(stage: &mut Stage) {
    let weather = stage.weather.clone();
    for (every, due) in [
        (weather.worker_fault_every, ChaosDue::WorkerFault),
        (weather.clock_step_every, ChaosDue::ClockStep),
        (weather.scheduler_stop_every, ChaosDue::SchedulerStops),
        (weather.disk_full_every, ChaosDue::DiskFills),
        (weather.takeover_every, ChaosDue::Takeover),
    ] {
        if every > 0 {
            stage.after(every, Due::Chaos(due));
        }
    }
}

/// Something happens to one of the workers.
pub(crate) fn strike(stage: &mut Stage, fleet: &mut [SimWorker]) {
    let victim = stage.random.index(fleet.len());
    let worker = &mut fleet[victim];
    if worker.alive && worker.missed.is_none() {
        match stage.random.below(14) {
            0..=3 => kill(stage, worker),
            4..=5 => pause(stage, worker),
            6..=7 => turn_gray(stage, worker),
            8..=9 => cut_off(stage, worker),
            10..=11 => turn_mute(stage, worker),
            12 => {
                stage.count("connection_broken");
                worker.connect(stage);
            }
            _ => {
                stage.count("worker_left");
                worker.leave(stage);
                let delay = stage.random.between(500_000, 30_000_000);
                due(stage, worker, delay, WorkerDue::Starts);
            }
        }
    }
    let every = stage.weather.worker_fault_every;
    if every > 0 {
        let delay = stage.random.between(1, 2 * every);
        stage.after(delay, Due::Chaos(ChaosDue::WorkerFault));
    }
}

fn kill(stage: &mut Stage, worker: &mut SimWorker) {
    let working = worker.is_working();
    stage.count(if working { "worker_killed_before_effect" } else { "worker_killed_idle" });
    worker.kill(stage);
    let delay = stage.random.skewed(100_000, 60_000_000);
    due(stage, worker, delay, WorkerDue::Starts);
}

fn pause(stage: &mut Stage, worker: &mut SimWorker) {
    stage.count("worker_paused");
    stage.note(|| format!("{} stops", worker.spec.id));
    worker.missed = Some(Vec::new());
    let delay = stage.random.skewed(500_000, 60_000_000);
    due(stage, worker, delay, WorkerDue::Resumes);
}

fn turn_gray(stage: &mut Stage, worker: &mut SimWorker) {
    stage.count("worker_gray");
    stage.note(|| format!("{} turns gray", worker.spec.id));
    worker.gray = true;
    let delay = stage.random.skewed(2_000_000, 90_000_000);
    due(stage, worker, delay, WorkerDue::Recovers);
}

fn turn_mute(stage: &mut Stage, worker: &mut SimWorker) {
    stage.count("worker_mute");
    stage.note(|| format!("{} falls silent", worker.spec.id));
    worker.mute = true;
    let delay = stage.random.skewed(2_000_000, 90_000_000);
    due(stage, worker, delay, WorkerDue::Recovers);
}

fn cut_off(stage: &mut Stage, worker: &mut SimWorker) {
    stage.count("worker_cut_off");
    stage.note(|| format!("{} is cut off", worker.spec.id));
    stage.cut[worker.index] = true;
    let delay = stage.random.skewed(500_000, 60_000_000);
    due(stage, worker, delay, WorkerDue::Rejoins);
}

fn due(stage: &mut Stage, worker: &SimWorker, delay: u64, due: WorkerDue) {
    let (index, instance) = (worker.index, worker.spec.instance);
    stage.after(delay, Due::Worker { worker: index, instance, due });
}
