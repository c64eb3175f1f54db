//! Events, decisions and effects as a reader of a test wants to see them.

use bellwether_core::event::Shadow;
use bellwether_core::model::{JobNo, Token, WorkerNo};
use bellwether_core::{Decision, Effect, Entry, Event, JobState, Reason};

use super::world::{START, World};

impl World {
    /// One event; none for those that only echo what the script said.
    pub(crate) fn event(&self, entry: &Entry) -> Option<String> {
        let job = |no: &JobNo| self.job_name(*no);
        let worker = |no: &WorkerNo| self.worker_name(*no);
        let on = |no: &JobNo, token: &Token| format!("{} {}", job(no), self.holder(*token));
        Some(match &entry.event {
            Event::Submitted { .. } | Event::WorkerJoined { .. } => return None,
            Event::Assigned { job: no, worker: to, hedge, .. } => {
                let verb = if *hedge { "hedge" } else { "assign" };
                format!("{verb} {} {}", job(no), worker(to))
            }
            Event::Started { job: no, token } => format!("start {}", on(no, token)),
            Event::Granted { job: no, token } => format!("grant {}", on(no, token)),
            Event::Progressed { job: no, permille, note, .. } => {
                format!("progress {} {permille} {note}", job(no)).trim_end().to_owned()
            }
            Event::Completed { job: no, token, .. } => format!("complete {}", on(no, token)),
            Event::AttemptFailed { job: no, token, cause, error } => {
                format!("attempt {} {cause:?}: {error}", on(no, token))
            }
            Event::Revoked { job: no, token, reason } => {
                format!("revoke {} {reason:?}", on(no, token))
            }
            Event::Retried { job: no, not_before, .. } => {
                format!("requeue {} in {}", job(no), not_before.since(entry.at))
            }
            Event::Due { job: no } => format!("due {}", job(no)),
            Event::Escalated { job: no, priority, role } => {
                let role = role.as_ref().map_or(String::new(), |role| format!(" role={role}"));
                format!("escalate {} {}{role}", job(no), priority.as_str())
            }
            Event::DeadLettered { job: no, reason } => format!("dead {} {reason:?}", job(no)),
            Event::Failed { job: no, cause } => format!("fail {} {cause:?}", job(no)),
            Event::Skipped { job: no, because } => {
                format!("skip {} because {}", job(no), job(because))
            }
            Event::SkippedByKey { job: no, key, holder } => {
                format!("skip {} for {key}, held by {}", job(no), job(holder))
            }
            Event::Cancelled { job: no, reason } => format!("cancel {}: {reason}", job(no)),
            Event::Reopened { job: no } => format!("reopen {}", job(no)),
            Event::Pinned { job: no, worker: to } => format!("pin {} {}", job(no), worker(to)),
            Event::WorkerReturned { worker: no } => format!("return {}", worker(no)),
            Event::WorkerReported { worker: no, beat } => {
                let state = if beat.overloaded { " overloaded" } else { "" };
                let (load, queue) = (beat.load_permille, beat.queue_depth);
                format!("report {} load={load} queue={queue}{state}", worker(no))
            }
            Event::WorkerDraining { worker: no } => format!("drain {}", worker(no)),
            Event::WorkerUndrained { worker: no } => format!("undrain {}", worker(no)),
            Event::WorkerLost { worker: no } => format!("lost {}", worker(no)),
            Event::WorkerLeft { worker: no } => format!("left {}", worker(no)),
            Event::ModelLoaded { worker: no, model, took } => {
                format!("warm {} {model} {took}", worker(no))
            }
            Event::HandedOff { job: no, handoff, .. } => {
                format!("hand off {} {} to {}", job(no), handoff.from, handoff.receiver)
            }
            Event::WorkerSilent { worker: no } => format!("silent {}", worker(no)),
            Event::WorkerHeard { worker: no } => format!("heard {}", worker(no)),
            Event::WorkerInvited { worker, .. } => format!("invite {worker}"),
            Event::WorkerKeyBound { worker, key, standing, .. } => {
                format!("bind {worker} key {} {}", key.0[0], standing.as_str())
            }
            Event::WorkerKeyRotated { worker, key } => format!("rotate {worker} key {}", key.0[0]),
            Event::WorkerKeyRevoked { worker } => format!("revoke key of {worker}"),
            Event::Paused { kind } => format!("pause {kind}"),
            Event::Unpaused { kind } => format!("unpause {kind}"),
            Event::Configured { version, .. } => format!("configure v{version}"),
            Event::PredictorFailed { job: no, .. } => format!("predictor failed for {}", job(no)),
            Event::BreakerOpened { until } => {
                format!("breaker opens for {}", until.since(entry.at))
            }
            Event::BreakerClosed => "breaker closes".to_owned(),
            Event::TermsExtended { by } => format!("extend terms by {by}"),
            Event::Checkpointed { checkpoint } => format!("checkpoint {}", checkpoint.position),
            Event::ActorNamed { number, actor } => format!("actor {number} is {}", actor.name),
            Event::ClockStepped { to, .. } => format!("wall clock {:+} s", to.0 / 1_000_000),
            Event::Noted { name, value } => format!("note {name} {value}"),
            Event::Warmed { kind, samples } => format!("warmed {kind} x{}", samples.len()),
            Event::DriftDetected { kind, error_percent, usual_percent } => {
                format!("drift of {kind}: {error_percent}% instead of {usual_percent}%")
            }
        })
    }

    /// One event with all that a reader might miss: jobs and workers that came, and decisions.
    pub(crate) fn telling(&self, entry: &Entry) -> String {
        match &entry.event {
            Event::Submitted { run, jobs, .. } => {
                let run = run.as_ref().map_or(String::new(), |run| format!("run {}: ", run.id));
                let jobs: Vec<String> =
                    jobs.iter().map(|job| format!("{} rank {}", job.spec.id, job.rank)).collect();
                format!("submit {run}{}", jobs.join(", "))
            }
            Event::WorkerJoined { spec, .. } => format!("join {} slots {}", spec.id, spec.slots),
            Event::Assigned { job, worker, decision, .. } => {
                format!("assign {} {}", self.job_name(*job), self.decision_text(*worker, decision))
            }
            _ => self.event(entry).expect("only those above are echoes"),
        }
    }

    /// A batch as one line; none if there is nothing to tell.
    pub(crate) fn line(&self, batch: &[Entry]) -> Option<String> {
        let told: Vec<String> = batch.iter().filter_map(|entry| self.event(entry)).collect();
        (!told.is_empty()).then(|| told.join(" | "))
    }

    pub(crate) fn clock(&self) -> String {
        format!("[{}]", self.now.since(START))
    }

    fn worker_name(&self, no: WorkerNo) -> String {
        let joined = self.journal.iter().rev().find_map(|entry| match &entry.event {
            Event::WorkerJoined { worker, spec } if *worker == no => Some(spec.id.to_string()),
            _ => None,
        });
        joined.unwrap_or_else(|| format!("#{no}"))
    }

    /// Who got the offer of this token.
    fn holder(&self, token: Token) -> String {
        let found = self.journal.iter().find(|entry| Token::from(entry.seq) == token);
        match found.map(|entry| &entry.event) {
            Some(Event::Assigned { worker, .. }) => self.worker_name(*worker),
            other => panic!("token {token} is not of an assignment but of {other:?}"),
        }
    }

    /// The last decision on a job, in full.
    pub(crate) fn decision(&self, id: &str) -> String {
        let found = self.journal.iter().rev().find_map(|entry| match &entry.event {
            Event::Assigned { job, worker, decision, .. } if self.job_name(*job) == id => {
                Some((*worker, decision))
            }
            _ => None,
        });
        let (worker, decision) = found.unwrap_or_else(|| panic!("{id} was never placed"));
        self.decision_text(worker, decision)
    }

    fn decision_text(&self, worker: WorkerNo, decision: &Decision) -> String {
        let fallback = if decision.fallback { " (fallback)" } else { "" };
        let mut text = format!(
            "{} by {}{fallback}: {}; score {}, wait {}, duration {}",
            self.worker_name(worker),
            decision.strategy.as_str(),
            reason(decision.reason),
            decision.score.0,
            decision.predicted_wait,
            decision.predicted_duration,
        );
        if decision.load_model {
            text += ", loads the model";
        }
        for loser in &decision.losers {
            text += &format!("; {} {}", self.worker_name(loser.worker), loser.score.0);
        }
        if let Some(shadow) = &decision.shadow {
            text += &self.shadow_text(shadow);
        }
        text
    }

    fn shadow_text(&self, shadow: &Shadow) -> String {
        let Shadow { worker, predicted_finish, live_finish, round_robin_finish, round_robin: _ } =
            *shadow;
        format!(
            "; shadow {} {predicted_finish} against {live_finish}, round robin {round_robin_finish}",
            self.worker_name(worker)
        )
    }

    pub(crate) fn effect(&self, effect: &Effect) -> String {
        match effect {
            Effect::Offer { worker, offer } => {
                let load = offer.load_model.as_ref();
                let load = load.map_or(String::new(), |model| format!(" load {model}"));
                let job = self.job_name(offer.attempt.job);
                format!("offer {job} {} number {}{load}", self.worker_name(*worker), offer.number)
            }
            Effect::Grant { worker, attempt } => {
                format!("grant {} {}", self.job_name(attempt.job), self.worker_name(*worker))
            }
            Effect::Revoke { worker, attempt, reason } => {
                let job = self.job_name(attempt.job);
                format!("revoke {job} {} {reason:?}", self.worker_name(*worker))
            }
            Effect::Ended { job } => format!("ended {}", self.job_name(*job)),
            Effect::Drain { worker } => format!("drain {}", self.worker_name(*worker)),
            Effect::Dismiss { worker } => format!("dismiss {}", self.worker_name(*worker)),
        }
    }

    pub(crate) fn job_state(&self, id: &str) -> String {
        let state = self.engine.state();
        let Some(job) = state.job_no(id).and_then(|no| state.job(no)) else {
            return format!("{id} is forgotten");
        };
        let detail = match &job.state {
            JobState::Waiting { unmet } => format!(" for {unmet}"),
            JobState::Delayed { until } => format!(" for {}", until.since(self.now)),
            JobState::Active(attempts) => {
                let on: Vec<String> = attempts.iter().map(|a| self.worker_name(a.worker)).collect();
                format!(" on {}", on.join("+"))
            }
            JobState::Ready
            | JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. } => String::new(),
        };
        let (failures, crashes, returns) =
            (job.counts.failures, job.counts.crashes, job.counts.returns);
        let name = job.state.status().as_str();
        format!("{id} {name}{detail}, failures {failures}, crashes {crashes}, returns {returns}")
    }
}

fn reason(reason: Reason) -> String {
    match reason {
        Reason::LeastLoaded { depth } => format!("least loaded, depth {depth}"),
        Reason::ResourceFit { free_cpu, required_cpu, free_memory, required_memory } => format!(
            "resource fit, cpu {required_cpu} of {free_cpu}, memory {required_memory} of {free_memory}"
        ),
        other => in_words(&format!("{other:?}")),
    }
}

/// `OnlyWorker` as `only worker`.
fn in_words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}
