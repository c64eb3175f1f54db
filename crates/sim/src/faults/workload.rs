//! The jobs that simulated clients ask for.

use std::num::NonZeroU32;
use std::sync::Arc;

use bellwether_core::model::{
    Escalation, Guarantee, JobId, JobSpec, KeySet, KeyUse, Micros, Name, OnFailure, OnLimit,
    Priority, Resources, Submission, Target, Timestamp, is_made_by_scheduler,
};

use super::plan::{self, CAPABILITIES, KINDS, MODELS, ROLES};
use super::program::{Program, Temper};
use super::random::Random;
use super::scheduler::WALL_START;

/// Makes jobs with names that never repeat.
#[derive(Debug)]
pub(crate) struct Workload {
    random: Random,
    named: u64,
    workers: usize,
    /// The longest job, in milliseconds.
    duration_max: u64,
    /// No job hangs, kills its worker or fails for good.
    gentle: bool,
}

impl Workload {
    pub(crate) fn new(mut random: Random, workers: usize) -> Workload {
        let duration_max = *random.pick(&[300, 3_000, 20_000]);
        Workload { random, named: 0, workers, duration_max, gentle: false }
    }

    /// Short jobs that end well.
    pub(crate) fn gentle(self) -> Workload {
        Workload { duration_max: self.duration_max.min(1_500), gentle: true, ..self }
    }

    pub(crate) fn single(&mut self) -> Submission {
        let mut job = self.job();
        if job.idempotency_key.is_some() && self.random.chance(150) {
            // As the library does: the job has a name, which lasts, and a key that does not.
            job.idempotency_key = Some(self.name("auto-k"));
            job.id = self.name("j");
        }
        let mut submission = Submission::one(job);
        if self.random.chance(200) {
            submission.run = Some(self.name("r"));
        }
        submission
    }

    /// A DAG whose jobs depend on earlier ones of it, and now and then on one of `known`.
    pub(crate) fn run(&mut self, known: &[JobId]) -> Submission {
        let count = self.random.between(2, 7) as usize;
        let keyed = self.random.chance(500);
        let mut jobs: Vec<JobSpec> = Vec::with_capacity(count);
        for _ in 0..count {
            let mut job = self.job();
            // Either all have keys or none has: a run is submitted again as a whole.
            job.idempotency_key = keyed.then(|| self.name("k"));
            for earlier in &jobs {
                if self.random.chance(400) {
                    job.depend_on(earlier.id.clone());
                }
            }
            if !known.is_empty() && self.random.chance(150) {
                let outside = self.random.pick(known).clone();
                job.depend_on(outside);
            }
            if self.random.chance(300) {
                job.on_failure = OnFailure::Run;
            }
            jobs.push(job);
        }
        // Order of submission is not order of dependency.
        if self.random.chance(300) {
            jobs.reverse();
        }
        Submission::of(Some(self.name("r")), jobs)
    }

    /// A submission that must be refused as a whole.
    pub(crate) fn broken(&mut self, known: &[JobId]) -> Submission {
        let mut submission = self.run(&[]);
        let last = submission.jobs.len() - 1;
        match self.random.below(4) {
            0 => {
                let id = submission.jobs[last].id.clone();
                submission.jobs[last].depend_on(id);
            }
            1 => submission.jobs[0].depend_on(JobId::fixed("nowhere")),
            2 => submission.jobs[last].retry = Some(99),
            _ => {
                let (first, end) =
                    (submission.jobs[0].id.clone(), submission.jobs[last].id.clone());
                submission.jobs[0].dependencies = Box::new([end]);
                submission.jobs[last].dependencies = Box::new([first]);
            }
        }
        if let Some(id) = known.first()
            && self.random.chance(200)
        {
            submission.jobs[0].id = id.clone();
        }
        // Without keys: a refusal must not depend on what a key has made before.
        submission.jobs.iter_mut().for_each(|job| job.idempotency_key = None);
        submission
    }

    /// A job under an id that another one may have, or may have had long ago.
    pub(crate) fn under_known_id(&mut self, known: &[JobId]) -> Option<Submission> {
        let given: Vec<&JobId> = known.iter().filter(|id| !is_made_by_scheduler(id)).collect();
        if given.is_empty() {
            return None;
        }
        let id = (*self.random.pick(&given)).clone();
        let mut job = self.job();
        (job.id, job.idempotency_key) = (id, None);
        Some(Submission::one(job))
    }

    /// The same wish again under another name, as a client does that makes up ids as it goes.
    pub(crate) fn renamed(&mut self, submission: &Submission) -> Option<Submission> {
        let [job] = submission.jobs.as_slice() else {
            return None;
        };
        job.idempotency_key.as_ref()?;
        let mut again = submission.clone();
        again.jobs[0].id = self.name("j");
        again.run = again.run.map(|_| self.name("r"));
        Some(again)
    }

    fn job(&mut self) -> JobSpec {
        let kind = self.random.pick_name(&KINDS);
        let key = self.random.chance(600).then(|| self.name("k"));
        // Many jobs are named by the scheduler.
        let is_named_there = self.random.chance(500);
        let id = self.name(if is_named_there { "job-1-0abc-" } else { "j" });
        let duration_ms = self.random.skewed(1, self.duration_max) as u32;
        let temper = self.temper();
        let random = &mut self.random;
        let mut job = JobSpec::new(id, kind);
        job.payload = Program { temper, duration_ms }.to_payload();
        job.idempotency_key = key;
        job.priority = *random.pick(&Priority::ALL);
        job.guarantee = *random.pick(&[
            Guarantee::AtMostOnce,
            Guarantee::AtLeastOnce,
            Guarantee::AtLeastOnce,
            Guarantee::ExactlyOnce,
            Guarantee::ExactlyOnce,
        ]);
        job.requirements_mut().target = match random.below(10) {
            0 => Target::Role(random.pick_name(&ROLES)),
            1 => {
                // The one type that every worker handles.
                job.requirements_mut().kind = Name::fixed(KINDS[0]);
                Target::Receiver(plan::worker_id(random.index(self.workers)))
            }
            _ => Target::Any,
        };
        // A receiver may lack a skill for ever; only jobs that somebody can run ask for one.
        if !matches!(job.requirements.target, Target::Receiver(_)) {
            if random.chance(200) {
                job.requirements_mut().capabilities = [random.pick_name(&CAPABILITIES)].into();
            }
            if random.chance(150) {
                job.requirements_mut().model = Some(random.pick_name(&MODELS));
            }
        }
        if random.chance(300) {
            job.requirements_mut().resources = Resources {
                cpu: random.between(0, u64::from(plan::WORKER_CPU)) as u32,
                memory: random.between(0, plan::WORKER_MEMORY),
            };
        }
        job.timeout = random.chance(300).then(|| Micros::from_secs(random.between(1, 30)));
        job.retry = random.chance(500).then(|| random.between(0, 5) as u32);
        job.sender = random.chance(500).then(|| random.pick_name(&["ann", "bob"]));
        if random.chance(150) {
            job.extras_mut().delay = Micros::from_millis(random.below(15_000));
        }
        if random.chance(100) {
            job.extras_mut().not_before = Timestamp(WALL_START + random.below(60_000_000));
        }
        if random.chance(150) {
            job.extras_mut().escalation = Some(Escalation {
                priority: random.chance(700).then_some(Priority::Critical),
                role: random.chance(500).then(|| random.pick_name(&ROLES)),
            });
        }
        job.set_keys(keys(self.named));
        job
    }

    fn temper(&mut self) -> Temper {
        let draw = self.random.below(100);
        if self.gentle {
            return match draw {
                0..=84 => Temper::Succeeds,
                85..=94 => Temper::FailsAtFirst,
                _ => Temper::Snoozes,
            };
        }
        match draw {
            0..=74 => Temper::Succeeds,
            75..=82 => Temper::FailsAtFirst,
            83..=86 => Temper::Fails,
            87..=88 => Temper::FailsForGood,
            89..=92 => Temper::Poison,
            93..=95 => Temper::Hangs,
            _ => Temper::Snoozes,
        }
    }

    /// A name, or an id, which is one.
    fn name<N: From<Name>>(&mut self, prefix: &str) -> N {
        self.named += 1;
        N::from(Name::fixed(&format!("{prefix}{}", self.named)))
    }
}

/// Not drawn, so that keys leave the seeds what they were: every other job has some.
fn keys(number: u64) -> Option<Arc<KeySet>> {
    let plain = |name: &str| KeyUse::plain(Name::fixed(name));
    let heavy = |key: KeyUse| KeyUse { weight: NonZeroU32::MIN.saturating_add(1), ..key };
    let tenant = || plain(["tenant-1", "tenant-2", "tenant-3"][(number / 3 % 3) as usize]);
    KeySet::of(match number % 13 {
        0 | 5 => vec![plain("gpu")],
        1 => vec![heavy(plain("gpu"))],
        2 | 7 => vec![tenant()],
        3 => vec![tenant(), plain("gpu")],
        4 => vec![KeyUse { limit: Some(NonZeroU32::MIN), ..plain("gpu") }],
        6 => vec![plain("once-1")],
        8 => vec![KeyUse { on_limit: Some(OnLimit::Replace), ..tenant() }],
        _ => return None,
    })
}
