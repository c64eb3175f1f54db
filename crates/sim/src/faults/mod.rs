//! A simulated fleet around the real engine, with seeded faults and every promise checked after
//! every step.
//!
//! A seed determines everything: the fleet, the jobs, the faults, their order. So a violation is
//! replayed by its seed, bit for bit. Seeds are independent of one another and run on all cores;
//! the report does not depend on how many there are.

mod agenda;
pub(crate) mod chaos;
pub(crate) mod client;
pub(crate) mod court;
pub(crate) mod defect;
mod disk;
pub(crate) mod due;
pub(crate) mod fleet;
pub(crate) mod invariants;
mod keys;
mod ledger;
pub(crate) mod plan;
mod predictor;
mod program;
pub(crate) mod random;
pub(crate) mod run;
pub(crate) mod scheduler;
pub(crate) mod stage;
mod stamps;
pub(crate) mod weather;
pub(crate) mod worker;
pub(crate) mod workload;
pub(crate) mod world;

pub use court::invariant_names;
pub use defect::{Defect, DiskDefect};
pub use run::{FaultOptions, FaultReport, FoundViolation, Schedulers, run_many, trace_seed};
