//! Clients and operators: they submit, submit again when no answer comes, cancel, retry, pin,
//! drain, pause and reconfigure while everything else goes wrong.

mod acts;

use bellwether_core::model::{Config, JobId, Name, Settlement, Submission, WorkerSpec};
use bellwether_core::{Command, Rejection};

use super::due::{Asker, ClientDue, Due, Letter, Outcome};
use super::ledger::Ending;
use super::plan::{self, KINDS};
use super::stage::{Place, Stage};
use super::workload::Workload;

/// How long an answer is waited for, in microseconds.
const PATIENCE: u64 = 2_000_000;
/// A client that is refused for overload gives up after this many tries.
const TRIES_MAX: u32 = 8;

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
        stage.after(500_000, Due::Client(ClientDue::Acts));
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
                    stage.after(delay, Due::Client(ClientDue::Acts));
                }
            }
            ClientDue::Undoes => self.undo(stage),
            ClientDue::Resends { request } => self.resend(stage, request),
        }
    }

    /// No more wishes. What blocks jobs is undone once nothing older than that can arrive.
    pub(crate) fn heal(&mut self, stage: &mut Stage, delay_max: u64) {
        self.acts_left = 0;
        stage.after(delay_max + PATIENCE, Due::Client(ClientDue::Undoes));
    }

    fn undo(&mut self, stage: &mut Stage) {
        self.undone = true;
        for index in 0..self.fleet.len() {
            self.approve(stage, index, true);
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

    pub(crate) fn answered(&mut self, stage: &mut Stage, number: usize, outcome: &Outcome) {
        let request = &mut self.requests[number];
        if request.answered {
            return;
        }
        let retry_after = match outcome {
            // The worker to undrain may not have come back yet.
            Ok(Err(Rejection::UnknownWorker { .. })) if request.insists => return,
            Ok(Err(
                Rejection::QueueFull { retry_after, .. } | Rejection::KeysFull { retry_after },
            )) if request.tries < TRIES_MAX => *retry_after,
            Err(why) => why.retry_after(),
            Ok(Ok(_) | Err(_)) => {
                request.answered = true;
                return;
            }
        };
        // Who insists asks again anyway.
        if request.insists {
            return;
        }
        // An old wish of an operator must not come when what blocks jobs has been undone.
        let is_submission = matches!(request.command, Command::Submit(_));
        if !is_submission || request.tries >= TRIES_MAX {
            request.answered = true;
            return;
        }
        let delay = retry_after.0.clamp(1_000, 5_000_000);
        stage.after(delay, Due::Client(ClientDue::Resends { request: number }));
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
            stage.after(PATIENCE, Due::Client(ClientDue::Resends { request: number }));
        }
        stage.send(Place::Clients, Place::Scheduler, Due::Arrives(Box::new(letter)));
    }
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
