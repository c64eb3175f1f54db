//! What those count who pass events on to other systems.

use std::sync::atomic::{AtomicU64, Ordering};

use super::text::{Kind, Text};

/// A place that events are passed on to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sink {
    ClickHouse,
    Otlp,
    Webhooks,
}

#[derive(Debug, Default)]
pub(crate) struct SinkCounts {
    pub(crate) written: AtomicU64,
    pub(crate) dropped: AtomicU64,
    pub(crate) failures: AtomicU64,
    pub(crate) waiting: AtomicU64,
}

/// Several threads count here, rarely: once a batch.
#[derive(Debug, Default)]
pub(crate) struct Sinks {
    clickhouse: SinkCounts,
    otlp: SinkCounts,
    webhooks: SinkCounts,
}

impl Sink {
    const ALL: [Sink; 3] = [Sink::ClickHouse, Sink::Otlp, Sink::Webhooks];

    fn name(self) -> &'static str {
        match self {
            Sink::ClickHouse => "clickhouse",
            Sink::Otlp => "otlp",
            Sink::Webhooks => "webhooks",
        }
    }
}

impl Sinks {
    pub(crate) fn of(&self, sink: Sink) -> &SinkCounts {
        match sink {
            Sink::ClickHouse => &self.clickhouse,
            Sink::Otlp => &self.otlp,
            Sink::Webhooks => &self.webhooks,
        }
    }

    pub(super) fn write(&self, text: &mut Text) {
        type Read = fn(&SinkCounts) -> &AtomicU64;
        let families: [(&'static str, Kind, &str, Read); 4] = [
            ("bellwether_sink_written_total", Kind::Counter, "Rows or spans passed on", |sink| {
                &sink.written
            }),
            (
                "bellwether_sink_dropped_total",
                Kind::Counter,
                "Rows or spans dropped because the other side did not take them in time",
                |sink| &sink.dropped,
            ),
            (
                "bellwether_sink_failures_total",
                Kind::Counter,
                "Times that passing on failed; what is lost is counted as dropped",
                |sink| &sink.failures,
            ),
            ("bellwether_sink_waiting", Kind::Gauge, "Rows or spans to be passed on", |sink| {
                &sink.waiting
            }),
        ];
        for (name, kind, help, read) in families {
            let family = text.family(name, kind, help);
            for sink in Sink::ALL {
                let value = read(self.of(sink)).load(Ordering::Relaxed);
                family.sample(&[("sink", sink.name())], value);
            }
        }
    }
}
