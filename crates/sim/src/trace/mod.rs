//! Recorded workloads on a simulated fleet: what each strategy would have made of them.

pub mod arrivals;
pub mod baseline;
pub mod bound;
pub mod compare;
pub mod engine_run;
pub mod fleet;
pub mod metrics;
pub mod reader;
#[cfg(test)]
mod testing;
mod worker;
pub mod workload;

pub use arrivals::{Load, LoadError, Process};
pub use baseline::{Baseline, BaselineRun};
pub use bound::LowerBound;
pub use compare::{Options, SimulateError, TraceReport, simulate};
pub use engine_run::{EngineRun, EngineRunError};
pub use fleet::{Fleet, FleetError, Machine, Speed};
pub use metrics::{Distribution, Outcome, StrategyReport, Tally, Utilization};
pub use reader::{TraceError, TraceJob};
pub use workload::{Batch, Stage, StageJob, Workload, WorkloadError};
