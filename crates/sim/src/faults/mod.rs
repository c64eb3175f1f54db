//! A simulated fleet around the real engine, with seeded faults and every promise checked after
//! every step.
//!
//! A seed determines everything: the fleet, the jobs, the faults, their order. So a violation is
//! replayed by its seed, bit for bit. Seeds are independent of one another and run on all cores;
//! the report does not depend on how many there are.

mod agenda;
mod chaos;
mod client;
mod court;
mod defect;
mod disk;
mod due;
mod invariants;
mod keys;
mod ledger;
mod plan;
mod predictor;
mod program;
mod random;
mod run;
mod scheduler;
mod stage;
mod stamps;
mod weather;
mod worker;
mod workload;
mod world;

pub use court::invariant_names;
pub use defect::{Defect, DiskDefect};
pub use run::{FaultOptions, FaultReport, FoundViolation, run_many, trace_seed};
