//! Jobs with keys, as they come into the queue, are placed and end.

use crate::index::Index;
use crate::model::{JobNo, KeyLimit};
use crate::state::{JobState, State};

impl State {
    /// From now on it counts among those of its keys.
    pub(crate) fn enter_keys(&mut self, no: JobNo) {
        let State { jobs, index, config, .. } = self;
        let job = jobs.get(no).expect("events name jobs that are remembered");
        if let Some(keys) = job.spec.key_set() {
            index.gates.enter(&config.limits, keys, no);
        }
    }

    /// It has ended.
    pub(super) fn leave_keys(&mut self, no: JobNo) {
        let State { jobs, index, .. } = self;
        let job = jobs.get(no).expect("events name jobs that are remembered");
        if let Some(keys) = job.spec.key_set() {
            index.gates.leave(keys, no);
        }
    }

    /// It waits for a worker, once its keys have room.
    pub(crate) fn list_ready(&mut self, no: JobNo) {
        let State { jobs, index, .. } = self;
        let job = jobs.get(no).expect("events name jobs that are remembered");
        let (class, place) = (job.derived.class, (job.rank, no));
        let Index { classes, gates, .. } = index;
        match job.spec.key_set() {
            Some(keys) => gates.push(classes, class, keys, place),
            None => classes.push(class, place),
        }
    }

    pub(super) fn unlist_ready(&mut self, no: JobNo) {
        let State { jobs, index, .. } = self;
        let job = jobs.get(no).expect("events name jobs that are remembered");
        let (class, place) = (job.derived.class, (job.rank, no));
        let Index { classes, gates, .. } = index;
        match job.spec.key_set() {
            Some(keys) => gates.remove(classes, class, keys, place),
            None => classes.remove(class, place),
        }
    }

    /// It is placed: it leaves the queue and takes its share of its keys, for a hedge once more.
    pub(super) fn take_from_queue(&mut self, no: JobNo) {
        let State { jobs, index, .. } = self;
        let job = jobs.get(no).expect("events name jobs that are remembered");
        let Some(keys) = job.spec.key_set() else { return self.unqueue_job(no) };
        let Index { classes, gates, .. } = index;
        if job.state == JobState::Ready {
            let (class, place) = (job.derived.class, (job.rank, no));
            gates.start(classes, class, keys, place);
        } else {
            gates.take(classes, keys);
        }
    }

    /// An attempt is open: of a state that was restored.
    pub(crate) fn take_keys(&mut self, no: JobNo) {
        let State { jobs, index, .. } = self;
        let job = jobs.get(no).expect("events name jobs that are remembered");
        if let Some(keys) = job.spec.key_set() {
            index.gates.take(&mut index.classes, keys);
        }
    }

    /// An attempt has ended: others of its keys may start.
    pub(super) fn give_back_keys(&mut self, no: JobNo) {
        let State { jobs, index, .. } = self;
        let job = jobs.get(no).expect("events name jobs that are remembered");
        if let Some(keys) = job.spec.key_set() {
            index.gates.give_back(&mut index.classes, keys);
            index.dirty = true;
        }
    }

    /// The settings have other limits.
    pub(super) fn limit_keys(&mut self, before: &[KeyLimit]) {
        #[cfg(feature = "defects")]
        if self.has(crate::defect::Defect::KeepsOldKeyLimits) {
            return;
        }
        let State { config, index, .. } = self;
        if before != config.limits {
            index.gates.set_limits(&mut index.classes, &config.limits);
        }
    }
}
