//! A simulated worker: a small state machine that holds attempts, runs as many as it has slots,
//! and says everything again until it is answered.

mod attempts;
mod forgery;
mod handoff;

use std::collections::BTreeSet;
use std::sync::Arc;

use bellwether_core::model::{
    Admission, HandoffSignature, Heartbeat, HeldAttempt, JobSpec, Name, Token, WorkerSpec,
};
use bellwether_core::{Answer, Command, Rejection, Report};

use super::due::{About, Asker, Due, Letter, Outcome, ReportKind, ToWorker, WorkerDue};
use super::stage::{Place, Stage};

/// Between two looks at what is due, in microseconds.
const POLL_EVERY: u64 = 2_000_000;
/// An unanswered message is sent again after this.
const RESEND_AFTER: u64 = 1_500_000;

#[derive(Debug)]
pub(crate) struct SimWorker {
    pub index: usize,
    pub spec: WorkerSpec,
    /// Warm whenever the process starts.
    models: Box<[Name]>,
    /// 100 is ordinary.
    pub speed_percent: u32,
    pub alive: bool,
    /// A type that it has no handler for, although it does not say so when it registers.
    pub lacks: Option<Name>,
    /// It heartbeats and makes no progress.
    pub gray: bool,
    /// It heartbeats, and what it says of its attempts reaches nobody.
    pub mute: bool,
    /// What it missed while it was stopped; none if it runs.
    pub missed: Option<Vec<Due>>,
    link: Link,
    pub connections: u32,
    heartbeat_every: u64,
    last_heartbeat: u64,
    held: Vec<Held>,
    /// Tokens of this process's past: a second copy of an offer is not a second attempt.
    seen: BTreeSet<Token>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Down,
    Registering { connection: u32, since: u64 },
    Up,
}

#[derive(Debug)]
struct Held {
    attempt: HeldAttempt,
    spec: Arc<JobSpec>,
    number: u32,
    load_model: Option<Name>,
    /// Of the last handoff of its chain.
    previous: HandoffSignature,
    phase: HeldPhase,
    /// What it has said and not been answered, and when.
    unanswered: Option<(Report, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldPhase {
    /// Its claim is not granted yet.
    Claiming,
    Queued,
    Loading,
    Running,
    Ended,
}

impl SimWorker {
    pub(crate) fn new(
        index: usize,
        spec: WorkerSpec,
        speed_percent: u32,
        heartbeat_every: u64,
    ) -> SimWorker {
        SimWorker {
            index,
            models: spec.models.clone(),
            spec,
            speed_percent,
            alive: false,
            lacks: None,
            gray: false,
            mute: false,
            missed: None,
            link: Link::Down,
            connections: 0,
            heartbeat_every,
            last_heartbeat: 0,
            held: Vec::new(),
            seen: BTreeSet::new(),
        }
    }

    /// Whether it has an attempt at hand that has not ended.
    pub(crate) fn is_working(&self) -> bool {
        self.alive && self.held.iter().any(|held| held.phase == HeldPhase::Running)
    }

    pub(crate) fn receive(&mut self, stage: &mut Stage, message: ToWorker) {
        if !self.alive {
            return;
        }
        match message {
            ToWorker::Offer(offer) => self.offered(stage, *offer),
            ToWorker::Grant(attempt) => self.granted(stage, attempt),
            ToWorker::Revoke(attempt, reason) => self.revoked(stage, attempt, reason),
            ToWorker::Drain => self.give_back_queued(stage),
        }
    }

    pub(crate) fn answered(&mut self, stage: &mut Stage, about: About, outcome: &Outcome) {
        let Ok(result) = outcome else { return };
        if let Err(Rejection::UnknownWorker { .. }) = result {
            if self.link == Link::Up {
                self.connect(stage);
            }
            return;
        }
        match about {
            About::Registration { connection } => self.registered(stage, connection, result),
            About::Attempt { attempt, kind } => self.report_answered(stage, attempt, kind, result),
            About::Heartbeat | About::Forgery | About::Other => {}
        }
    }

    pub(crate) fn due(&mut self, stage: &mut Stage, due: WorkerDue) {
        match due {
            WorkerDue::Poll => self.poll(stage),
            WorkerDue::ModelReady(token) => self.model_ready(stage, token),
            WorkerDue::JobEnds(token) => self.job_ends(stage, token),
            WorkerDue::Starts => self.start(stage),
            WorkerDue::Reconnects { connection } => self.reconnect(stage, connection),
            WorkerDue::Recovers => {
                self.gray = false;
                self.mute = false;
                self.resume_work(stage);
            }
            WorkerDue::Resumes | WorkerDue::Rejoins => {
                unreachable!("the world handles what concerns the process or the network")
            }
        }
    }

    /// The process dies with everything it holds.
    pub(crate) fn kill(&mut self, stage: &mut Stage) {
        stage.note(|| format!("{} dies holding {}", self.spec.id, self.held.len()));
        self.alive = false;
        self.gray = false;
        self.mute = false;
        self.missed = None;
        self.link = Link::Down;
        self.held.clear();
        self.seen.clear();
        self.spec.models = self.models.clone();
        // Timers of the old process carry the old number and come to nothing.
        self.spec.instance += 1;
    }

    fn start(&mut self, stage: &mut Stage) {
        if self.alive {
            return;
        }
        self.alive = true;
        stage.note(|| format!("{} starts (instance {})", self.spec.id, self.spec.instance));
        self.connect(stage);
        self.after(stage, POLL_EVERY, WorkerDue::Poll);
    }

    /// Says goodbye in good order: what it holds is given back.
    pub(crate) fn leave(&mut self, stage: &mut Stage) {
        let command = Command::Leave { worker: self.spec.id.clone() };
        self.send(stage, About::Other, command);
        self.kill(stage);
    }

    /// A connection has ended. One that has been given up for another by now is of no concern:
    /// if each refused one called for the next, a full disk would multiply them.
    fn reconnect(&mut self, stage: &mut Stage, ended: u32) {
        match self.link {
            Link::Registering { connection, .. } if connection != ended => {}
            _ => self.connect(stage),
        }
    }

    pub(crate) fn connect(&mut self, stage: &mut Stage) {
        if !self.alive {
            return;
        }
        self.connections += 1;
        self.link = Link::Registering { connection: self.connections, since: stage.now };
        let held = self.held.iter().map(|held| held.attempt).collect();
        let command =
            Command::Register { spec: self.spec.clone(), held, admission: Admission::default() };
        self.send(stage, About::Registration { connection: self.connections }, command);
    }

    fn registered(
        &mut self,
        stage: &mut Stage,
        connection: u32,
        result: &Result<Answer, Rejection>,
    ) {
        let current =
            matches!(self.link, Link::Registering { connection: c, .. } if c == connection);
        let Ok(Answer::Registered { unknown, .. }) = result else { return };
        for attempt in unknown {
            self.drop_attempt(attempt.token);
        }
        if current {
            self.link = Link::Up;
            self.say_again(stage, true);
        }
        self.fill_slots(stage);
    }

    fn poll(&mut self, stage: &mut Stage) {
        if !self.alive {
            return;
        }
        self.after(stage, POLL_EVERY, WorkerDue::Poll);
        match self.link {
            Link::Down => self.connect(stage),
            Link::Registering { since, .. } if stage.now >= since + RESEND_AFTER => {
                self.connect(stage);
            }
            Link::Registering { .. } => {}
            Link::Up => {
                if stage.now >= self.last_heartbeat + self.heartbeat_every {
                    self.heartbeat(stage);
                }
                self.say_again(stage, false);
                self.report_progress(stage);
                self.forge(stage);
                self.replay_handoff(stage);
            }
        }
    }

    fn heartbeat(&mut self, stage: &mut Stage) {
        self.last_heartbeat = stage.now;
        let running = self.held.iter().filter(|held| held.phase == HeldPhase::Running).count();
        let queued = self.held.iter().filter(|held| held.phase == HeldPhase::Queued).count();
        let load = (running as u32 * 1_000 / self.spec.slots).min(1_000);
        let overloaded = stage.random.chance(if stage.weather.forge > 0 { 20 } else { 0 });
        let beat = Heartbeat {
            cpu_permille: load,
            memory_permille: load / 2,
            load_permille: load,
            queue_depth: queued as u32,
            overloaded,
        };
        let command = Command::Heartbeat { worker: self.spec.id.clone(), beat };
        self.send(stage, About::Heartbeat, command);
    }

    /// Repeats every report that was not answered in time; all of them after a reconnection.
    fn say_again(&mut self, stage: &mut Stage, all: bool) {
        let due: Vec<(HeldAttempt, Report)> = self
            .held
            .iter_mut()
            .filter_map(|held| {
                let (report, said_at) = held.unanswered.as_mut()?;
                if !all && stage.now < *said_at + RESEND_AFTER {
                    return None;
                }
                *said_at = stage.now;
                Some((held.attempt, report.clone()))
            })
            .collect();
        for (attempt, report) in due {
            self.send_report(stage, attempt, report);
        }
    }

    /// Says something that must be answered.
    fn say(&mut self, stage: &mut Stage, token: Token, report: Report) {
        let now = stage.now;
        let Some(held) = self.held_mut(token) else { return };
        held.unanswered = Some((report.clone(), now));
        let attempt = held.attempt;
        self.send_report(stage, attempt, report);
    }

    fn send_report(&mut self, stage: &mut Stage, attempt: HeldAttempt, report: Report) {
        let kind = match &report {
            Report::Acknowledge => ReportKind::Acknowledge,
            Report::Claim => ReportKind::Claim,
            Report::Progress { .. } => ReportKind::Progress,
            Report::Complete { .. } | Report::Fail { .. } | Report::HandOff(_) => ReportKind::End,
        };
        let command = Command::Report { worker: self.spec.id.clone(), attempt, report };
        self.send(stage, About::Attempt { attempt, kind }, command);
    }

    fn send(&self, stage: &mut Stage, about: About, command: Command) {
        if self.mute && matches!(command, Command::Report { .. } | Command::ModelLoaded { .. }) {
            return;
        }
        let from = Asker::Worker { worker: self.index, instance: self.spec.instance, about };
        let letter = Due::Arrives(Box::new(Letter { from, command }));
        stage.send(Place::Worker(self.index), Place::Scheduler, letter);
    }

    fn after(&self, stage: &mut Stage, delay: u64, due: WorkerDue) {
        let (worker, instance) = (self.index, self.spec.instance);
        stage.after(delay, Due::Worker { worker, instance, due });
    }

    fn held_mut(&mut self, token: Token) -> Option<&mut Held> {
        self.held.iter_mut().find(|held| held.attempt.token == token)
    }

    fn drop_attempt(&mut self, token: Token) {
        self.held.retain(|held| held.attempt.token != token);
    }
}
