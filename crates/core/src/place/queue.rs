//! The next decision: the first job in order that finds a worker.
//!
//! It is a function of the state and the time. Parking and waking only spare it work: a parked
//! class is one for which the answer is known to be "nobody".

use std::ops::Bound;

use smallvec::SmallVec;

use super::candidates::Wanted;
use super::choose::Choice;
use super::plan::Plan;
use super::predictor::Predictor;
use crate::event::Decision;
use crate::index::classes::{ClassNo, Place};
use crate::model::{JobNo, Timestamp, WorkerNo};
use crate::state::State;

pub(crate) enum Next {
    /// Every ready job waits for capacity.
    Nothing,
    Assign {
        job: JobNo,
        worker: WorkerNo,
        decision: Box<Decision>,
    },
    PredictorFailed {
        job: JobNo,
        error: String,
    },
}

impl State {
    /// `fallback_for`: the job for which the predictor has just failed.
    pub(crate) fn next_decision(
        &mut self,
        now: Timestamp,
        predictor: &dyn Predictor,
        fallback_for: Option<JobNo>,
    ) -> Next {
        self.index.look_again_at = None;
        loop {
            if !self.index.groups.have_room() {
                self.index.wakes.clear();
                self.index.dirty = false;
                return Next::Nothing;
            }
            self.wake_classes();
            match self.scan(now, predictor, fallback_for) {
                Next::Nothing if self.index.wakes.is_empty() => {
                    self.index.dirty = false;
                    return Next::Nothing;
                }
                Next::Nothing => {}
                found @ (Next::Assign { .. } | Next::PredictorFailed { .. }) => return found,
            }
        }
    }

    /// For each worker that gained capacity, the first parked class that fits it is looked at again.
    fn wake_classes(&mut self) {
        let mut wakes = std::mem::take(&mut self.index.wakes);
        wakes.retain(|no| {
            let Some(worker) = self.workers.get(*no) else { return false };
            if worker.listing.listed.is_none() {
                return false;
            }
            let classes = &self.index.classes;
            let group = &self.index.groups.get(worker.listing.group).key;
            let fits = |class: &ClassNo| {
                let class = classes.get(*class);
                !class.paused
                    && worker.fits(class.requirements.resources)
                    && group.serves(&class.requirements)
            };
            let Some(class) = classes.parked_for(worker.listing.group, worker.id()).find(fits)
            else {
                return false;
            };
            self.index.classes.unpark(class);
            true
        });
        self.index.wakes = wakes;
    }

    fn scan(
        &mut self,
        now: Timestamp,
        predictor: &dyn Predictor,
        fallback_for: Option<JobNo>,
    ) -> Next {
        let allowed = self.breaker.allows(now);
        let mut plan = Plan::default();
        let mut passed = Passed::default();
        while let Some((place, class)) = self.next_ready(&passed) {
            let no = place.1;
            let fallback = !allowed || fallback_for == Some(no);
            let wanted = Wanted {
                no,
                job: self.expect_job(no),
                now,
                except: &[],
                predictor: (!fallback).then_some(predictor),
            };
            match self.choose(&wanted, fallback, &mut plan) {
                Ok(Choice::Worker { worker, decision }) => {
                    return Next::Assign { job: no, worker, decision };
                }
                Ok(Choice::Nobody) => self.index.classes.park(class),
                Ok(Choice::Hold { until, .. }) => {
                    passed.add(place, class);
                    // The room that it leaves is the next one's, in order: nobody parked may be
                    // passed by.
                    self.wake_classes();
                    let sooner = self.index.look_again_at.is_none_or(|at| until < at);
                    if sooner {
                        self.index.look_again_at = Some(until);
                    }
                }
                Err(error) => return Next::PredictorFailed { job: no, error: error.to_string() },
            }
        }
        Next::Nothing
    }

    /// The next job in order behind those that were passed over.
    fn next_ready(&self, passed: &Passed) -> Option<(Place, ClassNo)> {
        let Some(last) = passed.last else { return self.index.classes.first_open() };
        let behind = (Bound::Excluded(last), Bound::Unbounded);
        let seen = passed.classes.iter().filter_map(|class| {
            let place = *self.index.classes.get(*class).ready.range(behind).next()?;
            Some((place, *class))
        });
        let unseen = self.index.classes.open_behind(last);
        seen.chain(unseen).min()
    }
}

/// Jobs that wait for a busy worker, and the classes that they belong to.
#[derive(Debug, Default)]
struct Passed {
    last: Option<Place>,
    classes: SmallVec<[ClassNo; 8]>,
}

impl Passed {
    fn add(&mut self, place: Place, class: ClassNo) {
        self.last = Some(place);
        if !self.classes.contains(&class) {
            self.classes.push(class);
        }
    }
}
