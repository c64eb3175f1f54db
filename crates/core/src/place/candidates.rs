//! Workers that could take a job now, with what the choice among them depends on.

use smallvec::SmallVec;

use super::availability::{decayed_jobs, load_permille};
use super::predictor::{Prediction, Predictor, PredictorError};
use super::score::{plain_terms, priority_term, terms, weighted};
use crate::event::{Score, Terms};
use crate::index::groups::GroupNo;
use crate::model::{JobNo, Micros, Priority, Strategy, Target, Timestamp, WorkerNo};
use crate::state::{Job, State, Worker};

/// How many of each group are looked at: the others of it are no better.
const PER_KIND: usize = 4;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Candidate {
    pub(crate) worker: WorkerNo,
    pub(crate) group: GroupNo,
    pub(crate) prefetch: bool,
    pub(crate) wait: Micros,
    /// Model loading included.
    pub(crate) duration: Micros,
    pub(crate) confidence_percent: u8,
    pub(crate) cold: bool,
    pub(crate) load_permille: u32,
    pub(crate) busy: Micros,
    pub(crate) samples: u32,
    pub(crate) unsure_percent: u8,
    pub(crate) terms: Terms,
    pub(crate) score: Score,
}

impl Candidate {
    pub(crate) fn finish(&self) -> Micros {
        self.wait + self.duration
    }

    /// When it would be done if its class proved to be as fast as may be.
    pub(crate) fn hope(&self) -> Micros {
        let sooner = self.duration.0 / 100 * u64::from(self.unsure_percent);
        self.finish().minus(Micros(sooner))
    }
}

/// What a worker of a group is expected to need for the job.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outlook {
    pub(crate) group: GroupNo,
    pub(crate) duration: Micros,
    confidence_percent: u8,
    samples: u32,
    cold: bool,
    /// How much shorter it may prove to be, see [`Prediction::unsure_percent`].
    pub(crate) unsure_percent: u8,
}

#[derive(Debug, Default)]
pub(crate) struct Candidates {
    pub(crate) list: SmallVec<[Candidate; 8]>,
    pub(crate) outlooks: SmallVec<[Outlook; 4]>,
    /// Workers with room that lacked cpu or memory.
    pub(crate) unfit: usize,
    /// Left out because the last attempt failed there, and there are others.
    pub(crate) avoided: Option<WorkerNo>,
}

impl Candidates {
    /// Leaves out the worker that the last attempt failed on, unless it is the only one; true if
    /// it was among them.
    pub(crate) fn avoid(&mut self, worker: WorkerNo) -> bool {
        let before = self.list.len();
        if self.list.iter().all(|candidate| candidate.worker == worker) {
            return false;
        }
        self.list.retain(|candidate| candidate.worker != worker);
        self.avoided = Some(worker);
        self.list.len() < before
    }

    pub(crate) fn scale(&self, strategy: Strategy) -> Scale {
        match strategy {
            Strategy::Formula => {
                let longest = self.list.iter().map(|candidate| candidate.wait).max();
                Scale::Wait { longest: longest.unwrap_or(Micros::ZERO) }
            }
            Strategy::Predictive
            | Strategy::LeastLoaded
            | Strategy::RoundRobin
            | Strategy::Affinity
            | Strategy::Random => {
                let soonest = self.list.iter().map(Candidate::finish).min();
                Scale::Finish { soonest: soonest.unwrap_or(Micros::ZERO) }
            }
        }
    }
}

/// What the wait of a candidate is measured against.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scale {
    /// When the first of them would be done.
    Finish { soonest: Micros },
    /// The longest time before one of them would start: the plain formula.
    Wait { longest: Micros },
}

pub(crate) struct Wanted<'a> {
    pub(crate) no: JobNo,
    pub(crate) job: &'a Job,
    pub(crate) now: Timestamp,
    /// Those that have an offer of it already: another must go elsewhere.
    pub(crate) except: &'a [WorkerNo],
    /// None while the breaker is open: every duration is the default.
    pub(crate) predictor: Option<&'a dyn Predictor>,
}

impl State {
    pub(crate) fn candidates(&self, wanted: &Wanted<'_>) -> Result<Candidates, PredictorError> {
        let mut found = Candidates::default();
        let class = self.index.classes.get(wanted.job.derived.class);
        if let Target::Receiver(id) = &class.requirements.target {
            self.receiver_candidate(wanted, id, &mut found)?;
        } else if class.groups.iter().any(|group| self.has_room(wanted, *group)) {
            // Only now: a job that nobody has room for must not trouble the predictor.
            for group in &class.groups {
                self.candidates_of_group(wanted, *group, &mut found)?;
            }
        }
        Ok(found)
    }

    pub(crate) fn score_all(&self, job: &Job, found: &mut Candidates, scale: Scale) {
        for candidate in &mut found.list {
            self.score(candidate, scale, job.priority());
        }
    }

    pub(crate) fn score(&self, candidate: &mut Candidate, scale: Scale, priority: Priority) {
        candidate.terms = match scale {
            Scale::Finish { soonest } => {
                terms(candidate.finish(), soonest, candidate.load_permille)
            }
            Scale::Wait { longest } => {
                plain_terms(candidate.wait, longest, candidate.load_permille)
            }
        };
        let points = self.config.priorities.points(priority);
        candidate.score = weighted(self.config.weights, candidate.terms, priority_term(points));
    }

    fn receiver_candidate(
        &self,
        wanted: &Wanted<'_>,
        id: &crate::model::WorkerId,
        found: &mut Candidates,
    ) -> Result<(), PredictorError> {
        let Some(no) = self.worker_no(id.as_str()) else { return Ok(()) };
        let worker = self.expect_worker(no);
        let requirements = &self.index.classes.get(wanted.job.derived.class).requirements;
        if worker.listing.listed.is_none()
            || wanted.except.contains(&no)
            || !self.index.groups.get(worker.listing.group).key.serves(requirements)
        {
            return Ok(());
        }
        if !worker.fits(requirements.resources) {
            found.unfit += 1;
            return Ok(());
        }
        let outlook = self.outlook(wanted, worker.listing.group)?;
        found.list.push(self.candidate(wanted, no, worker, outlook));
        Ok(())
    }

    fn has_room(&self, wanted: &Wanted<'_>, group: GroupNo) -> bool {
        let resources = wanted.job.spec.requirements.resources;
        self.index.groups.get(group).free.iter().any(|key| {
            !wanted.except.contains(&key.worker) && self.expect_worker(key.worker).fits(resources)
        })
    }

    fn candidates_of_group(
        &self,
        wanted: &Wanted<'_>,
        group: GroupNo,
        found: &mut Candidates,
    ) -> Result<(), PredictorError> {
        let entry = self.index.groups.get(group);
        if entry.free.is_empty() && entry.ends.is_empty() {
            return Ok(());
        }
        let outlook = self.outlook(wanted, group)?;
        found.outlooks.push(outlook);
        let resources = wanted.job.spec.requirements.resources;
        let mut taken = 0;
        for key in &entry.free {
            let worker = self.expect_worker(key.worker);
            if wanted.except.contains(&key.worker) {
                continue;
            }
            if !worker.fits(resources) {
                found.unfit += 1;
                continue;
            }
            found.list.push(self.candidate(wanted, key.worker, worker, outlook));
            taken += 1;
            if taken == PER_KIND {
                break;
            }
        }
        Ok(())
    }

    pub(crate) fn candidate(
        &self,
        wanted: &Wanted<'_>,
        no: WorkerNo,
        worker: &Worker,
        outlook: Outlook,
    ) -> Candidate {
        let gone_after = self.config.unreachable_after;
        let prefetch = worker.listing.listed.as_ref().is_some_and(|key| key.prefetch);
        let foreign = decayed_jobs(worker.foreign_queue, worker.beat_at, wanted.now, gone_after);
        let mut wait = outlook.duration.times(u64::from(foreign));
        if prefetch {
            wait += self.config.prefetch_horizon;
        }
        Candidate {
            worker: no,
            group: outlook.group,
            prefetch,
            wait,
            duration: outlook.duration,
            confidence_percent: outlook.confidence_percent,
            cold: outlook.cold,
            load_permille: load_permille(worker, wanted.now, gone_after),
            busy: worker.busy,
            samples: outlook.samples,
            unsure_percent: outlook.unsure_percent,
            terms: Terms::default(),
            score: Score::default(),
        }
    }

    pub(crate) fn outlook(
        &self,
        wanted: &Wanted<'_>,
        group: GroupNo,
    ) -> Result<Outlook, PredictorError> {
        let entry = self.index.groups.get(group);
        let prediction = match wanted.predictor {
            Some(predictor) => predictor.predict(
                &self.statistics,
                &wanted.job.derived.features,
                Some(entry.machine),
            )?,
            None => Prediction {
                estimate: self.config.duration_default,
                confidence_percent: 0,
                samples: 0,
                unsure_percent: 0,
            },
        };
        let model = wanted.job.spec.requirements.model.as_ref();
        let cold = model.is_some_and(|model| entry.key.models.binary_search(model).is_err());
        let loading = match model {
            Some(model) if cold => {
                self.model_loads.get(model).copied().unwrap_or(self.config.model_load_default)
            }
            _ => Micros::ZERO,
        };
        Ok(Outlook {
            group,
            duration: entry.key.pace.times(prediction.estimate) + loading,
            unsure_percent: prediction.unsure_percent,
            confidence_percent: prediction.confidence_percent,
            samples: prediction.samples,
            cold,
        })
    }
}
