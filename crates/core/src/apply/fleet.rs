//! Workers as they come, report and go.

use std::sync::Arc;

use crate::index::groups::{FreeKey, GroupKey};
use crate::model::{
    Heartbeat, Micros, Name, Resources, Seq, Timestamp, WorkerNo, WorkerSpec, WorkerStatus,
};
use crate::place::availability::load_permille;
use crate::place::pace::Pace;
use crate::state::{Listing, State, Worker};

/// Models whose loading times are remembered.
const MODELS_MAX: usize = 10_000;

impl State {
    /// A new worker, or a new process of a known one.
    pub(super) fn add_worker(
        &mut self,
        no: WorkerNo,
        spec: &Arc<WorkerSpec>,
        seq: Seq,
        at: Timestamp,
    ) {
        let known = self.workers.get(no);
        let busy = known.map_or_else(|| self.least_busy(&spec.class), |known| known.busy);
        let (completed, failed) = known.map_or((0, 0), |known| (known.completed, known.failed));
        let pace = known.map_or_else(|| self.calibrated_pace(spec), |known| known.pace);
        if spec.speed_permille > 0 {
            let class = self.statistics.intern(&spec.class);
            self.statistics.calibrate(class, spec.speed_permille);
        }
        if known.is_some() {
            self.leave_group(no);
        }
        self.last_worker = self.last_worker.max(no);
        let worker = Worker {
            spec: spec.clone(),
            status: WorkerStatus::Open,
            draining: false,
            models: spec.models.to_vec(),
            unhandled: Vec::new(),
            beat: Heartbeat::default(),
            beat_at: at,
            foreign_load_permille: 0,
            foreign_queue: 0,
            held: Vec::new(),
            used: Resources::default(),
            busy,
            pace,
            seen_at: self.totals.work,
            completed,
            failed,
            left: false,
            silent_since: None,
            short: 0,
            changed_at: at,
            last: seq,
            listing: Listing { seen_at: at, ..Listing::default() },
        };
        self.workers.insert(no, worker);
        self.index.worker_ids.insert(spec.id.clone(), no);
        self.enter_group(no);
        self.relist_worker(no);
        self.wake(no);
    }

    /// A newcomer starts level with the least used of its class, or it would win every tie.
    fn least_busy(&self, class: &Name) -> Micros {
        let peers = self.workers.iter().filter(|(_, worker)| worker.spec.class == *class);
        peers.map(|(_, worker)| worker.busy).min().unwrap_or(Micros::ZERO)
    }

    /// What its calibration says beside those of its class, until it has shown how fast it is.
    fn calibrated_pace(&self, spec: &WorkerSpec) -> Pace {
        let peers = self.workers.iter().map(|(_, worker)| &worker.spec);
        let measured = peers.filter(|peer| peer.class == spec.class && peer.speed_permille > 0);
        let (mut sum, mut count) = (0u64, 0u64);
        for peer in measured {
            sum += u64::from(peer.speed_permille);
            count += 1;
        }
        match sum.checked_div(count) {
            Some(usual) if spec.speed_permille > 0 => Pace::of(usual, spec.speed_permille),
            Some(_) | None => Pace::default(),
        }
    }

    /// A worker has shown its pace: it may have other equals from now on.
    pub(super) fn regroup(&mut self, no: WorkerNo, pace: Pace) {
        let worker = self.expect_worker_mut(no);
        let moves = worker.pace.level() != pace.level();
        worker.pace = pace;
        if moves {
            self.leave_group(no);
            self.enter_group(no);
            self.relist_worker(no);
            self.wake(no);
        }
    }

    pub(super) fn return_worker(&mut self, no: WorkerNo, seq: Seq, at: Timestamp) {
        let worker = self.expect_worker_mut(no);
        // What it last said of itself still holds: an unchanged report makes no event.
        let overloaded = worker.beat.overloaded;
        worker.status = if overloaded { WorkerStatus::Overloaded } else { WorkerStatus::Open };
        worker.left = false;
        worker.silent_since = None;
        worker.changed_at = at;
        worker.last = seq;
        self.expect_ends(no);
        self.relist_worker(no);
        self.wake(no);
    }

    pub(super) fn take_report(&mut self, no: WorkerNo, beat: Heartbeat, seq: Seq, at: Timestamp) {
        let worker = self.expect_worker_mut(no);
        let slots = worker.spec.slots as usize;
        let queued = u32::try_from(worker.held.len().saturating_sub(slots)).unwrap_or(u32::MAX);
        worker.foreign_load_permille =
            beat.load_permille.saturating_sub(worker.own_load_permille());
        worker.foreign_queue = beat.queue_depth.saturating_sub(queued);
        worker.beat = beat;
        worker.beat_at = at;
        worker.last = seq;
        let took_jobs = worker.takes_jobs();
        if worker.status != WorkerStatus::Unreachable {
            let overloaded = beat.overloaded;
            worker.status = if overloaded { WorkerStatus::Overloaded } else { WorkerStatus::Open };
        }
        if worker.takes_jobs() != took_jobs {
            self.expect_ends(no);
        }
        self.relist_worker(no);
        self.wake(no);
    }

    pub(super) fn set_draining(&mut self, no: WorkerNo, draining: bool, seq: Seq) {
        let worker = self.expect_worker_mut(no);
        worker.draining = draining;
        worker.last = seq;
        self.expect_ends(no);
        self.relist_worker(no);
        self.wake(no);
    }

    /// Since when it answers no offers; none once it has spoken.
    pub(super) fn set_silent(&mut self, no: WorkerNo, since: Option<Timestamp>, seq: Seq) {
        #[cfg(feature = "defects")]
        let since = since.filter(|_| !self.has(crate::defect::Defect::OfferToSilent));
        let worker = self.expect_worker_mut(no);
        worker.silent_since = since;
        worker.last = seq;
        self.expect_ends(no);
        self.relist_worker(no);
        self.wake(no);
    }

    pub(super) fn lose_worker(&mut self, no: WorkerNo, left: bool, seq: Seq, at: Timestamp) {
        let worker = self.expect_worker_mut(no);
        worker.status = WorkerStatus::Unreachable;
        worker.left = left;
        worker.changed_at = at;
        worker.last = seq;
        self.relist_worker(no);
        self.gone.push_back((at, no));
    }

    pub(super) fn warm_up(&mut self, no: WorkerNo, model: &Name, took: Micros, seq: Seq) {
        let known = self.model_loads.len() < MODELS_MAX;
        if known || self.model_loads.contains_key(model) {
            let average = self.model_loads.entry(model.clone()).or_insert(took);
            *average = Micros(average.0 - average.0 / 4 + took.0 / 4);
        }
        self.leave_group(no);
        let worker = self.expect_worker_mut(no);
        worker.last = seq;
        if let Err(position) = worker.models.binary_search(model) {
            worker.models.insert(position, model.clone());
        }
        self.enter_group(no);
        self.relist_worker(no);
        self.wake(no);
    }

    /// It is not asked again for jobs of this type.
    pub(super) fn cannot_handle(&mut self, no: WorkerNo, kind: &Name) {
        self.leave_group(no);
        let unhandled = &mut self.expect_worker_mut(no).unhandled;
        if let Err(position) = unhandled.binary_search(kind) {
            unhandled.insert(position, kind.clone());
        }
        self.enter_group(no);
        self.relist_worker(no);
        self.wake(no);
    }

    /// Puts the worker among its equals.
    pub(crate) fn enter_group(&mut self, no: WorkerNo) {
        let key = GroupKey::of(self.expect_worker(no));
        let machine = self.statistics.intern(&key.machine);
        let slots = self.expect_worker(no).spec.slots as usize;
        let (group, new) = self.index.groups.enter(key, machine, slots);
        if new {
            let key = &self.index.groups.get(group).key;
            self.index.classes.add_group(group, |wanted| key.serves(wanted));
        }
        self.expect_worker_mut(no).listing.group = group;
        self.expect_ends(no);
    }

    /// Lists when the worker's attempts are expected to end, if it then takes others: nobody
    /// should wait for a slot that is not filled again.
    fn expect_ends(&mut self, no: WorkerNo) {
        let worker = self.expect_worker(no);
        let (group, takes_jobs) = (worker.listing.group, worker.takes_jobs());
        for held in worker.held.clone() {
            let Some(attempt) = self.expect_job(held.job).attempt(held.token) else { continue };
            let end = (attempt.offered_at + attempt.predicted, held.job, held.token);
            let ends = &mut self.index.groups.get_mut(group).ends;
            if takes_jobs {
                ends.insert(end);
            } else {
                ends.remove(&end);
            }
        }
    }

    pub(super) fn leave_group(&mut self, no: WorkerNo) {
        self.unlist_worker(no);
        let worker = self.expect_worker(no);
        let (group, slots) = (worker.listing.group, worker.spec.slots as usize);
        for held in worker.held.clone() {
            let Some(attempt) = self.expect_job(held.job).attempt(held.token) else { continue };
            let end = (attempt.offered_at + attempt.predicted, held.job, held.token);
            self.index.groups.get_mut(group).ends.remove(&end);
        }
        if self.index.groups.leave(group, slots) {
            self.index.classes.remove_group(group);
        }
    }

    /// Lists the worker with those that have room, or takes it off that list.
    pub(crate) fn relist_worker(&mut self, no: WorkerNo) {
        let wanted = self.free_key(no);
        let worker = self.workers.get_mut(no).expect("events name workers that are remembered");
        if worker.listing.listed == wanted {
            return;
        }
        let listed = std::mem::replace(&mut worker.listing.listed, wanted.clone());
        self.index.groups.relist(worker.listing.group, listed, wanted);
    }

    fn unlist_worker(&mut self, no: WorkerNo) {
        let worker = self.expect_worker_mut(no);
        let (listed, group) = (worker.listing.listed.take(), worker.listing.group);
        self.index.groups.relist(group, listed, None);
    }

    /// Its place among those with room; none if it has none.
    fn free_key(&self, no: WorkerNo) -> Option<FreeKey> {
        let worker = self.expect_worker(no);
        let queue_max = self.config.max_queue_per_worker;
        if !worker.takes_jobs() || worker.foreign_queue >= queue_max {
            return None;
        }
        let ahead = self.config.prefetch.min(queue_max).min(worker.short);
        // Only behind others of its kind, so a worker gets at the most twice as many each time.
        let ahead = ahead.max(self.config.prefetch_max.min(worker.listing.instant));
        let (held, slots) = (worker.held.len(), worker.spec.slots as usize);
        #[cfg(feature = "defects")]
        let slots = slots + 3 * usize::from(self.has(crate::defect::Defect::OverfillWorker));
        if held >= slots + ahead as usize {
            return None;
        }
        Some(FreeKey {
            prefetch: held >= slots,
            load_permille: load_permille(worker, worker.beat_at, self.config.unreachable_after),
            busy: worker.busy.0,
            id: worker.spec.id.clone(),
            worker: no,
        })
    }

    /// The worker may have room for a class that had found none.
    pub(super) fn wake(&mut self, no: WorkerNo) {
        if self.expect_worker(no).listing.listed.is_some() {
            if !self.index.wakes.contains(&no) {
                self.index.wakes.push(no);
            }
            self.index.dirty = true;
        }
    }

    /// After a change that may concern every class and worker.
    pub(crate) fn reconsider_all(&mut self) {
        let workers: Vec<WorkerNo> = self.workers.keys().collect();
        for no in workers {
            self.relist_worker(no);
        }
        self.index.classes.unpark_all();
        self.index.dirty = true;
    }
}
