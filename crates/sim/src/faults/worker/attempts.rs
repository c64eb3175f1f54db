//! The life of an attempt on a simulated worker: offered, perhaps claimed, queued, run, ended.

use bellwether_core::model::{
    FailureCause, Guarantee, Handoff, HandoffSignature, HeldAttempt, JobSpec, Micros, RevokeReason,
    Token,
};
use bellwether_core::{Answer, Command, Offer, Rejection, Report};
use bytes::Bytes;

use super::{Held, HeldPhase, SimWorker};
use crate::faults::court::{Execution, Observation};
use crate::faults::due::{About, ReportKind, WorkerDue};
use crate::faults::program::{Program, Temper};
use crate::faults::stage::Stage;

impl SimWorker {
    pub(super) fn offered(&mut self, stage: &mut Stage, offer: Offer) {
        if !self.seen.insert(offer.attempt.token) {
            return;
        }
        if self.lacks.as_ref() == Some(offer.spec.kind()) {
            stage.count("no_handler");
            self.refuse(stage, offer);
            return;
        }
        let exactly_once = offer.spec.guarantee == Guarantee::ExactlyOnce;
        let (phase, report) = if exactly_once {
            (HeldPhase::Claiming, Report::Claim)
        } else {
            (HeldPhase::Queued, Report::Acknowledge)
        };
        self.held.push(Held {
            attempt: offer.attempt,
            spec: offer.spec,
            number: offer.number,
            load_model: offer.load_model,
            previous: previous(&offer.handoffs),
            phase,
            unanswered: None,
        });
        self.say(stage, offer.attempt.token, report);
        self.fill_slots(stage);
    }

    /// It has no handler for such jobs.
    fn refuse(&mut self, stage: &mut Stage, offer: Offer) {
        let token = offer.attempt.token;
        self.held.push(Held {
            attempt: offer.attempt,
            spec: offer.spec,
            number: offer.number,
            load_model: None,
            previous: HandoffSignature::NONE,
            phase: HeldPhase::Ended,
            unanswered: None,
        });
        let (cause, error) = (FailureCause::NoHandler, String::new());
        self.say(stage, token, Report::Fail { cause, error, retry_after: None });
    }

    pub(super) fn granted(&mut self, stage: &mut Stage, attempt: HeldAttempt) {
        let Some(held) = self.held_mut(attempt.token) else { return };
        if held.phase == HeldPhase::Claiming {
            held.phase = HeldPhase::Queued;
            held.unanswered = None;
        }
        self.fill_slots(stage);
    }

    pub(super) fn revoked(
        &mut self,
        stage: &mut Stage,
        attempt: HeldAttempt,
        _reason: RevokeReason,
    ) {
        self.drop_attempt(attempt.token);
        self.fill_slots(stage);
    }

    /// Gives back what it has not begun, as a worker that drains may.
    pub(super) fn give_back_queued(&mut self, stage: &mut Stage) {
        let queued: Vec<Token> = self
            .held
            .iter_mut()
            .filter(|held| held.phase == HeldPhase::Queued)
            .map(|held| {
                held.phase = HeldPhase::Ended;
                held.attempt.token
            })
            .collect();
        for token in queued {
            let report = Report::Fail {
                cause: FailureCause::Returned,
                error: "draining".to_owned(),
                retry_after: None,
            };
            self.say(stage, token, report);
        }
    }

    pub(super) fn fill_slots(&mut self, stage: &mut Stage) {
        loop {
            let occupied =
                |held: &&Held| matches!(held.phase, HeldPhase::Running | HeldPhase::Loading);
            if self.held.iter().filter(occupied).count() >= self.spec.slots as usize {
                return;
            }
            let next = self.held.iter().find(|held| held.phase == HeldPhase::Queued);
            let Some(token) = next.map(|held| held.attempt.token) else { return };
            self.begin(stage, token);
        }
    }

    pub(super) fn begin(&mut self, stage: &mut Stage, token: Token) {
        let models = &self.spec.models;
        let Some(held) = self.held.iter_mut().find(|held| held.attempt.token == token) else {
            return;
        };
        match held.load_model.take() {
            Some(model) if !models.contains(&model) => {
                held.phase = HeldPhase::Loading;
                held.load_model = Some(model);
                let delay = stage.random.between(200_000, 3_000_000);
                self.after(stage, delay, WorkerDue::ModelReady(token));
            }
            Some(_) | None => self.run(stage, token),
        }
    }

    pub(super) fn model_ready(&mut self, stage: &mut Stage, token: Token) {
        let Some(held) = self.held_mut(token) else { return };
        let Some(model) = held.load_model.take() else { return };
        let mut models = self.spec.models.to_vec();
        models.push(model.clone());
        models.sort();
        models.dedup();
        self.spec.models = models.into();
        let command = Command::ModelLoaded {
            worker: self.spec.id.clone(),
            model,
            took: Micros::from_millis(500),
        };
        self.send(stage, About::Other, command);
        self.run(stage, token);
    }

    pub(super) fn run(&mut self, stage: &mut Stage, token: Token) {
        let Some(held) = self.held_mut(token) else { return };
        held.phase = HeldPhase::Running;
        let attempt = held.attempt;
        let program = Program::from_payload(&held.spec.payload);
        stage.see(Observation::Executed { attempt, stage: Execution::Started });
        stage.note(|| format!("{} runs job {} as {token}", self.spec.id, attempt.job));
        let Some(program) = program.filter(|program| program.temper != Temper::Hangs) else {
            return;
        };
        self.change_mind(stage, token);
        let nominal = u64::from(program.duration_ms) * 1_000 * 100 / u64::from(self.speed_percent);
        let delay = stage.random.between(nominal * 9 / 10, nominal * 11 / 10);
        self.after(stage, delay, WorkerDue::JobEnds(token));
    }

    /// After it was gray: what stood still runs to its end.
    pub(super) fn resume_work(&mut self, stage: &mut Stage) {
        let running: Vec<Token> = self
            .held
            .iter()
            .filter(|held| held.phase == HeldPhase::Running && !hangs(&held.spec))
            .map(|held| held.attempt.token)
            .collect();
        for token in running {
            let delay = stage.random.between(1_000, 2_000_000);
            self.after(stage, delay, WorkerDue::JobEnds(token));
        }
    }

    pub(super) fn job_ends(&mut self, stage: &mut Stage, token: Token) {
        let gray = self.gray;
        let Some(held) = self.held_mut(token) else { return };
        if gray || held.phase != HeldPhase::Running {
            return;
        }
        let attempt = held.attempt;
        let Some(program) = Program::from_payload(&held.spec.payload) else { return };
        if program.temper == Temper::Poison {
            stage.count("worker_killed_by_poison");
            self.kill(stage);
            let delay = stage.random.between(100_000, 5_000_000);
            self.after(stage, delay, WorkerDue::Starts);
            return;
        }
        held.phase = HeldPhase::Ended;
        let may_go = held.spec.guarantee != Guarantee::AtMostOnce;
        let mut report = outcome(program.temper, held.number, attempt, &held.spec);
        if may_go && SimWorker::wants_to_hand_off(stage) {
            stage.count("job_handed_off");
            report = self.hand_off(stage, token).unwrap_or(report);
        }
        if matches!(report, Report::Complete { .. }) {
            stage.see(Observation::Executed { attempt, stage: Execution::Finished });
        }
        if stage.random.chance(stage.weather.kill_after_effect) {
            stage.count("worker_killed_after_effect");
            self.kill(stage);
            let delay = stage.random.between(100_000, 20_000_000);
            self.after(stage, delay, WorkerDue::Starts);
            return;
        }
        self.say(stage, token, report);
        self.fill_slots(stage);
    }

    pub(super) fn report_answered(
        &mut self,
        stage: &mut Stage,
        attempt: HeldAttempt,
        kind: ReportKind,
        result: &Result<Answer, Rejection>,
    ) {
        let Some(held) = self.held_mut(attempt.token) else { return };
        match result {
            Err(_) => self.drop_attempt(attempt.token),
            Ok(_) if kind == ReportKind::End => self.drop_attempt(attempt.token),
            // A claim is answered by the grant alone.
            Ok(_) if kind == ReportKind::Acknowledge => {
                if matches!(held.unanswered, Some((Report::Acknowledge, _))) {
                    held.unanswered = None;
                }
            }
            Ok(_) => {}
        }
        self.fill_slots(stage);
    }

    pub(super) fn report_progress(&mut self, stage: &mut Stage) {
        if self.gray {
            return;
        }
        let moving: Vec<HeldAttempt> = self
            .held
            .iter()
            .filter(|held| held.phase == HeldPhase::Running && !hangs(&held.spec))
            .map(|held| held.attempt)
            .collect();
        for attempt in moving {
            let permille = stage.random.below(1_000) as u32;
            let report = Report::Progress { permille, note: String::new() };
            self.send_report(stage, attempt, report);
        }
    }
}

fn previous(chain: &[Handoff]) -> HandoffSignature {
    chain.last().map_or(HandoffSignature::NONE, |last| last.signature)
}

fn hangs(spec: &JobSpec) -> bool {
    Program::from_payload(&spec.payload).is_none_or(|program| program.temper == Temper::Hangs)
}

fn outcome(temper: Temper, number: u32, attempt: HeldAttempt, spec: &JobSpec) -> Report {
    let fail =
        |cause, retry_after| Report::Fail { cause, error: "as told".to_owned(), retry_after };
    match temper {
        Temper::FailsAtFirst if number < 3 => fail(FailureCause::Failed, None),
        Temper::Fails => fail(FailureCause::Failed, None),
        Temper::FailsForGood => fail(FailureCause::Permanent, None),
        Temper::Snoozes if number < 2 => {
            fail(FailureCause::Returned, Some(Micros::from_millis(700)))
        }
        Temper::Succeeds
        | Temper::FailsAtFirst
        | Temper::Snoozes
        | Temper::Poison
        | Temper::Hangs => {
            // Half of the jobs give another result each time they run.
            let varies = attempt.job.0.is_multiple_of(2);
            let mark = if varies { attempt.token.0 } else { 0 };
            Report::Complete { result: Bytes::from(format!("{} {mark}", spec.id)) }
        }
    }
}
