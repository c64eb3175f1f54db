//! The thread that looks on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, TryRecvError};
use std::time::Duration;

use bellwether_core::Entry;
use bellwether_core::model::Seq;
use bellwether_journal::{ReadError, Reader, Record, state};

use super::live::Live;
use crate::priority;
use crate::sinks::clickhouse::Rows;
use crate::sinks::metrics::Metrics;
use crate::sinks::trace::Spans;

/// After the journal could not be read.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) enum News {
    Durable(Arc<Record>),
    /// Records were left out: read them from the journal.
    Behind,
    Close,
}

pub(super) struct Onlooker {
    pub(super) live: Live,
    /// For ClickHouse.
    pub(super) rows: Option<Rows>,
    /// For a collector of traces.
    pub(super) spans: Option<Spans>,
    pub(super) journal: Box<dyn Reader>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) news: Receiver<News>,
    /// Entries in the channel.
    pub(super) queued: Arc<AtomicUsize>,
    pub(super) position: Seq,
    /// The same, for others to see.
    pub(super) reached: Arc<AtomicU64>,
}

impl Onlooker {
    pub(super) fn run(mut self) {
        while let Ok(news) = self.next_news() {
            match news {
                News::Durable(record) => {
                    self.queued.fetch_sub(record.entries.len(), Ordering::Relaxed);
                    if record.first() > self.position.next() {
                        self.catch_up();
                    }
                    self.take(&record.entries);
                }
                News::Behind => self.catch_up(),
                News::Close => return,
            }
        }
    }

    fn next_news(&self) -> Result<News, RecvError> {
        match self.news.try_recv() {
            Ok(news) => return Ok(news),
            Err(TryRecvError::Disconnected) => return Err(RecvError),
            Err(TryRecvError::Empty) => priority::gather(),
        }
        self.news.recv()
    }

    /// Takes in what is new of these.
    fn take(&mut self, entries: &[Entry]) {
        let mut observing = self.metrics.observing();
        let (rows, spans) = (&mut self.rows, &mut self.spans);
        for entry in entries.iter().filter(|entry| entry.seq > self.position) {
            self.live.see(entry, &mut |sighting| {
                observing.see(sighting);
                if let Some(rows) = rows {
                    rows.see(sighting);
                }
                if let Some(spans) = spans {
                    spans.see(sighting);
                }
            });
        }
        if let Some(rows) = rows {
            rows.flush();
        }
        if let Some(spans) = spans {
            spans.flush();
        }
        if let Some(last) = entries.last() {
            self.position = self.position.max(last.seq);
        }
        observing.reached(self.position);
        self.reached.store(self.position.0, Ordering::Relaxed);
    }

    /// Reads what the journal has and this has not. The journal keeps it, so this ends well.
    fn catch_up(&mut self) {
        while let Err(error) = self.read_on() {
            if matches!(error, ReadError::Truncated { .. }) && self.start_over() {
                continue;
            }
            tracing::warn!(%error, "telemetry could not read the journal; it tries again");
            std::thread::sleep(RETRY_INTERVAL);
        }
    }

    /// What led to the latest snapshot is not kept here: a follower was given the state instead.
    fn start_over(&mut self) -> bool {
        let Ok(Some(snapshot)) = self.journal.load_snapshot() else { return false };
        let Ok(engine) = state::decode(&snapshot.bytes) else { return false };
        self.live = Live::of(engine.state());
        self.position = snapshot.head.seq;
        true
    }

    fn read_on(&mut self) -> Result<(), ReadError> {
        loop {
            let mut read = Vec::new();
            for record in self.journal.read(self.position.next())? {
                read.push(record?);
                if read.len() >= RECORDS_AT_A_TIME {
                    break;
                }
            }
            if read.is_empty() {
                return Ok(());
            }
            for record in &read {
                self.take(&record.entries);
            }
        }
    }
}

/// The journal's reader is borrowed while it reads, so it is read in pieces.
const RECORDS_AT_A_TIME: usize = 16;
