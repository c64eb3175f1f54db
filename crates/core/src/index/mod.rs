//! What makes decisions cheap: derived from the facts of the state, never stored.

/// A place in a list, as a type of its own.
macro_rules! index_number {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) struct $name(u32);

        impl $name {
            pub(crate) fn at(index: usize) -> $name {
                $name(u32::try_from(index).expect("lists are bounded by the jobs and workers"))
            }

            pub(crate) fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

pub(crate) mod classes;
pub(crate) mod gates;
pub(crate) mod groups;
mod names;
mod rebuild;
mod sorted;
pub(crate) mod timers;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use self::names::Names;
use crate::model::{Actor, ActorNo, JobId, JobNo, Name, RunId, RunNo, WorkerId, WorkerNo};

/// A map for look-ups only: its order means nothing, so it is never walked.
pub(crate) type FixedMap<K, V> = HashMap<K, V, FxBuildHasher>;

#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) ids: Names<JobId, JobNo>,
    pub(crate) run_ids: Names<RunId, RunNo>,
    pub(crate) worker_ids: FixedMap<WorkerId, WorkerNo>,
    pub(crate) keys: Names<Name, JobNo>,
    /// Of those in `State::ids`, the ones whose jobs are forgotten.
    pub(crate) former_ids: Names<JobId, JobNo>,
    pub(crate) actors: FixedMap<Actor, ActorNo>,
    pub(crate) classes: classes::Classes,
    /// Ready jobs with keys, in front of their classes.
    pub(crate) gates: gates::Gates,
    pub(crate) groups: groups::Groups,
    pub(crate) timers: timers::Timers,
    /// Workers that gained capacity since jobs were last placed.
    pub(crate) wakes: Vec<WorkerNo>,
    /// Drifts that apply has noticed; decide makes events of them.
    pub(crate) drifts: Vec<crate::place::predictor::Drift>,
    /// Jobs that the event at hand brings into another state without naming them.
    pub(crate) moved: Vec<crate::life::Moved>,
    /// Something has changed that may let a job be placed.
    pub(crate) dirty: bool,
    /// When a job that was passed over for a busy worker should be looked at again.
    pub(crate) look_again_at: Option<crate::model::Timestamp>,
}
