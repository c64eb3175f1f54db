//! What workers send.

use bellwether_core::model::{Actor, Admission, HeldAttempt, JobNo, Token, WorkerId, WorkerSpec};
use bellwether_core::{Answer, Command, JobState, Rejection, Report};

use crate::edge::{Edge, Observer};
use crate::host::Host;
use crate::mode::Mode;
use crate::outbox::{End, Refusal, Registered};
use crate::reply::Pending;

/// Workers whose latest connection is remembered.
const CONNECTIONS_MAX: usize = 100_000;
/// Stands for a part of a message that is about no attempt.
const NO_ATTEMPT: HeldAttempt = HeldAttempt { job: JobNo(0), token: Token(0) };

/// Names a session for as long as its driver lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SessionKey(pub u64);

/// One message of a worker, parsed. Its parts are handled in this order.
#[derive(Debug)]
pub struct SessionInput<L, M> {
    pub worker: WorkerId,
    pub register: Option<Registration<L>>,
    pub before: Vec<Command>,
    pub reports: Vec<NumberedReport>,
    pub malformed: Vec<(ReportNumber, M)>,
    pub after: Vec<Command>,
    /// The number of the last report in this message or before it.
    pub last_report: ReportNumber,
}

#[derive(Debug)]
pub struct Registration<L> {
    pub spec: WorkerSpec,
    pub held: Vec<HeldAttempt>,
    /// Which of its process's connections this is; 0 if they are not counted.
    pub connection: u64,
    pub admission: Admission,
    pub link: L,
    /// Who lets it join.
    pub by: Option<Actor>,
}

/// Counted from 1 on a stream; 0 is no report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ReportNumber(pub u64);

#[derive(Debug)]
pub struct NumberedReport {
    pub number: ReportNumber,
    pub attempt: HeldAttempt,
    pub report: Report,
}

impl<E: Edge> Host<E> {
    pub fn handle_session(
        &mut self,
        session: SessionKey,
        input: SessionInput<E::Link, E::Malformed>,
        observer: &mut impl Observer,
    ) {
        let SessionInput { worker, register, before, reports, malformed, after, last_report } =
            input;
        if let Some(why) = self.mode.refuses() {
            // The worker goes on with what it has, and tries again later.
            if let Some(registration) = register {
                self.outbox.open(session, registration.link);
            }
            self.outbox.end(session, End::Unavailable(why));
            return;
        }
        if let Some(registration) = register
            && !self.register(session, registration, observer)
        {
            return;
        }
        // Whoever was refused, or has been sent away, speaks for nobody: names are no proof.
        if self.outbox.is_refused(session) {
            return;
        }
        let mut refusals: Vec<Refusal<E::Malformed>> = malformed
            .into_iter()
            .map(|(report, malformed)| Refusal::Malformed { report, malformed })
            .collect();
        self.session_commands(session, before, &mut refusals, observer);
        let had_reports = !reports.is_empty() || !refusals.is_empty();
        for numbered in reports {
            let (attempt, report) = (numbered.attempt, numbered.report);
            let is_result = matches!(report, Report::Complete { .. });
            let command = Command::Report { worker: worker.clone(), attempt, report };
            let result = self.command(command, observer).result;
            if is_result && self.is_duplicate(attempt, &result) {
                observer.duplicate();
            }
            if let Err(rejection) = result {
                refusals.push(Refusal::Rejected { report: numbered.number, attempt, rejection });
            }
        }
        self.session_commands(session, after, &mut refusals, observer);
        if had_reports || !refusals.is_empty() {
            self.reply(Pending::Reports { session, done: last_report, refusals });
        }
    }

    /// The worker has closed its side.
    pub fn handle_session_closed(&mut self, session: SessionKey) {
        self.outbox.forget_refusal(session);
        match self.mode {
            Mode::Reigning => self.reply(Pending::Close(session)),
            // Nothing that it waits for will come.
            _ => self.outbox.close(session),
        }
    }

    /// A result of a job that another attempt has completed: the job ran twice.
    fn is_duplicate(&self, attempt: HeldAttempt, result: &Result<Answer, Rejection>) -> bool {
        let stale = match result {
            Ok(answer) => *answer == Answer::AlreadyCompleted,
            Err(rejection) => {
                matches!(rejection, Rejection::StaleToken { .. } | Rejection::OtherResult { .. })
            }
        };
        let job = stale.then(|| self.state().job(attempt.job)).flatten();
        job.is_some_and(
            |job| matches!(job.state, JobState::Completed { token, .. } if token != attempt.token),
        )
    }

    fn register(
        &mut self,
        session: SessionKey,
        registration: Registration<E::Link>,
        observer: &mut impl Observer,
    ) -> bool {
        let Registration { spec, held, connection, admission, link, by } = registration;
        self.outbox.open(session, link);
        if self.is_outdated(&spec, connection) {
            self.reply(Pending::End(session, End::Replaced));
            return false;
        }
        let command = Command::Register { spec, held, admission };
        match self.command_by(by.as_ref(), command, observer).result {
            Ok(Answer::Registered { worker, unknown }) => {
                let heartbeat_interval = self.state().config().heartbeat_interval;
                let registered = Registered { worker, unknown, heartbeat_interval };
                self.reply(Pending::Registered(session, registered));
                true
            }
            Ok(Answer::Submitted { .. } | Answer::AlreadyCompleted | Answer::Done) => {
                unreachable!("a registration is answered with a registration")
            }
            Err(rejection) => {
                self.outbox.refuse(session);
                self.reply(Pending::End(session, End::Refused(rejection)));
                false
            }
        }
    }

    /// Whether the process has given this connection up for another that it has registered on. Such
    /// are read after an absence, in any order, and say what the process held then.
    fn is_outdated(&mut self, spec: &WorkerSpec, connection: u64) -> bool {
        if connection == 0 {
            return false;
        }
        if self.connections.len() >= CONNECTIONS_MAX {
            self.connections.clear();
        }
        let latest = self.connections.entry(spec.id.clone()).or_default();
        if latest.0 == spec.instance && connection < latest.1 {
            return true;
        }
        *latest = (spec.instance, connection);
        false
    }

    fn session_commands(
        &mut self,
        session: SessionKey,
        commands: Vec<Command>,
        refusals: &mut Vec<Refusal<E::Malformed>>,
        observer: &mut impl Observer,
    ) {
        for command in commands {
            match self.command(command, observer).result {
                Ok(_) => {}
                Err(Rejection::UnknownWorker { .. }) => {
                    self.reply(Pending::End(session, End::RegisterAgain));
                }
                Err(rejection) => refusals.push(Refusal::Rejected {
                    report: ReportNumber(0),
                    attempt: NO_ATTEMPT,
                    rejection,
                }),
            }
        }
    }
}
