//! All workers: what reaches which process, and what one that is stopped finds when it goes on.

use super::due::{About, Asker, Due, WorkerDue};
use super::stage::Stage;
use super::worker::SimWorker;

#[derive(Debug)]
pub(crate) struct Fleet {
    pub(crate) workers: Vec<SimWorker>,
}

impl Fleet {
    /// Each starts within the first seconds.
    pub(crate) fn new(stage: &mut Stage, workers: Vec<SimWorker>) -> Fleet {
        for worker in &workers {
            let (index, instance) = (worker.index, worker.spec.instance);
            let delay = stage.random.between(1, 3_000_000);
            stage.after(delay, Due::Worker { worker: index, instance, due: WorkerDue::Starts });
        }
        Fleet { workers }
    }

    /// Takes what concerns a worker, and gives back what does not.
    pub(crate) fn come(&mut self, stage: &mut Stage, due: Due) -> Option<Due> {
        match due {
            Due::Answered { to: Asker::Worker { worker, instance, about }, outcome } => {
                let to = Asker::Worker { worker, instance, about };
                let missed = || Due::Answered { to, outcome: outcome.clone() };
                let worker = awake(&mut self.workers[worker], missed)?;
                if worker.spec.instance == instance {
                    worker.answered(stage, about, &outcome);
                }
            }
            Due::Delivered { worker, instance, connection, message } => {
                let missed =
                    || Due::Delivered { worker, instance, connection, message: message.clone() };
                let worker = awake(&mut self.workers[worker], missed)?;
                if (worker.spec.instance, worker.connections) == (instance, connection) {
                    worker.receive(stage, message);
                }
            }
            Due::Worker { worker, instance, due } => self.due(stage, worker, instance, due),
            other => return Some(other),
        }
        None
    }

    fn due(&mut self, stage: &mut Stage, index: usize, instance: u64, due: WorkerDue) {
        match due {
            WorkerDue::Rejoins => {
                stage.cut[index] = false;
                return;
            }
            WorkerDue::Resumes => return self.resume(stage, index),
            _ => {}
        }
        let missed = || Due::Worker { worker: index, instance, due };
        let Some(worker) = awake(&mut self.workers[index], missed) else { return };
        if worker.spec.instance == instance {
            worker.due(stage, due);
        }
    }

    /// A stopped worker goes on as if no time had passed: first with what it missed.
    fn resume(&mut self, stage: &mut Stage, index: usize) {
        let Some(missed) = self.workers[index].missed.take() else { return };
        let id = &self.workers[index].spec.id;
        stage.note(|| format!("{id} goes on"));
        for due in missed {
            let elsewhere = self.come(stage, due);
            debug_assert!(elsewhere.is_none(), "a worker misses what is its own");
        }
    }

    /// Every connection broke; each worker notices in its own time.
    pub(crate) fn break_connections(&self, stage: &mut Stage, within: u64) {
        for worker in &self.workers {
            let delay = stage.random.skewed(1_000, within);
            let (index, instance) = (worker.index, worker.spec.instance);
            let due = WorkerDue::Reconnects { connection: worker.connections };
            stage.after(delay, Due::Worker { worker: index, instance, due });
        }
    }

    /// A connection ends with its process, so nobody registers from beyond. What a process reported
    /// before it died may still arrive.
    pub(crate) fn is_from_the_dead(&self, from: Asker) -> bool {
        match from {
            Asker::Worker { worker, instance, about: About::Registration { .. } } => {
                self.workers[worker].spec.instance != instance
            }
            Asker::Worker { .. } | Asker::Client { .. } => false,
        }
    }

    pub(crate) fn heal(&mut self, stage: &mut Stage) {
        stage.cut.fill(false);
        for index in 0..self.workers.len() {
            self.resume(stage, index);
            let worker = &mut self.workers[index];
            worker.due(stage, WorkerDue::Recovers);
            worker.due(stage, WorkerDue::Starts);
            // A stream that lost messages is broken: on a new one it learns what it must drop.
            worker.connect(stage);
        }
    }
}

/// The worker, if it runs; if it is stopped, it will hear of it when it goes on.
fn awake(worker: &mut SimWorker, due: impl FnOnce() -> Due) -> Option<&mut SimWorker> {
    if let Some(missed) = &mut worker.missed {
        missed.push(due());
        return None;
    }
    Some(worker)
}
