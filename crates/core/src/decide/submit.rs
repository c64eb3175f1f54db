//! New jobs. A submission is checked whole, then taken whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::dag::{Resolved, critical_paths, numbers, resolve, topological};
use crate::command::{Answer, Throttle};
use crate::engine::Engine;
use crate::event::{Event, RunHeader};
use crate::model::limits::{DEPENDENCIES_MAX, KEYS_MAX, LABELS_MAX, RUN_JOBS_MAX};
use crate::model::queue::Queue;
use crate::model::{
    AcceptedJob, Aside, JobNo, JobSpec, KeyFound, KeySet, KeysSeen, Micros, MovedKey, RunId,
    Submission, TakenKey, Timestamp, is_made_by_scheduler,
};
use crate::place::backpressure::admit;
use crate::place::rank::{RankTerms, rank};
use crate::rejection::Rejection;
use crate::state::State;

/// Keys are written a second's worth at a time, unless there is no room for them.
const KEYS_PAUSE: Micros = Micros::from_secs(1);

impl Engine {
    pub(crate) fn submit(&mut self, submission: Submission) -> Result<Answer, Rejection> {
        let Submission { run, jobs, settled, keys, extends } = submission;
        check_size(&jobs)?;
        if let Some(known) = self.known_by_key(&jobs, &keys)? {
            let id = |no: &JobNo| self.state.job(*no).map(|job| job.spec.id.clone());
            let ids = known.iter().map(id).collect();
            return Ok(Answer::Submitted { jobs: known, known: Some(ids), throttle: None });
        }
        self.check_kept(&jobs, keys.kept)?;
        let throttle = self.admit(&jobs)?;
        for (index, job) in jobs.iter().enumerate() {
            let elsewhere = keys.ids.binary_search_by_key(&index, |(of, _)| *of).is_ok();
            self.check_id(job, elsewhere)?;
            self.check_job(job)?;
        }
        let header = self.header(run, jobs.len(), extends)?;
        let first = self.state.last_job.next();
        let resolved = resolve(&self.state, &jobs, first, &settled)?;
        let order = topological(&jobs, &resolved, first)?;

        let accepted = self.accept(jobs, resolved, first, &order);
        let taken: Vec<JobNo> = numbers(first, accepted.len()).collect();
        let doomed: Vec<JobNo> =
            taken.iter().zip(&accepted).filter(|(_, job)| job.doomed).map(|(no, _)| *no).collect();
        self.emit(Event::Submitted { run: header, first, jobs: accepted });
        for no in doomed {
            // It may have been skipped with another of this run.
            if self.state.job(no).is_some_and(|job| !job.state.has_ended()) {
                self.end_without_result(no, Event::Skipped { job: no, because: no });
            }
        }
        // The last comes first: of those that came together, the first are the older ones.
        for no in taken.iter().rev() {
            self.mind_keys(*no);
        }
        Ok(Answer::Submitted { jobs: taken, known: None, throttle })
    }

    fn admit(&self, jobs: &[JobSpec]) -> Result<Option<Throttle>, Rejection> {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::IgnoreBackpressure) {
            return Ok(None);
        }
        let bytes = jobs.iter().map(|job| job.payload.len() as u64).sum();
        admit(&self.state, jobs.len() as u64, bytes)
    }

    /// The jobs that these idempotency keys stand for, if all of them do.
    fn known_by_key(
        &self,
        jobs: &[JobSpec],
        seen: &KeysSeen,
    ) -> Result<Option<Vec<JobNo>>, Rejection> {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::ForgetIdempotencyKey) {
            return Ok(None);
        }
        let known = |(index, job): (usize, &JobSpec)| {
            let key = job.idempotency_key.as_ref()?;
            let place = seen.found.binary_search_by_key(&index, |(of, _)| *of).ok();
            let elsewhere = place.map(|place| seen.found[place].1);
            let Some(no) = self.state.index.keys.get(key).copied() else { return elsewhere };
            // What the job is, or was when it was written down, as long as anybody knows.
            let known = elsewhere.filter(|found| found.job == no).map_or(0, |found| found.print);
            let print = self.state.job(no).map_or(known, |job| job.spec.print());
            Some(KeyFound { job: no, print })
        };
        let found: Vec<KeyFound> = jobs.iter().enumerate().map_while(known).collect();
        if found.len() == jobs.len() {
            let is_other =
                |(job, key): &(&JobSpec, &KeyFound)| key.print != 0 && key.print != job.print();
            if let Some((job, _)) = jobs.iter().zip(&found).find(is_other) {
                return Err(key_taken(job));
            }
            return Ok(Some(found.into_iter().map(|key| key.job).collect()));
        }
        match jobs.iter().enumerate().find(|job| known(*job).is_some()) {
            Some((_, job)) => Err(key_taken(job)),
            None => Ok(None),
        }
    }

    /// A key or an id is taken only if it can be told from all that were taken in its time, and if none
    /// is forgotten for it: what leaves the memory must be kept elsewhere.
    fn check_kept(&self, jobs: &[JobSpec], kept: JobNo) -> Result<(), Rejection> {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::ForgetKeysEarly) {
            return Ok(());
        }
        let State { keys, moved_key, ids, moved_id, config, .. } = &self.state;
        let new = jobs.iter().filter(|job| job.idempotency_key.is_some()).count();
        let keys_full = self.is_full(keys, *moved_key, new, config.idempotency_max, kept);
        let new = jobs.iter().filter(|job| !is_made_by_scheduler(&job.id)).count();
        let ids_full = self.is_full(ids, *moved_id, new, config.ids_in_memory(), kept);
        match keys_full || ids_full {
            true => Err(Rejection::KeysFull { retry_after: KEYS_PAUSE }),
            false => Ok(()),
        }
    }

    /// Whether one of so many new ones can't be told from all others, or would displace one that is not
    /// kept.
    fn is_full(
        &self,
        taken: &Queue<TakenKey>,
        moved: MovedKey,
        new: usize,
        max: u64,
        kept: JobNo,
    ) -> bool {
        if new == 0 {
            return false;
        }
        let State { config, now, .. } = &self.state;
        let is_over = |at: Timestamp| now.since(at) > config.idempotency_for;
        let unseen = moved.job > kept && !is_over(moved.at);
        let leaving = (taken.len() as u64 + new as u64).saturating_sub(max);
        let is_lost = match leaving.checked_sub(1).and_then(|last| usize::try_from(last).ok()) {
            Some(last) => {
                taken.get(last).is_none_or(|taken| taken.job > kept && !is_over(taken.at))
            }
            None => false,
        };
        unseen || is_lost
    }

    /// An id stands for its job, and long after that is forgotten.
    fn check_id(&self, job: &JobSpec, is_known_elsewhere: bool) -> Result<(), Rejection> {
        let state = &self.state;
        let is_former = state.index.former_ids.contains(&job.id) || is_known_elsewhere;
        #[cfg(feature = "defects")]
        let is_former = is_former && !self.has(crate::defect::Defect::ForgetFormerIds);
        match is_former || state.job_no(job.id.as_str()).is_some() {
            true => Err(Rejection::DuplicateJob { id: job.id.clone() }),
            false => Ok(()),
        }
    }

    fn check_job(&self, job: &JobSpec) -> Result<(), Rejection> {
        let config = &self.state.config;
        let id = || job.id.clone();
        let (given, max) = (job.payload.len(), config.payload_bytes_max);
        if given as u64 > max {
            return Err(Rejection::PayloadTooLarge { job: id(), given, max });
        }
        if let Some(given) = job.retry
            && given > config.max_retry
        {
            return Err(Rejection::RetryAboveMax { job: id(), given, max: config.max_retry });
        }
        if job.timeout == Some(Micros::ZERO) {
            return Err(Rejection::ZeroTimeout { job: id() });
        }
        for (what, given, max) in [
            ("dependencies", job.dependencies.len(), DEPENDENCIES_MAX),
            ("tags", job.tags.len(), LABELS_MAX),
            ("capabilities", job.requirements.capabilities.len(), LABELS_MAX),
            ("concurrency keys", job.keys().len(), KEYS_MAX),
        ] {
            if given > max {
                return Err(Rejection::TooMany { job: id(), what, given, max });
            }
        }
        Ok(())
    }

    /// A single job without a name for its run needs no record of one.
    fn header(
        &self,
        run: Option<RunId>,
        jobs: usize,
        extends: bool,
    ) -> Result<Option<RunHeader>, Rejection> {
        let number = self.state.last_run.next();
        let id = match run {
            Some(id) => id,
            None if jobs == 1 => return Ok(None),
            None => RunId::fixed(&format!("run-{number}")),
        };
        match self.state.index.run_ids.get(&id).copied() {
            None => Ok(Some(RunHeader { run: number, id })),
            Some(known) if extends => Ok(Some(RunHeader { run: known, id })),
            Some(_) => Err(Rejection::DuplicateRun { id }),
        }
    }

    fn accept(
        &self,
        jobs: Vec<JobSpec>,
        resolved: Vec<Resolved>,
        first: JobNo,
        order: &[usize],
    ) -> Vec<AcceptedJob> {
        let predicted: Vec<Micros> = jobs.iter().map(|job| self.expected(job)).collect();
        let paths = (jobs.len() > 1).then(|| critical_paths(&predicted, &resolved, first, order));
        let mean = match self.state.totals.mean_duration {
            Micros::ZERO => self.state.config.duration_default,
            mean => mean,
        };
        // Not collected, which would keep the memory of `jobs` for a list that is far smaller.
        let mut accepted = Vec::with_capacity(jobs.len());
        let mut copies = BTreeSet::new();
        let all = jobs.into_iter().zip(resolved).enumerate();
        accepted.extend(all.map(|(position, (job, resolved))| {
            let terms = RankTerms {
                submitted_at: self.state.now,
                priority: job.priority,
                predicted: predicted[position],
                mean,
                path: paths.as_ref().map(|paths| paths[position]),
            };
            AcceptedJob {
                spec: Arc::new(self.with_defaults(job, &mut copies)),
                dependencies: resolved.open.into_boxed_slice(),
                predicted: terms.predicted,
                rank: rank(&self.state.config, &terms),
                doomed: resolved.doomed,
            }
        }));
        accepted
    }

    /// What was left open is as it is configured now, whatever is configured later.
    fn with_defaults(&self, mut job: JobSpec, copies: &mut BTreeSet<Arc<KeySet>>) -> JobSpec {
        let config = &self.state.config;
        // Jobs of a class share its requirements.
        let classes = &self.state.index.classes;
        if let Some(class) = classes.find(&job.requirements) {
            job.requirements = classes.get(class).requirements.clone();
        }
        job.timeout = job.timeout.or(Some(config.job_timeout_default));
        job.retry = job.retry.or(Some(config.retry_default));
        if job.aside.is_some() {
            let mut extras = job.extras().clone();
            if extras.delay > Micros::ZERO {
                let asked = extras.asked(self.state.wall_ahead);
                extras.not_before = asked.max(self.state.now + extras.delay);
            }
            // As much as the payload is what no hint means.
            extras.input_bytes = extras.input_bytes.filter(|n| *n != job.payload.len() as u64);
            let keys = job.key_set().cloned();
            job.aside = Aside::boxed(keys.map(|keys| self.one_copy(keys, copies)), extras);
        }
        job
    }

    /// How long the job is expected to take, whoever runs it.
    fn expected(&self, job: &JobSpec) -> Micros {
        let default = self.state.config.duration_default;
        if !self.state.breaker.allows(self.state.now) {
            return default;
        }
        let statistics = &self.state.statistics;
        let features = statistics.features(job);
        // A failure here only costs the job its exact rank; placing it will tell of the failure.
        let prediction = self.predictor.predict(statistics, &features, None);
        prediction.map_or(default, |prediction| prediction.estimate)
    }
}

pub(super) fn key_taken(job: &JobSpec) -> Rejection {
    let key = job.idempotency_key.clone().expect("a key that is taken is given");
    Rejection::KeyTaken { job: job.id.clone(), key }
}

fn check_size(jobs: &[JobSpec]) -> Result<(), Rejection> {
    if jobs.is_empty() {
        return Err(Rejection::EmptySubmission);
    }
    if jobs.len() > RUN_JOBS_MAX {
        return Err(Rejection::RunTooLarge { given: jobs.len(), max: RUN_JOBS_MAX });
    }
    Ok(())
}
