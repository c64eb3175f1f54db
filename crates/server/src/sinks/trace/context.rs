//! Which jobs are traced, and the ids of their spans.

use bellwether_core::model::{JobNo, JobSpec, Submission, Token, TraceParent};

use crate::config::Otlp;

/// The header and the metadata that carry the context of a request.
pub(crate) const TRACE_PARENT: &str = "traceparent";

/// Traces are recorded. A job that comes with a context is traced if that says so; of the others,
/// some are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tracing {
    /// A job without a context is traced if its lot is below.
    threshold: u64,
}

/// The trace of one job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JobTrace {
    pub(crate) trace_id: [u8; 16],
    /// The submitter's; none if the trace begins here.
    pub(crate) parent: Option<[u8; 8]>,
    flags: u8,
}

impl Tracing {
    pub(crate) fn new(config: &Otlp) -> Tracing {
        let share = u64::from(config.sample_permille.min(1_000));
        Tracing { threshold: (u64::MAX / 1_000).saturating_mul(share) }
    }

    pub(crate) fn of_job(self, no: JobNo, spec: &JobSpec) -> Option<JobTrace> {
        if let Some(given) = spec.extras().trace_parent {
            let TraceParent { trace_id, span_id, flags } = given;
            let trace = JobTrace { trace_id, parent: Some(span_id), flags };
            return given.is_sampled().then_some(trace);
        }
        if lot(no) >= self.threshold {
            return None;
        }
        let hash = blake3::Hasher::new()
            .update(spec.id.as_str().as_bytes())
            .update(&no.0.to_le_bytes())
            .finalize();
        let trace_id = *hash.as_bytes().first_chunk()?;
        Some(JobTrace { trace_id, parent: None, flags: 1 })
    }
}

/// The same whenever it is asked, and spread evenly (the finalizer of SplitMix64). It is drawn for
/// every event of every job, so it is not a cryptographic hash.
fn lot(no: JobNo) -> u64 {
    let mut lot = no.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    lot = (lot ^ (lot >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    lot = (lot ^ (lot >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    lot ^ (lot >> 31)
}

impl JobTrace {
    pub(crate) fn job_span(&self, no: JobNo) -> [u8; 8] {
        self.span(b"job", no.0)
    }

    pub(crate) fn decision_span(&self, token: Token) -> [u8; 8] {
        self.span(b"decision", token.0)
    }

    pub(crate) fn attempt_span(&self, token: Token) -> [u8; 8] {
        self.span(b"attempt", token.0)
    }

    /// What the worker is told: its spans belong below the attempt's.
    pub(crate) fn of_attempt(&self, token: Token) -> TraceParent {
        let span_id = self.attempt_span(token);
        TraceParent { trace_id: self.trace_id, span_id, flags: self.flags }
    }

    fn span(&self, what: &[u8], number: u64) -> [u8; 8] {
        let hash = blake3::Hasher::new()
            .update(&self.trace_id)
            .update(what)
            .update(&number.to_le_bytes())
            .finalize();
        *hash.as_bytes().first_chunk().expect("a hash is longer")
    }
}

/// Jobs without a context of their own belong to that of the request they came with. A context that
/// is none is left out, as W3C wants it.
pub(crate) fn adopt(submission: &mut Submission, given: Option<&str>) {
    let Some(given) = given.and_then(|given| TraceParent::parse(given).ok()) else { return };
    for job in &mut submission.jobs {
        job.extras_mut().trace_parent.get_or_insert(given);
    }
}
