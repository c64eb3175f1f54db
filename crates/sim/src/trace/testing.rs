//! Hand-made traces for the tests of this module.

use bellwether_core::model::{JobId, Name, RunId};

use super::TraceJob;

/// An independent job.
pub(super) fn job(id: &str, submit_ms: u64, duration_ms: u64) -> TraceJob {
    TraceJob {
        id: JobId::fixed(id),
        kind: Name::fixed("work"),
        submit_ms,
        duration_ms,
        run: None,
        dependencies: Vec::new(),
        cpu: 0,
        payload_bytes: 0,
        sender: None,
        worker_class: None,
    }
}

/// A job of a DAG.
pub(super) fn run_job(run: &str, id: &str, duration_ms: u64, dependencies: &[&str]) -> TraceJob {
    TraceJob {
        run: Some(RunId::fixed(run)),
        dependencies: dependencies.iter().map(|id| JobId::fixed(id)).collect(),
        ..job(id, 0, duration_ms)
    }
}
