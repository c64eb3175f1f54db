//! Jobs on their way into the queue and out of it.

use std::sync::Arc;

use crate::event::{Decision, Reason, RunHeader};
use crate::index::classes::ClassNo;
use crate::index::timers::Timer;
use crate::life::{Counts, Moved};
use crate::model::{
    AcceptedJob, Attempt, Handoff, JobNo, JobStatus, MaybeWorker, Name, Phase, Priority,
    Requirements, Seq, Strategy, TakenKey, Target, Timestamp, Token, WorkerId, WorkerNo,
    is_made_by_scheduler,
};
use crate::place::rank::priority_bonus;
use crate::state::{Derived, Escalated, Job, JobState, Run, State};

impl State {
    pub(super) fn take_submission(
        &mut self,
        run: Option<&RunHeader>,
        first: JobNo,
        jobs: &[AcceptedJob],
        seq: Seq,
        at: Timestamp,
    ) {
        if let Some(header) = run {
            self.last_run = self.last_run.max(header.run);
            let count = u32::try_from(jobs.len()).expect("a run is bounded");
            if let Some(run) = self.runs.get_mut(header.run) {
                run.remembered += count;
                run.live += count;
            } else {
                let run = Run { id: header.id.clone(), remembered: count, live: count };
                self.runs.insert(header.run, run);
                self.index.run_ids.insert(header.id.clone(), header.run);
            }
        }
        for (offset, job) in jobs.iter().enumerate() {
            let no = JobNo(first.0 + offset as u64);
            self.insert_job(no, job, run.map(|header| header.run), seq, at);
        }
        // Only now, because a job may depend on one further down the list.
        for (offset, job) in jobs.iter().enumerate() {
            let no = JobNo(first.0 + offset as u64);
            for dependency in &job.dependencies {
                self.expect_job_mut(*dependency).dependents.push(no);
            }
            if job.status_at(at) != JobStatus::Waiting {
                let due = job.spec.extras().due(self.wall_ahead);
                self.queue_job(no, due, at);
                // The event alone does not tell how far ahead the wall clock was.
                let status = JobStatus::queued(due, at);
                if status != job.status_at(at) {
                    self.publish(no, status);
                }
            }
        }
    }

    fn insert_job(
        &mut self,
        no: JobNo,
        accepted: &AcceptedJob,
        run: Option<crate::model::RunNo>,
        seq: Seq,
        at: Timestamp,
    ) {
        let spec = &accepted.spec;
        self.last_job = no;
        self.statistics.intern(spec.kind());
        if let Some(sender) = &spec.sender {
            self.statistics.intern(sender);
        }
        let unmet = u32::try_from(accepted.dependencies.len()).expect("dependencies are bounded");
        #[cfg(feature = "defects")]
        let unmet =
            unmet - u32::from(unmet > 1 && self.has(crate::defect::Defect::ForgetDependency));
        let job = Job {
            spec: spec.clone(),
            state: JobState::Waiting { unmet },
            run,
            submitted_at: at,
            attempts: 0,
            counts: Counts::default(),
            escalated: None,
            pinned: None,
            predicted: accepted.predicted,
            rank: accepted.rank,
            ended_at: Timestamp(0),
            broken: u32::from(accepted.doomed),
            dependencies: accepted.dependencies.clone(),
            dependents: Vec::new(),
            locality: MaybeWorker::default(),
            avoid: MaybeWorker::default(),
            last: seq,
            derived: Derived {
                class: ClassNo::default(),
                features: self.statistics.features(spec),
            },
        };
        self.jobs.insert(no, job);
        self.enter_class(no);
        self.index.ids.insert(spec.id.clone(), no);
        if !is_made_by_scheduler(&spec.id) {
            self.ids.push_back(TakenKey { at, name: spec.id.as_name().clone(), job: no });
        }
        if let Some(key) = &spec.idempotency_key {
            self.index.keys.insert(key.clone(), no);
            self.keys.push_back(TakenKey { at, name: key.clone(), job: no });
        }
        self.totals.submitted += 1;
        self.totals.live += 1;
        self.totals.payload_bytes += spec.payload.len() as u64;
    }

    /// Queues a job that the event is not about, or that starts over, and publishes where it is now.
    pub(super) fn let_go(&mut self, no: JobNo, not_before: Timestamp, at: Timestamp) {
        self.queue_job(no, not_before, at);
        self.publish(no, JobStatus::queued(not_before, at));
    }

    /// The entry will say that the event brought this job into this state.
    pub(super) fn publish(&mut self, job: JobNo, to: JobStatus) {
        self.index.moved.push(Moved { job, to });
    }

    /// Ready, or waiting for its moment.
    pub(super) fn queue_job(&mut self, no: JobNo, not_before: Timestamp, at: Timestamp) {
        self.enter_keys(no);
        let job = self.jobs.get_mut(no).expect("events name jobs that are remembered");
        if JobStatus::queued(not_before, at) == JobStatus::Delayed {
            job.state = JobState::Delayed { until: not_before };
            self.index.timers.set(not_before, Timer::Delayed(no));
            return;
        }
        job.state = JobState::Ready;
        self.list_ready(no);
        self.index.dirty = true;
    }

    /// Takes the job out of whatever it waits in.
    pub(super) fn unqueue_job(&mut self, no: JobNo) {
        let job = self.jobs.get(no).expect("events name jobs that are remembered");
        match &job.state {
            JobState::Ready => self.unlist_ready(no),
            JobState::Delayed { until } => self.index.timers.unset(*until, Timer::Delayed(no)),
            JobState::Waiting { .. }
            | JobState::Active(_)
            | JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. } => {}
        }
    }

    pub(super) fn take_assignment(
        &mut self,
        no: JobNo,
        worker: WorkerNo,
        hedge: bool,
        decision: &Decision,
        seq: Seq,
        at: Timestamp,
    ) {
        let token = Token::from(seq);
        self.token_max = token;
        self.take_from_queue(no);
        let job = self.jobs.get_mut(no).expect("events name jobs that are remembered");
        let mut quiet_after = self.hedging.quiet_after(job.derived.features.kind, &self.config);
        if decision.load_model {
            quiet_after += decision.predicted_duration;
        }
        let attempt = Attempt {
            token,
            worker,
            phase: Phase::Offered { since: at, quiet_at: at + quiet_after },
            offered_at: at,
            predicted: decision.predicted_duration,
            hedge,
            short: decision.predicted_duration <= self.config.prefetch_horizon,
        };
        self.index.timers.set(attempt.phase.deadline(), Timer::Attempt(no, token));
        match &mut job.state {
            JobState::Active(attempts) => attempts.push(attempt.clone()),
            _ => {
                job.state = JobState::Active(vec![attempt.clone()]);
                job.attempts += 1;
            }
        }
        let resources = job.spec.requirements.resources;
        self.attach(no, &attempt, resources, at);

        if hedge {
            self.totals.hedged += 1;
        } else {
            self.totals.assigned += 1;
        }
        if decision.reason == Reason::ToLearn {
            self.totals.tried_at = self.totals.work;
        }
        if decision.fallback || decision.strategy == Strategy::RoundRobin {
            self.turn = worker;
        }
        if let Some(shadow) = &decision.shadow {
            self.shadow.count(worker, shadow);
        }
    }

    pub(super) fn escalate(&mut self, no: JobNo, priority: Priority, role: Option<Name>) {
        self.leave_class(no);
        let config = &self.config;
        let job = self.jobs.get_mut(no).expect("events name jobs that are remembered");
        job.rank += priority_bonus(config, job.priority()) - priority_bonus(config, priority);
        job.escalated = Some(Box::new(Escalated { priority, role }));
        self.enter_class(no);
    }

    /// The receiver is to have it from now on, wherever it failed before.
    pub(super) fn hand_off(&mut self, no: JobNo, handoff: &Handoff) {
        self.leave_class(no);
        self.handoffs.entry(no).or_default().push(handoff.clone());
        self.expect_job_mut(no).avoid = None.into();
        self.enter_class(no);
    }

    pub(super) fn pin(&mut self, no: JobNo, worker: WorkerNo) {
        let id = self.expect_worker(worker).spec.id.clone();
        let job = self.expect_job(no);
        let was_ready = job.state == JobState::Ready;
        self.unqueue_job(no);
        self.leave_class(no);
        self.expect_job_mut(no).pinned = Some(Box::new(id));
        self.enter_class(no);
        if was_ready {
            self.list_ready(no);
            self.index.dirty = true;
        } else if let JobState::Delayed { until } = self.expect_job(no).state {
            self.index.timers.set(until, Timer::Delayed(no));
        }
    }

    pub(crate) fn enter_class(&mut self, no: JobNo) {
        let requirements = self.requirements_of(no);
        let paused = self.is_paused(&requirements.kind);
        let groups = &self.index.groups;
        let class =
            self.index.classes.enter(&requirements, paused, |wanted| groups.matching(wanted));
        self.expect_job_mut(no).derived.class = class;
    }

    /// Jobs of a class share one copy of its requirements.
    pub(crate) fn share_requirements(&mut self, no: JobNo) {
        let job = self.jobs.get_mut(no).expect("events name jobs that are remembered");
        let classes = &self.index.classes;
        if let Some(class) = classes.find(&job.spec.requirements)
            && let Some(spec) = Arc::get_mut(&mut job.spec)
        {
            spec.requirements = classes.get(class).requirements.clone();
            if let Some(shared) = spec.key_set().and_then(|keys| self.index.gates.shared(keys)) {
                spec.set_keys(Some(shared));
            }
        }
    }

    pub(super) fn leave_class(&mut self, no: JobNo) {
        let class = self.expect_job(no).derived.class;
        self.index.classes.leave(class);
    }

    /// What the job requires after pinning, handing off and escalation: a person comes before a
    /// worker, and a worker before the job's own wish.
    fn requirements_of(&self, no: JobNo) -> Arc<Requirements> {
        let job = self.expect_job(no);
        let role = job.escalated.as_ref().and_then(|escalated| escalated.role.clone());
        let given = self.handoffs_of(no).last().map(|last| last.receiver.target());
        #[cfg(feature = "defects")]
        let given = given.filter(|_| !self.has(crate::defect::Defect::IgnoresReceiver));
        let target = match (&job.pinned, given, role) {
            (Some(worker), _, _) => Target::Receiver(WorkerId::clone(worker)),
            (None, Some(given), _) => given,
            (None, None, Some(role)) => Target::Role(role),
            (None, None, None) => return job.spec.requirements.clone(),
        };
        Arc::new(Requirements { target, ..(*job.spec.requirements).clone() })
    }
}
