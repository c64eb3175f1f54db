//! Those who look on: durable events are taken in once, on a thread that gives way to the
//! scheduler, and told to everybody who makes something of them.
//!
//! Deliberately absent: anything that the loop waits for. A thread that falls behind reads the
//! journal, which keeps what it has not seen.

pub(crate) mod buffer;
pub(crate) mod live;
pub(crate) mod outlet;
mod past;
pub(crate) mod sighting;
mod thread;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};

use bellwether_core::model::Seq;
use bellwether_journal::{Reader, Record};

use crate::config::ServerConfig;
use crate::sinks::clickhouse;
use crate::sinks::metrics::Metrics;
use crate::sinks::trace::{self, Spans};
use outlet::{Duty, Sending};
pub(crate) use past::Past;
use thread::{News, Onlooker};

/// Entries that may wait for the thread; beyond, it reads the journal instead.
const ENTRIES_QUEUED_MAX: usize = 100_000;

/// For the loop, which feeds it.
#[derive(Debug)]
pub(crate) struct Feed {
    news: Sender<News>,
    queued: Arc<AtomicUsize>,
    reached: Arc<AtomicU64>,
    thread: std::thread::JoinHandle<()>,
    clickhouse: Option<Sending<clickhouse::Row>>,
    otlp: Option<Sending<trace::Span>>,
    behind: bool,
}

/// Those who will look on, before the state is recovered.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) past: Past,
    clickhouse: Option<clickhouse::Prepared>,
    spans: Option<Spans>,
    otlp: Option<trace::Prepared>,
    metrics: Arc<Metrics>,
}

/// None if nobody looks on. `head` is the journal's last position.
pub(crate) fn prepare(
    config: &ServerConfig,
    head: Seq,
    metrics: &Arc<Metrics>,
) -> Option<Prepared> {
    if !config.telemetry && config.clickhouse.is_none() && config.otlp.is_none() {
        return None;
    }
    let clickhouse = config.clickhouse.as_ref();
    let clickhouse = clickhouse.map(|clickhouse| {
        let (dir, stream) = (&config.data_dir, config.shared_stream());
        clickhouse::prepare(clickhouse, dir, stream, head, metrics.clone())
    });
    let (rows, clickhouse) = clickhouse.unzip();
    let otlp = config.otlp.as_ref().map(|otlp| trace::prepare(otlp, metrics.clone()));
    let (spans, otlp) = otlp.unzip();
    Some(Prepared { past: Past::new(rows), clickhouse, spans, otlp, metrics: metrics.clone() })
}

/// Starts after `head`, which is as far as the past was told.
pub(crate) fn start(
    prepared: Prepared,
    head: Seq,
    journal: Box<dyn Reader>,
    duty: &Duty,
) -> std::io::Result<Feed> {
    let Prepared { past, clickhouse, spans, otlp, metrics } = prepared;
    let (news, inbox) = channel();
    let queued = Arc::new(AtomicUsize::new(0));
    let reached = Arc::new(AtomicU64::new(head.0));
    let onlooker = Onlooker {
        live: past.live,
        rows: past.rows,
        spans,
        journal,
        metrics,
        news: inbox,
        queued: queued.clone(),
        position: head,
        reached: reached.clone(),
    };
    let thread = std::thread::Builder::new().name("telemetry".to_owned()).spawn(move || {
        crate::priority::set_lowest_priority();
        onlooker.run();
    })?;
    let clickhouse = clickhouse.map(|clickhouse| clickhouse.start(duty.clone())).transpose()?;
    let otlp = otlp.map(|otlp| otlp.start(duty.clone())).transpose()?;
    Ok(Feed { news, queued, reached, thread, clickhouse, otlp, behind: false })
}

impl Feed {
    /// Never waits.
    pub(crate) fn push(&mut self, record: &Arc<Record>) {
        let entries = record.entries.len();
        let queued = self.queued.load(Ordering::Relaxed);
        if queued > 0 && queued + entries > ENTRIES_QUEUED_MAX {
            if !std::mem::replace(&mut self.behind, true) {
                self.send(News::Behind);
            }
            return;
        }
        self.behind = false;
        self.queued.fetch_add(entries, Ordering::Relaxed);
        self.send(News::Durable(Arc::clone(record)));
    }

    /// How far it has read; the journal must keep what lies behind.
    pub(crate) fn position(&self) -> Seq {
        Seq(self.reached.load(Ordering::Relaxed))
    }

    pub(crate) fn close(self) {
        self.send(News::Close);
        self.thread.thread().unpark();
        if self.thread.join().is_err() {
            tracing::error!("the thread that looks on panicked");
        }
        if let Some(clickhouse) = self.clickhouse {
            clickhouse.close();
        }
        if let Some(otlp) = self.otlp {
            otlp.close();
        }
    }

    fn send(&self, news: News) {
        if self.news.send(news).is_err() {
            tracing::error!("the thread that looks on has stopped");
        }
    }
}
