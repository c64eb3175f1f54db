//! Recorded workloads on a simulated fleet: what each strategy would have made of them.

pub mod reader;

pub use reader::{TraceError, TraceJob};
