//! Clients and operators: they submit, submit again when no answer comes, cancel, retry, pin,
//! drain, pause and reconfigure while everything else goes wrong.

use bellwether_core::model::config::PredictorKind;
use bellwether_core::model::{
    Config, JobId, JobSpec, Micros, Name, Settlement, Strategy, Submission, Target, WorkerSpec,
};
use bellwether_core::{Answer, Command, Rejection};

use super::happening::{Asker, ClientDue, Happening, Letter};
use super::ledger::Ending;
use super::plan::{self, KINDS};
use super::stage::{Place, Stage};
use super::workload::Workload;

/// How long an answer is waited for, in microseconds.
const PATIENCE: u64 = 2_000_000;
/// A client that is refused for overload gives up after this many tries.
const TRIES_MAX: u32 = 8;
/// Jobs that a flood brings at once, at the most.
const FLOOD_JOBS_MAX: u64 = 80;

#[derive(Debug)]
pub(crate) struct Clients {
    workload: Workload,
    config: Config,
    requests: Vec<Request>,
    /// Ids of submitted jobs, accepted or not.
    known: Vec<JobId>,
    acts_left: u32,
    undone: bool,
    acts_every: u64,
    jobs_left: u64,
    fleet: Vec<WorkerSpec>,
}

#[derive(Debug)]
struct Request {
    command: Command,
    tries: u32,
    answered: bool,
    /// It is sent until it is answered, whatever it takes.
    insists: bool,
}

impl Clients {
    pub(crate) fn new(
        stage: &mut Stage,
        workload: Workload,
        config: Config,
        fleet: Vec<WorkerSpec>,
    ) -> Clients {
        let acts_left = stage.random.between(10, 45) as u32;
        let acts_every = stage.random.skewed(300_000, 6_000_000);
        stage.after(500_000, Happening::Client(ClientDue::Acts));
        Clients {
            workload,
            config,
            requests: Vec::new(),
            known: Vec::new(),
            acts_left,
            undone: false,
            acts_every,
            jobs_left: 150,
            fleet,
        }
    }

    pub(crate) fn due(&mut self, stage: &mut Stage, due: ClientDue) {
        match due {
            ClientDue::Acts => {
                if self.acts_left > 0 {
                    self.act(stage);
                    self.acts_left -= 1;
                    let delay = stage.random.between(1, 2 * self.acts_every);
                    stage.after(delay, Happening::Client(ClientDue::Acts));
                }
            }
            ClientDue::Undoes => self.undo(stage),
            ClientDue::Resends { request } => self.resend(stage, request),
        }
    }

    /// No more wishes. What blocks jobs is undone once nothing older than that can arrive.
    pub(crate) fn heal(&mut self, stage: &mut Stage, delay_max: u64) {
        self.acts_left = 0;
        stage.after(delay_max + PATIENCE, Happening::Client(ClientDue::Undoes));
    }

    fn undo(&mut self, stage: &mut Stage) {
        self.undone = true;
        for index in 0..self.fleet.len() {
            self.ask(stage, Command::Undrain { worker: plan::worker_id(index) }, true);
        }
        for kind in KINDS {
            self.ask(stage, Command::Unpause { kind: Name::fixed(kind) }, true);
        }
    }

    /// Nobody waits for an answer any more.
    pub(crate) fn are_done(&self) -> bool {
        self.undone && self.requests.iter().all(|request| request.answered || !request.insists)
    }

    pub(crate) fn answered(
        &mut self,
        stage: &mut Stage,
        number: usize,
        result: &Result<Answer, Rejection>,
    ) {
        let request = &mut self.requests[number];
        if request.answered {
            return;
        }
        match result {
            Err(Rejection::QueueFull { retry_after, .. }) if request.tries < TRIES_MAX => {
                // Who insists asks again anyway.
                if request.insists {
                    return;
                }
                let delay = retry_after.0.clamp(1_000, 5_000_000);
                stage.after(delay, Happening::Client(ClientDue::Resends { request: number }));
            }
            // The worker to undrain may not have come back yet.
            Err(Rejection::UnknownWorker { .. }) if request.insists => {}
            Ok(_) | Err(_) => request.answered = true,
        }
    }

    fn act(&mut self, stage: &mut Stage) {
        match stage.random.below(100) {
            0..=34 => self.submit_single(stage),
            35..=54 => {
                let run = self.workload.run(&self.known);
                self.submit(stage, run);
            }
            55..=58 => self.flood(stage),
            59..=61 => {
                let broken = self.workload.broken(&self.known);
                self.ask(stage, Command::Submit(broken), false);
            }
            62..=71 => self.cancel(stage),
            72..=76 => {
                if let Some(job) = self.some_failed_job(stage) {
                    self.ask(stage, Command::Retry { job }, false);
                }
            }
            77..=80 => self.pin(stage),
            81..=85 => {
                stage.count("drain_in_flight");
                let worker = self.some_worker(stage);
                self.ask(stage, Command::Drain { worker }, false);
            }
            86..=88 => {
                let worker = self.some_worker(stage);
                self.ask(stage, Command::Undrain { worker }, false);
            }
            89..=91 => {
                stage.count("type_paused");
                let kind = stage.random.pick_name(&KINDS);
                self.ask(stage, Command::Pause { kind }, false);
            }
            92..=94 => {
                let kind = stage.random.pick_name(&KINDS);
                self.ask(stage, Command::Unpause { kind }, false);
            }
            _ => self.reconfigure(stage),
        }
    }

    fn submit_single(&mut self, stage: &mut Stage) {
        let single = self.workload.single();
        self.submit(stage, single);
    }

    fn submit(&mut self, stage: &mut Stage, mut submission: Submission) {
        if self.jobs_left < submission.jobs.len() as u64 {
            return;
        }
        self.jobs_left -= submission.jobs.len() as u64;
        self.known.extend(submission.jobs.iter().map(|job| job.id.clone()));
        settle(stage, &mut submission);
        let insists = submission.jobs.iter().all(|job| job.idempotency_key.is_some());
        self.ask(stage, Command::Submit(submission), insists);
    }

    fn flood(&mut self, stage: &mut Stage) {
        stage.count("submission_flood");
        for _ in 0..stage.random.between(20, FLOOD_JOBS_MAX) {
            self.submit_single(stage);
        }
    }

    fn cancel(&mut self, stage: &mut Stage) {
        let Some(job) = self.some_job(stage) else {
            return;
        };
        let running =
            stage.court.ledger().job_named(&job).is_some_and(|(_, job)| !job.attempts.is_empty());
        if running {
            stage.count("cancel_in_flight");
        }
        self.ask(stage, Command::Cancel { job, reason: "changed my mind".to_owned() }, false);
    }

    /// Pins a job to a worker that is able to run it: another would leave it waiting for ever.
    fn pin(&mut self, stage: &mut Stage) {
        let Some(job) = self.some_job(stage) else {
            return;
        };
        let worker = stage.random.index(self.fleet.len());
        let Some((_, record)) = stage.court.ledger().job_named(&job) else {
            return;
        };
        if record.spec.escalation.is_some() || !is_able(&self.fleet[worker], &record.spec) {
            return;
        }
        self.ask(stage, Command::Pin { job, worker: plan::worker_id(worker) }, false);
    }

    fn reconfigure(&mut self, stage: &mut Stage) {
        stage.count("config_changed");
        let random = &mut stage.random;
        self.config.strategy = *random.pick(&Strategy::ALL);
        self.config.predictor = *random.pick(&PredictorKind::ALL);
        self.config.prefetch = random.between(0, 3) as u32;
        self.config.max_queue_per_worker = random.between(1, 10) as u32;
        self.config.hedge_after = Micros::from_millis(random.between(50, 800));
        self.config.jobs_max = *random.pick(&[15, 40, 120, 500]);
        let config = Box::new(self.config.clone());
        self.ask(stage, Command::Configure(config), false);
    }

    fn ask(&mut self, stage: &mut Stage, command: Command, insists: bool) {
        let request = self.requests.len();
        self.requests.push(Request { command, tries: 0, answered: false, insists });
        self.send(stage, request);
    }

    fn resend(&mut self, stage: &mut Stage, number: usize) {
        let request = &mut self.requests[number];
        if request.answered {
            return;
        }
        if let Command::Submit(submission) = &mut request.command {
            // The world has gone on: a dependency may have been forgotten meanwhile.
            settle(stage, submission);
            if stage.random.chance(300)
                && let Some(renamed) = self.workload.renamed(submission)
            {
                stage.count("submitted_again_renamed");
                self.known.push(renamed.jobs[0].id.clone());
                request.command = Command::Submit(renamed);
            }
        }
        stage.count("submitted_again");
        self.send(stage, number);
    }

    fn send(&mut self, stage: &mut Stage, number: usize) {
        let request = &mut self.requests[number];
        request.tries += 1;
        let command = request.command.clone();
        let letter = Letter { from: Asker::Client { request: number }, command };
        if request.insists {
            stage.after(PATIENCE, Happening::Client(ClientDue::Resends { request: number }));
        }
        stage.send(Place::Clients, Place::Scheduler, Happening::Arrives(Box::new(letter)));
    }

    fn some_job(&self, stage: &mut Stage) -> Option<JobId> {
        // Mostly a recent one: it has not ended yet.
        let recent =
            self.known.len().saturating_sub(if stage.random.chance(700) { 12 } else { 150 });
        let candidates = &self.known[recent..];
        (!candidates.is_empty()).then(|| stage.random.pick(candidates).clone())
    }

    /// One that ended without completing, if there is one.
    fn some_failed_job(&self, stage: &mut Stage) -> Option<JobId> {
        let failed: Vec<JobId> = stage
            .court
            .ledger()
            .jobs()
            .filter(|(_, job)| !matches!(job.ending, None | Some(Ending::Completed { .. })))
            .map(|(_, job)| job.spec.id.clone())
            .collect();
        if failed.is_empty() {
            self.some_job(stage)
        } else {
            Some(stage.random.pick(&failed).clone())
        }
    }

    fn some_worker(&self, stage: &mut Stage) -> Name {
        plan::worker_id(stage.random.index(self.fleet.len()))
    }
}

fn is_able(worker: &WorkerSpec, job: &JobSpec) -> bool {
    let needs = &job.requirements;
    let suits = match &needs.target {
        Target::Any => true,
        Target::Role(role) => worker.roles.contains(role),
        Target::Receiver(receiver) => *receiver == worker.id,
    };
    let skilled = needs.capabilities.iter().all(|wanted| worker.capabilities.contains(wanted));
    let warm =
        needs.model.as_ref().is_none_or(|m| worker.loads_models || worker.models.contains(m));
    suits && skilled && warm
}

/// Tells how dependencies ended that the scheduler may have forgotten, as an edge does that has
/// the history.
fn settle(stage: &Stage, submission: &mut Submission) {
    let outside = submission.jobs.iter().flat_map(|job| &job.dependencies);
    submission.settled = outside
        .filter_map(|id| {
            let (_, job) = stage.court.ledger().job_named(id)?;
            let settlement = match job.ending? {
                Ending::Completed { .. } => Settlement::Completed,
                Ending::Failed | Ending::Cancelled | Ending::Skipped | Ending::DeadLettered => {
                    Settlement::NotCompleted
                }
            };
            Some((id.clone(), settlement))
        })
        .collect();
}
