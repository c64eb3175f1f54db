//! The plain schedulers that the engine is compared with. None of them predicts, and none knows
//! how fast a machine is. A job of a DAG is submitted to them when its dependencies are complete.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use bellwether_core::model::Micros;
use bellwether_core::words;

use super::{Fleet, Outcome, Stage};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    /// Late binding: the job that was submitted first goes to a free slot. Of several workers
    /// with one, the least busy so far per slot takes it, then the first of the fleet.
    Fifo,
    /// Each job joins the queue of the next worker in turn as it is submitted.
    RoundRobin,
    /// Each job joins the queue of the worker with the fewest unfinished jobs per slot as it is
    /// submitted; ties go to the first of the fleet.
    LeastLoaded,
}

words!(Baseline: Fifo => "fifo", RoundRobin => "round_robin", LeastLoaded => "least_loaded");

/// One baseline on one fleet, stage after stage.
#[derive(Debug)]
pub struct BaselineRun<'a> {
    baseline: Baseline,
    fleet: &'a Fleet,
    workers: Vec<Worker>,
    /// Round-robin's next worker.
    turn: usize,
    /// Submitted, not yet bound to a worker: only late binding has any.
    waiting: VecDeque<usize>,
}

#[derive(Debug, Default, Clone)]
struct Worker {
    running: u64,
    /// The sum of the starts of what runs, so that the busy time is known without a walk.
    started: u64,
    finished_busy: u64,
    queue: VecDeque<usize>,
}

/// Ends come before arrivals of the same moment, so that a freed slot is usable at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    End(usize),
    Arrival(usize),
}

type Agenda = BinaryHeap<Reverse<(Micros, Happening)>>;

impl<'a> BaselineRun<'a> {
    pub fn new(baseline: Baseline, fleet: &'a Fleet) -> BaselineRun<'a> {
        let workers = vec![Worker::default(); fleet.machines().len()];
        BaselineRun { baseline, fleet, workers, turn: 0, waiting: VecDeque::new() }
    }

    /// Runs the stage to its end; the outcomes are in the order of its jobs.
    pub fn run(&mut self, stage: &Stage<'_>, mut finished: impl FnMut()) -> Vec<Outcome> {
        let mut outcomes = vec![Outcome::default(); stage.jobs.len()];
        let mut unmet: Vec<usize> = stage.jobs.iter().map(|job| job.dependencies.len()).collect();
        let mut agenda: Agenda = stage
            .jobs
            .iter()
            .enumerate()
            .filter(|(at, _)| unmet[*at] == 0)
            .map(|(at, job)| Reverse((job.arrival, Happening::Arrival(at))))
            .collect();
        while let Some(Reverse((now, happening))) = agenda.pop() {
            match happening {
                Happening::Arrival(at) => {
                    outcomes[at].ready = now;
                    self.submit(at);
                }
                Happening::End(at) => {
                    self.workers[outcomes[at].machine].end(outcomes[at].start, now);
                    for &dependent in &stage.jobs[at].dependents {
                        unmet[dependent] -= 1;
                        if unmet[dependent] == 0 {
                            let arrival = now.max(stage.jobs[dependent].arrival);
                            agenda.push(Reverse((arrival, Happening::Arrival(dependent))));
                        }
                    }
                    finished();
                }
            }
            while let Some((at, machine)) = self.next_start(now) {
                let took = self.fleet.machines()[machine].speed.time_for(stage.jobs[at].work);
                self.workers[machine].start(now);
                let end = now + took;
                outcomes[at] = Outcome { machine, start: now, end, ..outcomes[at] };
                agenda.push(Reverse((end, Happening::End(at))));
            }
        }
        outcomes
    }

    fn submit(&mut self, at: usize) {
        match self.baseline {
            Baseline::Fifo => self.waiting.push_back(at),
            Baseline::RoundRobin => {
                self.workers[self.turn].queue.push_back(at);
                self.turn = (self.turn + 1) % self.workers.len();
            }
            Baseline::LeastLoaded => {
                let machine = self.least(|worker| worker.running + worker.queue.len() as u64);
                self.workers[machine.expect("a fleet is not empty")].queue.push_back(at);
            }
        }
    }

    /// The next job that can start now, and where.
    fn next_start(&mut self, now: Micros) -> Option<(usize, usize)> {
        if self.baseline == Baseline::Fifo {
            let &at = self.waiting.front()?;
            let machine = self.least_busy_free(now)?;
            self.waiting.pop_front();
            return Some((at, machine));
        }
        let free = |(machine, worker): (usize, &Worker)| {
            let slots = u64::from(self.fleet.machines()[machine].slots);
            (worker.running < slots && !worker.queue.is_empty()).then_some(machine)
        };
        let machine = self.workers.iter().enumerate().find_map(free)?;
        Some((self.workers[machine].queue.pop_front()?, machine))
    }

    fn least_busy_free(&self, now: Micros) -> Option<usize> {
        let slots = |machine: usize| u64::from(self.fleet.machines()[machine].slots);
        (0..self.workers.len())
            .filter(|&machine| self.workers[machine].running < slots(machine))
            .min_by(|&a, &b| {
                let share = |of: usize, other: usize| {
                    u128::from(self.workers[of].busy(now)) * u128::from(slots(other))
                };
                share(a, b).cmp(&share(b, a))
            })
    }

    /// The worker with the least of something per slot, the first of equals.
    fn least(&self, amount: impl Fn(&Worker) -> u64) -> Option<usize> {
        let slots = |machine: usize| u64::from(self.fleet.machines()[machine].slots);
        (0..self.workers.len()).min_by(|&a, &b| {
            let share = |of: usize, other: usize| amount(&self.workers[of]) * slots(other);
            share(a, b).cmp(&share(b, a))
        })
    }
}

impl Worker {
    fn start(&mut self, now: Micros) {
        self.running += 1;
        self.started += now.0;
    }

    fn end(&mut self, start: Micros, now: Micros) {
        self.running -= 1;
        self.started -= start.0;
        self.finished_busy += now.minus(start).0;
    }

    fn busy(&self, now: Micros) -> u64 {
        self.finished_busy + self.running * now.0 - self.started
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{job, run_job};
    use super::super::{TraceJob, Workload};
    use super::*;

    /// Each job as `id@machine start-end`, in milliseconds.
    fn check(baseline: Baseline, fleet: &str, jobs: &[TraceJob], wanted: &str) {
        let fleet: Fleet = fleet.parse().unwrap();
        let workload = Workload::new(jobs).unwrap();
        let mut run = BaselineRun::new(baseline, &fleet);
        let mut shown = Vec::new();
        for stage in &workload.stages {
            for (job, outcome) in stage.jobs.iter().zip(run.run(stage, || ())) {
                let (start, end) = (outcome.start.as_millis(), outcome.end.as_millis());
                shown.push(format!("{}@{} {start}-{end}", job.trace.id, outcome.machine));
            }
        }
        assert_eq!(shown.join(", "), wanted);
    }

    #[test]
    fn fifo_gives_the_oldest_job_to_the_least_busy_free_worker() {
        let jobs = [job("a", 0, 10), job("b", 0, 30), job("c", 0, 10), job("d", 35, 1)];
        check(Baseline::Fifo, "2x1@1.0", &jobs, "a@0 0-10, b@1 0-30, c@0 10-20, d@0 35-36");
    }

    #[test]
    fn fifo_does_not_know_that_a_worker_is_slow() {
        let jobs = [job("a", 0, 10), job("b", 1, 10)];
        check(Baseline::Fifo, "1x1@0.5,1x1@2.0", &jobs, "a@0 0-20, b@1 1-6");
    }

    #[test]
    fn round_robin_queues_behind_a_busy_worker_although_another_is_free() {
        let jobs = [job("a", 0, 100), job("b", 0, 1), job("c", 5, 1), job("d", 5, 1)];
        check(Baseline::RoundRobin, "2x1@1.0", &jobs, "a@0 0-100, b@1 0-1, c@0 100-101, d@1 5-6");
    }

    #[test]
    fn least_loaded_counts_unfinished_jobs_per_slot() {
        let jobs = [job("a", 0, 9), job("b", 0, 9), job("c", 0, 9), job("d", 0, 9)];
        check(
            Baseline::LeastLoaded,
            "1x1@1.0,1x2@1.0",
            &jobs,
            "a@0 0-9, b@1 0-9, c@1 0-9, d@0 9-18",
        );
    }

    #[test]
    fn least_loaded_is_bound_at_submission() {
        let jobs =
            [job("a", 0, 50), job("b", 0, 60), job("c", 1, 5), job("d", 2, 5), job("e", 3, 1)];
        check(
            Baseline::LeastLoaded,
            "2x1@1.0",
            &jobs,
            "a@0 0-50, b@1 0-60, c@0 50-55, d@1 60-65, e@0 55-56",
        );
    }

    #[test]
    fn a_dependent_is_submitted_when_its_dependencies_are_complete() {
        let jobs = [
            run_job("r", "a", 10, &[]),
            run_job("r", "b", 20, &[]),
            run_job("r", "c", 5, &["a", "b"]),
            run_job("q", "d", 5, &[]),
        ];
        for baseline in [Baseline::Fifo, Baseline::RoundRobin] {
            let last = if baseline == Baseline::Fifo { "d@0 0-5" } else { "d@1 0-5" };
            let wanted = format!("a@0 0-10, b@1 0-20, c@0 20-25, {last}");
            check(baseline, "2x1@1.0", &jobs, &wanted);
        }
    }
}
