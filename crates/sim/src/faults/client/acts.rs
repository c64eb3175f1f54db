//! What clients and operators wish for, one thing at a time.

use bellwether_core::Command;
use bellwether_core::model::config::PredictorKind;
use bellwether_core::model::{
    JobId, JobSpec, KeyTerms, Micros, Strategy, Submission, Target, WorkerId, WorkerSpec,
};

use super::{Clients, settle};
use crate::faults::court::Observation;
use crate::faults::ledger::Ending;
use crate::faults::plan::{self, KINDS};
use crate::faults::stage::Stage;

/// Jobs that a flood brings at once, at the most.
const FLOOD_JOBS_MAX: u64 = 80;

impl Clients {
    pub(super) fn act(&mut self, stage: &mut Stage) {
        match stage.random.below(100) {
            0..=34 => self.submit_single(stage),
            35..=54 => {
                let run = self.workload.run(&self.known);
                self.submit(stage, run);
            }
            55..=58 => self.flood(stage),
            59 => {
                if let Some(again) = self.workload.under_known_id(&self.known) {
                    stage.count("known_id_submitted");
                    self.ask(stage, Command::Submit(again), false);
                }
            }
            60..=61 => {
                let broken = self.workload.broken(&self.known);
                self.ask(stage, Command::Submit(broken), false);
            }
            62..=71 => self.cancel(stage),
            72..=76 => {
                if let Some(job) = self.some_failed_job(stage) {
                    self.ask(stage, Command::Retry { job, force: false }, false);
                }
            }
            77..=80 => self.pin(stage),
            81..=84 => {
                stage.count("drain_in_flight");
                let worker = self.some_worker(stage);
                self.ask(stage, Command::Drain { worker }, false);
            }
            85 => {
                stage.count("key_revoked");
                let worker = self.some_worker(stage);
                self.ask(stage, Command::RevokeKey { worker }, false);
            }
            86 => {
                let worker = stage.random.index(self.fleet.len());
                self.approve(stage, worker, false);
            }
            87 => {
                let worker = self.some_worker(stage);
                self.ask(stage, Command::Undrain { worker }, false);
            }
            88..=91 => self.pause(stage),
            92..=95 => self.unpause(stage),
            _ => self.reconfigure(stage),
        }
    }

    /// The worker may come back, or come at all.
    pub(super) fn approve(&mut self, stage: &mut Stage, worker: usize, insists: bool) {
        let Some(key) = self.fleet[worker].public_key else { return };
        let (worker, terms) = (plan::worker_id(worker), KeyTerms::default());
        self.ask(stage, Command::ApproveKey { worker, key, terms }, insists);
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
        let Some(job) = self.some_job(stage) else { return };
        let running =
            stage.court.ledger().job_named(&job).is_some_and(|(_, job)| !job.attempts.is_empty());
        if running {
            stage.count("cancel_in_flight");
        }
        self.ask(stage, Command::Cancel { job, reason: "changed my mind".to_owned() }, false);
    }

    /// Pins a job to a worker that is able to run it: another would leave it waiting for ever.
    fn pin(&mut self, stage: &mut Stage) {
        let Some(job) = self.some_job(stage) else { return };
        let worker = stage.random.index(self.fleet.len());
        let Some((_, record)) = stage.court.ledger().job_named(&job) else { return };
        if record.spec.extras().escalation.is_some() || !is_able(&self.fleet[worker], &record.spec)
        {
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
        self.config.prefetch_max = 2 * self.config.prefetch;
        self.config.limits = plan::limits(self.config.prefetch);
        self.config.max_queue_per_worker = random.between(1, 10) as u32;
        self.config.hedge_after = Micros::from_millis(random.between(50, 800));
        self.config.jobs_max = *random.pick(&[15, 40, 120, 500]);
        stage.see(Observation::Configuring { config: &self.config });
        let config = Box::new(self.config.clone());
        self.ask(stage, Command::Configure { config, expected_version: None }, false);
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

    fn some_worker(&self, stage: &mut Stage) -> WorkerId {
        plan::worker_id(stage.random.index(self.fleet.len()))
    }

    /// Pauses the type of a job that has not ended, so that it matters.
    fn pause(&mut self, stage: &mut Stage) {
        let Some(job) = self.some_job(stage) else { return };
        let Some((_, record)) = stage.court.ledger().job_named(&job) else { return };
        let kind = record.spec.kind().clone();
        stage.count("type_paused");
        self.ask(stage, Command::Pause { kind }, false);
    }

    fn unpause(&mut self, stage: &mut Stage) {
        let paused = stage.court.ledger().paused().to_vec();
        let kind = if paused.is_empty() {
            stage.random.pick_name(&KINDS)
        } else {
            stage.random.pick(&paused).clone()
        };
        self.ask(stage, Command::Unpause { kind }, false);
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
    // Others may say that they take any and lack a handler all the same.
    let handles = worker.types.contains(&needs.kind)
        || needs.kind.as_str() == KINDS[0]
        || worker.id == plan::worker_id(0);
    suits && skilled && warm && handles
}
