//! A confused worker, who speaks about attempts that are not its own.

use bellwether_core::model::{FailureCause, HeldAttempt, JobNo, Token};
use bellwether_core::{Command, Report};
use bytes::Bytes;

use super::SimWorker;
use crate::faults::due::About;
use crate::faults::stage::Stage;

impl SimWorker {
    /// Now and then: any kind of report, with a token near that of somebody else.
    pub(super) fn forge(&mut self, stage: &mut Stage) {
        if !stage.random.chance(stage.weather.forge) {
            return;
        }
        let jobs = stage.court.ledger().job_count() as u64;
        if jobs == 0 {
            return;
        }
        stage.count("report_forged");
        let job = JobNo(stage.random.between(1, jobs));
        let open = stage.court.ledger().job(job).and_then(|job| job.attempts.first());
        let guess = open.map_or(stage.court.last_token(), |open| open.token);
        let token = Token(guess.0.saturating_sub(stage.random.below(3)));
        let report = match stage.random.below(5) {
            0 => Report::Acknowledge,
            1 => Report::Claim,
            2 => Report::Progress { permille: 999, note: String::new() },
            3 => Report::Complete { result: Bytes::from_static(b"forged") },
            _ => Report::Fail {
                cause: FailureCause::Failed,
                error: "forged".to_owned(),
                retry_after: None,
            },
        };
        // Its own attempts are left alone: they would be true reports.
        if self.held.iter().any(|held| held.attempt.token == token) {
            return;
        }
        let attempt = HeldAttempt { job, token };
        let command = Command::Report { worker: self.spec.id.clone(), attempt, report };
        self.send(stage, About::Forgery, command);
    }
}
