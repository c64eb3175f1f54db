//! The choice of a worker for one job.

use std::cmp::Ordering;
use std::ops::Bound;

use smallvec::SmallVec;

use super::candidates::{Candidate, Candidates, Wanted};
use super::plan::Plan;
use super::predictor::PredictorError;
use super::score::priority_term;
use crate::event::{Basis, Decision, Loser, Reason, Shadow};
use crate::index::groups::GroupNo;
use crate::model::limits::LOSERS_MAX;
use crate::model::{Strategy, Timestamp, WorkerNo};
use crate::state::State;

pub(crate) enum Choice {
    /// No worker that could run it has room.
    Nobody,
    /// A busy worker of this group is expected to finish it sooner than any free one.
    Hold {
        group: GroupNo,
        until: Timestamp,
    },
    Worker {
        worker: WorkerNo,
        decision: Box<Decision>,
    },
}

impl State {
    /// `fallback`: the predictor has failed for this job, so round-robin stands in.
    pub(crate) fn choose(
        &self,
        wanted: &Wanted<'_>,
        fallback: bool,
        plan: &mut Plan,
    ) -> Result<Choice, PredictorError> {
        let strategy = if fallback { Strategy::RoundRobin } else { self.config.strategy };
        let mut found = self.candidates(wanted)?;
        if found.list.is_empty() {
            return Ok(Choice::Nobody);
        }
        let avoids = wanted.job.avoid.get().is_some_and(|worker| found.avoid(worker));
        let predicts = strategy == Strategy::Predictive;
        let spares = predicts && self.spare_fast_slots(wanted.job, &mut found);
        let scale = found.scale(strategy);
        self.score_all(wanted.job, &mut found, scale);
        // In a run the end of the last job counts, so waiting may pay; on its own a job is better
        // off anywhere than keeping a worker idle.
        if predicts
            && wanted.job.run.is_some()
            && wanted.except.is_empty()
            && let Some((group, until)) = self.worth_waiting_for(wanted, &found, plan)
        {
            return Ok(Choice::Hold { group, until });
        }
        let curious = (predicts && wanted.except.is_empty()).then(|| self.worth_learning(&found));
        let (mut chosen, reason) = match curious.flatten() {
            Some(curious) => (curious, Reason::ToLearn),
            None => self.pick(strategy, wanted, &found, self.turn)?,
        };
        // Those who take turns are not among the candidates that were scored.
        let priority = wanted.job.priority();
        self.score(&mut chosen, scale, priority);
        let decision = Decision {
            strategy,
            fallback,
            score: chosen.score,
            predicted_wait: chosen.wait,
            predicted_duration: chosen.duration,
            confidence_percent: chosen.confidence_percent,
            load_model: chosen.cold,
            reason: match reason {
                _ if !wanted.except.is_empty() => Reason::Hedge,
                Reason::ToLearn => Reason::ToLearn,
                _ if avoids => Reason::NotWhereItFailed,
                _ if spares => Reason::SparesFastSlots,
                reason => reason,
            },
            losers: self.losers(&found, chosen.worker),
            shadow: self.shadow_choice(wanted, &found, &chosen)?,
            basis: Some(Basis {
                weights: self.config.weights,
                terms: chosen.terms,
                priority: priority_term(self.config.priorities.points(priority)),
                samples: chosen.samples,
                candidates: u32::try_from(found.list.len()).unwrap_or(u32::MAX),
            }),
        };
        Ok(Choice::Worker { worker: chosen.worker, decision: Box::new(decision) })
    }

    fn pick(
        &self,
        strategy: Strategy,
        wanted: &Wanted<'_>,
        found: &Candidates,
        turn: WorkerNo,
    ) -> Result<(Candidate, Reason), PredictorError> {
        if let [only] = found.list.as_slice() {
            return Ok((*only, self.only_reason(wanted, found, only)));
        }
        match strategy {
            #[cfg(feature = "defects")]
            Strategy::Predictive if self.has(crate::defect::Defect::UnstableOrder) => {
                use std::sync::atomic::{AtomicUsize, Ordering as Atomic};
                static NOT_STATE: AtomicUsize = AtomicUsize::new(0);
                let any = NOT_STATE.fetch_add(1, Atomic::Relaxed) % found.list.len();
                Ok((found.list[any], Reason::PredictedBest))
            }
            Strategy::Predictive => Ok(self.best_score(found)),
            Strategy::Formula => Ok((self.best_by_formula(wanted, found), Reason::PredictedBest)),
            Strategy::LeastLoaded => Ok(self.least_loaded(found)),
            Strategy::Affinity => {
                let near = self.nearest(wanted, found);
                Ok(near.unwrap_or_else(|| self.least_loaded(found)))
            }
            Strategy::RoundRobin => {
                Ok((self.next_in_turn(wanted, found, turn)?, Reason::NextInTurn))
            }
            Strategy::Random => {
                let start = stable_start(wanted, self.last_worker);
                Ok((self.next_in_turn(wanted, found, start)?, Reason::StableHash))
            }
        }
    }

    fn only_reason(&self, wanted: &Wanted<'_>, found: &Candidates, only: &Candidate) -> Reason {
        if found.unfit == 0 {
            return Reason::OnlyWorker;
        }
        let free = self.expect_worker(only.worker).free();
        let required = wanted.job.spec.requirements.resources;
        Reason::ResourceFit {
            free_cpu: free.cpu,
            required_cpu: required.cpu,
            free_memory: free.memory,
            required_memory: required.memory,
        }
    }

    fn best_score(&self, found: &Candidates) -> (Candidate, Reason) {
        let best = found.list.iter().min_by(|a, b| self.by_score(a, b)).expect("not empty");
        let sooner = found.list.iter().any(|other| other.finish() > best.finish());
        let reason = if sooner {
            Reason::PredictedBest
        } else {
            Reason::LeastLoaded { depth: self.depth(best.worker) }
        };
        (*best, reason)
    }

    /// The highest plain score; equal ones by id.
    fn best_by_formula(&self, wanted: &Wanted<'_>, found: &Candidates) -> Candidate {
        let (scale, priority) = (found.scale(Strategy::Formula), wanted.job.priority());
        let scored = found.list.iter().map(|candidate| {
            let mut scored = *candidate;
            self.score(&mut scored, scale, priority);
            scored
        });
        let order =
            |a: &Candidate, b: &Candidate| b.score.cmp(&a.score).then_with(|| self.by_id(a, b));
        scored.min_by(order).expect("not empty")
    }

    fn least_loaded(&self, found: &Candidates) -> (Candidate, Reason) {
        let order = |c: &Candidate| (c.prefetch, c.load_permille, c.cold, c.busy);
        let best =
            found.list.iter().min_by(|a, b| order(a).cmp(&order(b)).then_with(|| self.by_id(a, b)));
        let best = best.expect("not empty");
        (*best, Reason::LeastLoaded { depth: self.depth(best.worker) })
    }

    fn depth(&self, worker: WorkerNo) -> u32 {
        u32::try_from(self.expect_worker(worker).held.len()).unwrap_or(u32::MAX)
    }

    /// The worker that has the job's data, ran its like before, or stands in the same zone.
    fn nearest(&self, wanted: &Wanted<'_>, found: &Candidates) -> Option<(Candidate, Reason)> {
        let features = &wanted.job.derived.features;
        let before = self.last_runs.get(&(features.kind, features.sender)).copied();
        for (near, reason) in [
            (wanted.job.locality.get(), Reason::DataLocality),
            (before, Reason::PreviouslyExecuted),
        ] {
            let Some(no) = near.filter(|no| found.avoided != Some(*no)) else { continue };
            if let Some(candidate) = self.candidate_at(wanted, no).ok().flatten() {
                return Some((candidate, reason));
            }
        }
        let zone = self.workers.get(wanted.job.locality.get()?)?.spec.zone.as_ref()?;
        let same_zone =
            |c: &&Candidate| self.expect_worker(c.worker).spec.zone.as_ref() == Some(zone);
        let best = found.list.iter().filter(same_zone).min_by(|a, b| self.by_score(a, b))?;
        Some((*best, Reason::SameZone))
    }

    /// The first worker with room after `turn`, in order of their numbers.
    fn next_in_turn(
        &self,
        wanted: &Wanted<'_>,
        found: &Candidates,
        turn: WorkerNo,
    ) -> Result<Candidate, PredictorError> {
        for prefetch in [false, true] {
            let after = (Bound::Excluded(turn), Bound::Unbounded);
            let around = (Bound::Unbounded, Bound::Included(turn));
            for range in [after, around] {
                if let Some(no) = self.first_with_room(wanted, found, range, prefetch)
                    && let Some(candidate) = self.candidate_at(wanted, no)?
                {
                    return Ok(candidate);
                }
            }
        }
        // Only a receiver is in no group's list: it is the one candidate there is.
        Ok(found.list[0])
    }

    fn first_with_room(
        &self,
        wanted: &Wanted<'_>,
        found: &Candidates,
        range: (Bound<WorkerNo>, Bound<WorkerNo>),
        prefetch: bool,
    ) -> Option<WorkerNo> {
        let resources = wanted.job.spec.requirements.resources;
        let firsts = found.outlooks.iter().filter_map(|outlook| {
            self.index.groups.get(outlook.group).turn.range(range).copied().find(|no| {
                let worker = self.expect_worker(*no);
                !wanted.except.contains(no)
                    && found.avoided != Some(*no)
                    && worker.listing.listed.as_ref().is_some_and(|key| key.prefetch == prefetch)
                    && worker.fits(resources)
            })
        });
        firsts.min()
    }

    /// This worker as a candidate, if it has room for the job.
    fn candidate_at(
        &self,
        wanted: &Wanted<'_>,
        no: WorkerNo,
    ) -> Result<Option<Candidate>, PredictorError> {
        let Some(worker) = self.workers.get(no) else { return Ok(None) };
        let class = self.index.classes.get(wanted.job.derived.class);
        if worker.listing.listed.is_none()
            || wanted.except.contains(&no)
            || !class.groups.contains(&worker.listing.group)
            || !worker.fits(class.requirements.resources)
        {
            return Ok(None);
        }
        let outlook = self.outlook(wanted, worker.listing.group)?;
        Ok(Some(self.candidate(wanted, no, worker, outlook)))
    }

    /// A group of workers whose next free slot would finish the job as soon as any free worker, and
    /// in less time: then the free one is left to the next job.
    fn worth_waiting_for(
        &self,
        wanted: &Wanted<'_>,
        found: &Candidates,
        plan: &mut Plan,
    ) -> Option<(GroupNo, Timestamp)> {
        if plan.held >= self.config.hold_max as usize || found.outlooks.len() < 2 {
            return None;
        }
        let best = found.list.iter().min_by_key(|c| c.finish()).expect("not empty");
        let worth = found.outlooks.iter().filter_map(|outlook| {
            if outlook.duration >= best.duration {
                return None;
            }
            let group = self.index.groups.get(outlook.group);
            let wait = plan.wait(outlook.group, group, wanted.now)?;
            let finish = (wait + outlook.duration).0;
            let with_margin = finish + finish / 100 * u64::from(self.config.hold_margin_percent);
            (with_margin <= best.finish().0).then_some((finish, &group.key, outlook, wait))
        });
        // By key, not by number: numbers are given in the order in which groups were met, which
        // is another one after a restart.
        let (_, _, outlook, wait) = worth.min_by_key(|(finish, key, ..)| (*finish, *key))?;
        plan.reserve(outlook.group, outlook.duration);
        Some((outlook.group, wanted.now + wait))
    }

    fn shadow_choice(
        &self,
        wanted: &Wanted<'_>,
        found: &Candidates,
        chosen: &Candidate,
    ) -> Result<Option<Shadow>, PredictorError> {
        let Some(strategy) = self.config.shadow else { return Ok(None) };
        // Beside the live strategy, turns are taken by themselves.
        let turn = self.shadow.turn;
        let (shadow, _) = self.pick(strategy, wanted, found, turn)?;
        let (round_robin, _) = self.pick(Strategy::RoundRobin, wanted, found, turn)?;
        Ok(Some(Shadow {
            worker: shadow.worker,
            predicted_finish: shadow.finish(),
            live_finish: chosen.finish(),
            round_robin_finish: round_robin.finish(),
            round_robin: Some(round_robin.worker),
        }))
    }

    fn losers(&self, found: &Candidates, chosen: WorkerNo) -> Vec<Loser> {
        let mut others: SmallVec<[&Candidate; 8]> =
            found.list.iter().filter(|c| c.worker != chosen).collect();
        others.sort_unstable_by(|a, b| self.by_score(a, b));
        others.truncate(LOSERS_MAX);
        let loser = |c: &&Candidate| Loser {
            worker: c.worker,
            score: c.score,
            finish: c.finish(),
            terms: c.terms,
        };
        others.iter().map(loser).collect()
    }

    /// Best first: score, then warm before cold, least accumulated busy time, and the id.
    pub(super) fn by_score(&self, a: &Candidate, b: &Candidate) -> Ordering {
        let order = |c: &Candidate| (-c.score.0, c.cold, c.busy);
        order(a).cmp(&order(b)).then_with(|| self.by_id(a, b))
    }

    fn by_id(&self, a: &Candidate, b: &Candidate) -> Ordering {
        self.expect_worker(a.worker).id().cmp(self.expect_worker(b.worker).id())
    }
}

/// A stable hash of job and attempt, as a place to start looking from.
fn stable_start(wanted: &Wanted<'_>, last: WorkerNo) -> WorkerNo {
    let mixed = mix(wanted.no.0 ^ (u64::from(wanted.job.attempts) << 48));
    WorkerNo((mixed % u64::from(last.0.max(1))) as u32)
}

/// Spreads the bits of a number (the finalizer of splitmix64).
pub(crate) fn mix(mut x: u64) -> u64 {
    x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
