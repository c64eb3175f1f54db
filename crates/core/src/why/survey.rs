//! Who could run a job, and what keeps each of them.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;

use super::Because;
use crate::index::groups::{GroupKey, GroupNo, Lack};
use crate::model::{Requirements, Target, Timestamp, WorkerId, WorkerStatus};
use crate::state::{Job, State, Worker};

/// What a worker that could run the job has too little of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Short {
    Slots {
        slots: u32,
    },
    /// Others have filled its queue to `max_queue_per_worker`.
    Queue {
        waiting: u32,
        max: u32,
    },
    Cpu {
        wanted: u32,
        free: u32,
    },
    Memory {
        wanted: u64,
        free: u64,
    },
}

/// The workers, as one job sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fleet {
    /// Those that are there.
    pub present: usize,
    /// Those among them that could run it if they had room.
    pub able: usize,
    /// Those that could run it but take no jobs now.
    pub away: Away,
}

/// Workers that take no jobs now, by why.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Away {
    pub draining: Vec<WorkerId>,
    pub overloaded: Vec<WorkerId>,
    pub unreachable: Vec<WorkerId>,
    /// They have not answered their last offers.
    pub silent: Vec<WorkerId>,
}

impl Away {
    fn is_empty(&self) -> bool {
        let Away { draining, overloaded, unreachable, silent } = self;
        [draining, overloaded, unreachable, silent].iter().all(|workers| workers.is_empty())
    }
}

#[derive(Debug, Default)]
pub(super) struct Survey<'a> {
    pub(super) free: Vec<&'a Worker>,
    /// They take jobs and could run this one, room or not.
    pub(super) able: Vec<&'a Worker>,
    fleet: Fleet,
    /// Workers that are there and can never run the job.
    unable: usize,
    nearest: Option<(Nearness, &'a Worker)>,
}

/// The fewer things it lacks the nearer; then how many of the checks it passes, and how close it is at
/// the first that it fails.
type Nearness = (Reverse<usize>, u8, u64);

impl Survey<'_> {
    pub(super) fn fleet(self) -> Fleet {
        Fleet { able: self.able.len(), ..self.fleet }
    }
}

impl State {
    /// Sorts the workers by what they could do for the job.
    pub(super) fn survey(&self, job: &Job) -> Survey<'_> {
        let wanted = &self.index.classes.get(job.derived.class).requirements;
        let mut survey = Survey::default();
        // Workers of one group lack the same, and there may be many of them.
        let mut lacks: BTreeMap<GroupNo, Option<Nearness>> = BTreeMap::new();
        for (_, worker) in self.workers() {
            let reachable = worker.status != WorkerStatus::Unreachable;
            survey.fleet.present += usize::from(reachable);
            if let Target::Receiver(receiver) = &wanted.target
                && receiver != worker.id()
            {
                continue;
            }
            let key = &self.index.groups.get(worker.listing.group).key;
            let lack = lacks.entry(worker.listing.group).or_insert_with(|| nearness(key, wanted));
            match lack {
                Some(nearness) if reachable => {
                    survey.unable += 1;
                    if survey.nearest.is_none_or(|(best, _)| *nearness > best) {
                        survey.nearest = Some((*nearness, worker));
                    }
                }
                Some(_) => {}
                None => survey.able(worker, wanted),
            }
        }
        survey
    }

    /// No worker has room.
    pub(super) fn who_comes_nearest(
        &self,
        job: &Job,
        survey: &Survey<'_>,
        now: Timestamp,
    ) -> Because {
        let wanted = &self.index.classes.get(job.derived.class).requirements;
        let room = |worker: &Worker| self.availability(worker, now).estimated_available_at;
        let order = |worker: &&&Worker| {
            // One that has a slot comes nearer than one that has none.
            (worker.listing.listed.is_none(), room(worker), worker.id().clone())
        };
        if let Some(worker) = survey.able.iter().min_by_key(order) {
            return Because::Busy {
                workers: survey.able.len(),
                nearest: worker.id().clone(),
                short: self.short_of(worker, wanted),
                room_at: room(worker),
            };
        }
        if !survey.fleet.away.is_empty() {
            return Because::Unavailable(survey.fleet.away.clone());
        }
        match survey.nearest {
            Some((_, worker)) => Because::Impossible {
                workers: survey.unable,
                nearest: worker.id().clone(),
                lacks: self.index.groups.get(worker.listing.group).key.lacking(wanted).collect(),
            },
            None => Because::NoWorkers,
        }
    }

    fn short_of(&self, worker: &Worker, wanted: &Requirements) -> Short {
        let (free, has, wants) = (worker.free(), worker.spec.resources, wanted.resources);
        let max = self.config.max_queue_per_worker;
        match worker.listing.listed {
            None if worker.foreign_queue >= max => {
                Short::Queue { waiting: worker.foreign_queue, max }
            }
            None => Short::Slots { slots: worker.spec.slots },
            Some(_) if has.cpu != 0 && wants.cpu > free.cpu => {
                Short::Cpu { wanted: wants.cpu, free: free.cpu }
            }
            Some(_) => Short::Memory { wanted: wants.memory, free: free.memory },
        }
    }
}

impl<'a> Survey<'a> {
    fn able(&mut self, worker: &'a Worker, wanted: &Requirements) {
        let id = || worker.id().clone();
        let away = &mut self.fleet.away;
        match worker.status {
            WorkerStatus::Unreachable => away.unreachable.push(id()),
            _ if worker.draining => away.draining.push(id()),
            _ if worker.silent_since.is_some() => away.silent.push(id()),
            WorkerStatus::Open => {
                self.able.push(worker);
                if worker.listing.listed.is_some() && worker.fits(wanted.resources) {
                    self.free.push(worker);
                }
            }
            WorkerStatus::Draining | WorkerStatus::Overloaded => away.overloaded.push(id()),
        }
    }
}

/// None if a worker of this group lacks nothing.
fn nearness(key: &GroupKey, wanted: &Requirements) -> Option<Nearness> {
    let (passed, close) = match key.lacks(wanted)? {
        Lack::Type(_) => (0, 0),
        Lack::Role(_) => (1, 0),
        Lack::Capability(_) => (2, 0),
        Lack::Model(_) => (3, 0),
        Lack::Cpu { has, .. } => (4, u64::from(has)),
        Lack::Memory { has, .. } => (5, has),
    };
    Some((Reverse(key.lacking(wanted).count()), passed, close))
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Short::Slots { slots: 1 } => write!(f, "its slot is taken"),
            Short::Slots { slots } => write!(f, "its {slots} slots are taken"),
            Short::Queue { waiting: 1, max } => {
                write!(f, "1 job waits in its own queue, of {max} allowed")
            }
            Short::Queue { waiting, max } => {
                write!(f, "{waiting} jobs wait in its own queue, of {max} allowed")
            }
            Short::Cpu { wanted, free } => {
                write!(f, "{free} millicores are free of the {wanted} required")
            }
            Short::Memory { wanted, free } => {
                write!(f, "{free} bytes of memory are free of the {wanted} required")
            }
        }
    }
}
