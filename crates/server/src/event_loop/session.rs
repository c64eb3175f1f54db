//! What workers send.

use bellwether_core::model::{HeldAttempt, JobNo, Seq, Token};
use bellwether_core::{Answer, Command, JobState, Rejection, Report};

use super::message::{Registration, ReportNumber, SessionInput, SessionKey};
use super::outbox::{End, Refusal, Registered};
use super::reply::Reply;
use super::run::Loop;
use super::unavailable::Unavailable;

/// Stands for a part of a message that is about no attempt.
const NO_ATTEMPT: HeldAttempt = HeldAttempt { job: JobNo(0), token: Token(0) };

impl Loop {
    pub(super) fn session(&mut self, session: SessionKey, input: SessionInput) {
        let SessionInput { worker, register, before, reports, malformed, after, last_report } =
            input;
        if let Some(registration) = register
            && !self.register(session, registration)
        {
            return;
        }
        let mut refusals: Vec<Refusal> = malformed
            .into_iter()
            .map(|(report, malformed)| Refusal::Malformed { report, malformed })
            .collect();
        self.session_commands(session, before, &mut refusals);
        let had_reports = !reports.is_empty() || !refusals.is_empty();
        for numbered in reports {
            let (attempt, report) = (numbered.attempt, numbered.report);
            let is_result = matches!(report, Report::Complete { .. });
            let command = Command::Report { worker: worker.clone(), attempt, report };
            let result = self.handle_command(command).result;
            if is_result && self.is_duplicate(attempt, &result) {
                self.meters.duplicate();
            }
            if let Err(rejection) = result {
                refusals.push(Refusal::Rejected { report: numbered.number, attempt, rejection });
            }
        }
        self.session_commands(session, after, &mut refusals);
        if had_reports || !refusals.is_empty() {
            let reply = Reply::Reports { session, done: last_report, refusals };
            self.reply(self.last_seq(), reply);
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

    /// The disk is full, so nothing that a worker says can be kept.
    pub(super) fn refuse_session(&mut self, session: SessionKey, input: SessionInput) {
        let why = End::Unavailable(Unavailable::DiskFull);
        match input.register {
            // The worker goes on with what it has, and tries again later.
            Some(registration) => drop(registration.outgoing.try_send(Err(why))),
            None => self.outbox.end(session, why),
        }
    }

    fn register(&mut self, session: SessionKey, registration: Registration) -> bool {
        let Registration { spec, held, outgoing } = registration;
        self.outbox.open(session, outgoing);
        let handled = self.handle_command(Command::Register { spec, held });
        match handled.result {
            Ok(Answer::Registered { worker, unknown }) => {
                let heartbeat_interval = self.state().config().heartbeat_interval;
                let registered = Registered { worker, unknown, heartbeat_interval };
                self.reply(handled.seq, Reply::Registered(session, registered));
                true
            }
            Ok(Answer::Submitted { .. } | Answer::AlreadyCompleted | Answer::Done) => {
                unreachable!("a registration is answered with a registration")
            }
            Err(rejection) => {
                self.reply(handled.seq, Reply::End(session, End::Refused(rejection)));
                false
            }
        }
    }

    fn session_commands(
        &mut self,
        session: SessionKey,
        commands: Vec<Command>,
        refusals: &mut Vec<Refusal>,
    ) {
        for command in commands {
            match self.handle_command(command).result {
                Ok(_) => {}
                Err(Rejection::UnknownWorker { .. }) => {
                    let seq: Seq = self.last_seq();
                    self.reply(seq, Reply::End(session, End::RegisterAgain));
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
