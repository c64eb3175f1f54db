//! The real engine on a simulated fleet: no faults, no journal, no time on the wire.
//!
//! A worker acknowledges an offer at once and starts the job if a slot is free; otherwise the job
//! joins the worker's own queue, first in, first out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet, VecDeque};

use bellwether_core::model::config::PredictorKind;
use bellwether_core::model::{
    Config, HeldAttempt, JobId, JobNo, JobSpec, Micros, Resources, Strategy, Submission, Timestamp,
    Token, WorkerId, WorkerNo,
};
use bellwether_core::{Answer, Command, Effect, Engine, Event, Rejection, Report};

use super::worker::{Held, Worker};
use super::workload::Batch;
use super::{Fleet, Outcome, Stage};

/// Longer than any trace: nothing here may run into a timeout.
pub(crate) const FOR_EVER: Micros = Micros::from_secs(100 * 365 * 86_400);
/// Steps without an arrival or an end, after which waiting jobs are held to be stuck.
const IDLE_STEPS_MAX: u32 = 10_000;

#[derive(Debug, thiserror::Error)]
pub enum EngineRunError {
    #[error("the engine refused {what}")]
    Refused { what: String, source: Rejection },
    #[error("{unfinished} jobs never ran, job {job} among them, although the fleet is idle")]
    Stuck { unfinished: usize, job: JobId },
}

/// The engine on one fleet, stage after stage: what it has learnt carries over.
#[derive(Debug)]
pub struct EngineRun<'a> {
    engine: Engine,
    fleet: &'a Fleet,
    workers: Vec<Worker>,
    machines: BTreeMap<WorkerNo, usize>,
    ids: Vec<WorkerId>,
    now: Timestamp,
    effects: VecDeque<Effect>,
    predicted: HashMap<Token, Micros>,
    beat_every: Micros,
    pub hedges: u64,
    pub duplicates: u64,
    /// Time that workers spent on executions that came to nothing.
    pub wasted: Micros,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Happening {
    End {
        machine: usize,
        token: Token,
    },
    /// A worker that was quiet takes up its offer.
    Awake {
        machine: usize,
        token: Token,
    },
    /// Of a batch.
    Arrival(usize),
    Beat,
}

/// What is known only while a stage runs.
struct Progress<'s, 'a> {
    stage: &'s Stage<'a>,
    base: Timestamp,
    agenda: BinaryHeap<Reverse<(Timestamp, Happening)>>,
    positions: HashMap<JobNo, usize>,
    outcomes: Vec<Outcome>,
    unfinished: usize,
    /// Offers that a worker has not taken up yet.
    quiet: HashMap<Token, Held>,
    /// When running attempts started.
    started: HashMap<Token, Timestamp>,
    /// Jobs that one worker was quiet about: the next one is not.
    roused: HashSet<usize>,
}

impl<'a> EngineRun<'a> {
    pub fn new(
        strategy: Strategy,
        predictor: PredictorKind,
        fleet: &'a Fleet,
    ) -> Result<EngineRun<'a>, EngineRunError> {
        EngineRun::with(Config { strategy, predictor, ..Config::default() }, fleet)
    }

    /// With all of this configuration, but that nobody is ever taken for lost or stalled.
    pub fn with(config: Config, fleet: &'a Fleet) -> Result<EngineRun<'a>, EngineRunError> {
        let config = Config { unreachable_after: FOR_EVER, stall_after: FOR_EVER, ..config };
        let beat_every = config.heartbeat_interval.times(12);
        let mut run = EngineRun {
            engine: Engine::new(config),
            fleet,
            workers: fleet.machines().iter().map(|machine| Worker::new(machine.slots)).collect(),
            machines: BTreeMap::new(),
            ids: Vec::new(),
            now: Timestamp(0),
            effects: VecDeque::new(),
            predicted: HashMap::new(),
            beat_every,
            hedges: 0,
            duplicates: 0,
            wasted: Micros::ZERO,
        };
        for (machine, spec) in fleet.worker_specs().into_iter().enumerate() {
            let id = spec.id.clone();
            let answer = run.command(
                Command::Register { spec, held: Vec::new(), admission: Default::default() },
                &id,
            )?;
            let Answer::Registered { worker, .. } = answer else {
                unreachable!("a registration is answered with the worker's number")
            };
            run.machines.insert(worker, machine);
            run.ids.push(id);
        }
        Ok(run)
    }

    /// Runs the stage to its end; the outcomes are in the order of its jobs.
    pub fn run(
        &mut self,
        stage: &Stage<'_>,
        mut finished: impl FnMut(),
    ) -> Result<Vec<Outcome>, EngineRunError> {
        let mut progress = Progress::new(stage, self.now);
        progress.agenda.push(Reverse((self.now + self.beat_every, Happening::Beat)));
        let mut idle_steps = 0;
        while progress.unfinished > 0 {
            let happening = self.advance(&mut progress)?;
            idle_steps += 1;
            match happening {
                None => {}
                Some(Happening::Beat) => self.beat(&mut progress)?,
                Some(Happening::Arrival(batch)) => {
                    idle_steps = 0;
                    let Batch { run, jobs } = stage.batches[batch].clone();
                    let (first, what) = (jobs.start, &stage.jobs[jobs.start].trace.id);
                    let jobs = jobs.map(|at| new_job(stage, at)).collect();
                    let submission = Submission::of(run, jobs);
                    self.submit(&mut progress, submission, first, what)?;
                }
                Some(Happening::Awake { machine, token }) => {
                    if let Some(held) = progress.quiet.remove(&token) {
                        self.take_up(&mut progress, machine, held)?;
                        self.carry_out_effects(&mut progress)?;
                    }
                }
                Some(Happening::End { machine, token }) => {
                    idle_steps = 0;
                    if self.end(&mut progress, machine, token)? {
                        finished();
                    }
                }
            }
            if idle_steps > IDLE_STEPS_MAX && !self.workers.iter().any(Worker::is_busy) {
                return Err(progress.stuck());
            }
        }
        Ok(progress.outcomes())
    }

    /// Moves to the next moment: something of the agenda, or a deadline of the engine's.
    fn advance(
        &mut self,
        progress: &mut Progress<'_, '_>,
    ) -> Result<Option<Happening>, EngineRunError> {
        let Some(&Reverse((at, happening))) = progress.agenda.peek() else {
            return Err(progress.stuck());
        };
        let deadline = self.engine.next_deadline().filter(|&deadline| deadline > self.now);
        if let Some(deadline) = deadline.filter(|&deadline| deadline < at) {
            self.now = deadline;
            self.command(Command::Tick, &"a tick")?;
            self.carry_out_effects(progress)?;
            return Ok(None);
        }
        progress.agenda.pop();
        self.now = self.now.max(at);
        Ok(Some(happening))
    }

    fn submit(
        &mut self,
        progress: &mut Progress<'_, '_>,
        submission: Submission,
        first: usize,
        what: &JobId,
    ) -> Result<(), EngineRunError> {
        let answer = self.command(Command::Submit(submission), what)?;
        let Answer::Submitted { jobs, .. } = answer else {
            unreachable!("a submission is answered with its jobs")
        };
        for (offset, job) in jobs.into_iter().enumerate() {
            progress.positions.insert(job, first + offset);
        }
        self.carry_out_effects(progress)
    }

    /// Whether a job was completed: its attempt may have been revoked meanwhile.
    fn end(
        &mut self,
        progress: &mut Progress<'_, '_>,
        machine: usize,
        token: Token,
    ) -> Result<bool, EngineRunError> {
        let Some(held) = self.workers[machine].end(token) else { return Ok(false) };
        progress.started.remove(&token);
        progress.outcomes[held.at].end = self.now.since(progress.base);
        progress.unfinished -= 1;
        self.start_queued(progress, machine);
        let report = Report::Complete { result: Default::default() };
        self.report(machine, held.attempt, report)?;
        self.carry_out_effects(progress)?;
        Ok(true)
    }

    fn beat(&mut self, progress: &mut Progress<'_, '_>) -> Result<(), EngineRunError> {
        for machine in 0..self.workers.len() {
            let worker = self.ids[machine].clone();
            let beat = self.workers[machine].heartbeat();
            self.command(Command::Heartbeat { worker, beat }, &self.ids[machine].clone())?;
        }
        progress.agenda.push(Reverse((self.now + self.beat_every, Happening::Beat)));
        self.carry_out_effects(progress)
    }

    /// Does what the engine has asked for, and what it asks for in answer.
    fn carry_out_effects(&mut self, progress: &mut Progress<'_, '_>) -> Result<(), EngineRunError> {
        while let Some(effect) = self.effects.pop_front() {
            match effect {
                Effect::Offer { worker, offer } => {
                    let machine = self.machines[&worker];
                    let at = progress.positions[&offer.attempt.job];
                    let held = Held { at, attempt: offer.attempt };
                    let quiet = progress.stage.jobs[at].quiet;
                    if quiet > Micros::ZERO && progress.roused.insert(at) {
                        let token = offer.attempt.token;
                        progress.quiet.insert(token, held);
                        let awake = Happening::Awake { machine, token };
                        progress.agenda.push(Reverse((self.now + quiet, awake)));
                    } else {
                        self.take_up(progress, machine, held)?;
                    }
                }
                Effect::Revoke { worker, attempt, .. } => {
                    let machine = self.machines[&worker];
                    progress.quiet.remove(&attempt.token);
                    if self.workers[machine].revoke(attempt.token) {
                        self.duplicates += 1;
                        let started = progress.started.remove(&attempt.token);
                        self.wasted += started.map_or(Micros::ZERO, |at| self.now.since(at));
                        self.start_queued(progress, machine);
                    }
                }
                Effect::Grant { .. }
                | Effect::Ended { .. }
                | Effect::Drain { .. }
                | Effect::Dismiss { .. } => {}
            }
        }
        Ok(())
    }

    fn take_up(
        &mut self,
        progress: &mut Progress<'_, '_>,
        machine: usize,
        held: Held,
    ) -> Result<(), EngineRunError> {
        self.report(machine, held.attempt, Report::Acknowledge)?;
        self.workers[machine].take(held);
        self.start_queued(progress, machine);
        Ok(())
    }

    fn start_queued(&mut self, progress: &mut Progress<'_, '_>, machine: usize) {
        while let Some(held) = self.workers[machine].start_next() {
            let job = &progress.stage.jobs[held.at];
            let end = self.now + self.fleet.machines()[machine].speed.time_for(job.work);
            let token = held.attempt.token;
            progress.agenda.push(Reverse((end, Happening::End { machine, token })));
            progress.started.insert(token, self.now);
            let outcome = &mut progress.outcomes[held.at];
            outcome.machine = machine;
            outcome.start = self.now.since(progress.base);
            outcome.predicted = self.predicted.remove(&token);
        }
    }

    fn report(
        &mut self,
        machine: usize,
        attempt: HeldAttempt,
        report: Report,
    ) -> Result<(), EngineRunError> {
        let worker = self.ids[machine].clone();
        let what = format!("a report of worker {worker} on job {}", attempt.job);
        self.command(Command::Report { worker, attempt, report }, &what).map(|_| ())
    }

    /// Everything is durable at once.
    fn command(
        &mut self,
        command: Command,
        what: &dyn std::fmt::Display,
    ) -> Result<Answer, EngineRunError> {
        let handled = self.engine.handle(self.now, command);
        for entry in self.engine.take_batch() {
            if let Event::Assigned { hedge, decision, .. } = entry.event {
                self.predicted.insert(Token::from(entry.seq), decision.predicted_duration);
                self.hedges += u64::from(hedge);
            }
        }
        self.engine.durable(self.engine.last_seq());
        self.effects.extend(self.engine.take_effects());
        handled.result.map_err(|source| EngineRunError::Refused { what: what.to_string(), source })
    }
}

impl<'s, 'a> Progress<'s, 'a> {
    fn new(stage: &'s Stage<'a>, base: Timestamp) -> Progress<'s, 'a> {
        let mut agenda = BinaryHeap::new();
        let arrival = |(number, batch): (usize, &Batch)| {
            let first = &stage.jobs[batch.jobs.start];
            Reverse((base + first.arrival, Happening::Arrival(number)))
        };
        agenda.extend(stage.batches.iter().enumerate().map(arrival));
        Progress {
            stage,
            base,
            agenda,
            positions: HashMap::new(),
            outcomes: vec![Outcome::default(); stage.jobs.len()],
            unfinished: stage.jobs.len(),
            quiet: HashMap::new(),
            started: HashMap::new(),
            roused: HashSet::new(),
        }
    }

    fn outcomes(mut self) -> Vec<Outcome> {
        for (at, job) in self.stage.jobs.iter().enumerate() {
            let ends = job.dependencies.iter().map(|&on| self.outcomes[on].end);
            let delay = job.asked.as_ref().map_or(Micros::ZERO, |asked| asked.extras().delay);
            self.outcomes[at].ready = ends.fold(job.arrival + delay, Micros::max);
        }
        self.outcomes
    }

    fn stuck(&self) -> EngineRunError {
        let at = self.outcomes.iter().position(|outcome| outcome.end == Micros::ZERO);
        let job = at.map_or_else(|| JobId::fixed("?"), |at| self.stage.jobs[at].trace.id.clone());
        EngineRunError::Stuck { unfinished: self.unfinished, job }
    }
}

fn new_job(stage: &Stage<'_>, at: usize) -> JobSpec {
    let job = &stage.jobs[at];
    let trace = job.trace;
    let dependencies = job.dependencies.iter().map(|&on| stage.jobs[on].trace.id.clone()).collect();
    if let Some(asked) = &job.asked {
        return JobSpec { dependencies, ..asked.clone() };
    }
    let mut new = JobSpec::new(trace.id.clone(), trace.kind.clone());
    // Every job takes one slot. The fleet declares no resources, so the millicores do not limit
    // it; predictions may still tell jobs apart by them.
    new.requirements_mut().resources = Resources { cpu: trace.cpu, memory: 0 };
    new.dependencies = dependencies;
    new.timeout = Some(FOR_EVER);
    new.retry = Some(0);
    new.sender = trace.sender.clone();
    new.extras_mut().input_bytes = Some(trace.payload_bytes);
    new
}

#[cfg(test)]
mod tests {
    use super::super::testing::job;
    use super::super::{TraceJob, Workload};
    use super::*;

    fn run(jobs: &[TraceJob], quiet: Micros) -> (Vec<Outcome>, u64, u64) {
        let fleet: Fleet = "2x1@1.0".parse().unwrap();
        let mut workload = Workload::new(jobs).unwrap();
        workload.stages[0].jobs[0].quiet = quiet;
        let config = Config { hedge_budget_permille: 1_000, ..Config::default() };
        let mut run = EngineRun::with(config, &fleet).unwrap();
        let outcomes = run.run(&workload.stages[0], || ()).unwrap();
        (outcomes, run.hedges, run.duplicates)
    }

    #[test]
    fn a_quiet_worker_delays_a_job_until_it_is_hedged() {
        let jobs = [job("a", 0, 1_000)];
        let (outcomes, hedges, _) = run(&jobs, Micros::ZERO);
        assert_eq!((outcomes[0].start, hedges), (Micros::ZERO, 0));
        let (outcomes, hedges, _) = run(&jobs, Micros::from_millis(200));
        assert_eq!((outcomes[0].start, hedges), (Micros::from_millis(200), 0));
        let (outcomes, hedges, duplicates) = run(&jobs, Micros::from_secs(5));
        assert_eq!((outcomes[0].start, hedges), (Micros::from_millis(500), 1));
        assert_eq!((outcomes[0].machine, duplicates), (1, 0), "the quiet one never started it");
    }
}
