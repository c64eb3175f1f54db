//! Traces: from the submitter through the decision to the attempt on a worker, in W3C's trace
//! context, and as spans to an OpenTelemetry collector.
//!
//! A job carries the context that it was submitted with. Spans are made of durable events, by the
//! thread that looks on, and their ids are hashes, so a worker can be told its span's id before
//! there is a span.
//!
//! Deliberately absent: a tracer in the loop.

pub(crate) mod context;
mod outlet;
mod span;
mod spans;

use std::sync::Arc;
use std::time::Duration;

use crate::config::Otlp;
use crate::projections::telemetry::buffer::Buffer;
use crate::projections::telemetry::outlet::{Duty, Sending};
use crate::sinks::metrics::{Metrics, Sink};
use context::Tracing;
use outlet::Collector;
pub(crate) use span::Span;
pub(crate) use spans::Spans;

/// Spans that may wait for the collector; beyond, the oldest are dropped.
const SPANS_MAX: usize = 50_000;
/// How long spans are gathered.
const INTERVAL: Duration = Duration::from_secs(1);

/// What will be sent to.
#[derive(Debug)]
pub(crate) struct Prepared {
    collector: Collector,
    buffer: Arc<Buffer<Span>>,
}

/// What makes spans, and what sends them.
pub(crate) fn prepare(config: &Otlp, metrics: Arc<Metrics>) -> (Spans, Prepared) {
    let buffer = Arc::new(Buffer::new(Sink::Otlp, SPANS_MAX, metrics));
    let spans = Spans::new(Tracing::new(config), buffer.clone());
    (spans, Prepared { collector: Collector::new(config), buffer })
}

impl Prepared {
    pub(crate) fn start(self, duty: Duty) -> std::io::Result<Sending<Span>> {
        Sending::start(self.collector, self.buffer, INTERVAL, duty)
    }
}
