//! How the scheduler does, second by second: a bounded past in memory, and one summary a second for all
//! who look on, however many they are and whatever happens.
//!
//! Deliberately absent: anything on the disk. What happened to each job is the registry's.

mod rings;
mod tally;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use rings::Rings;
pub(crate) use rings::{Gauges, Series, Step};
pub(crate) use tally::Tally;

#[derive(Debug)]
pub(crate) struct Pulse {
    // Held by the thread that takes in events for one batch, and once a second to take it away.
    current: Mutex<Tally>,
    // Held once a second to add to it, and by whoever asks for a copy.
    past: Mutex<Rings>,
    /// The latest summary, in JSON; none before the first.
    summary: watch::Sender<Option<Arc<str>>>,
}

/// The second that is over.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) tally: Tally,
}

impl Default for Pulse {
    fn default() -> Pulse {
        let summary = watch::Sender::new(None);
        Pulse { current: Mutex::default(), past: Mutex::default(), summary }
    }
}

impl Pulse {
    pub(crate) fn counting(&self) -> MutexGuard<'_, Tally> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a second; `at` is in seconds since 1970.
    pub(crate) fn beat(&self, at: u64, gauges: Gauges) -> Beat {
        let tally = std::mem::take(&mut *self.counting());
        self.lock().push(at, gauges, &tally);
        Beat { tally }
    }

    pub(crate) fn series(&self, step: Step) -> Series {
        self.lock().series(step)
    }

    pub(crate) fn tell(&self, summary: Arc<str>) {
        self.summary.send_replace(Some(summary));
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.summary.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Rings> {
        self.past.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What one second came to, as summaries tell it.
#[derive(Debug, serde::Serialize, utoipa::ToSchema)]
pub(crate) struct Rates {
    submitted: u32,
    started: u32,
    completed: u32,
    failed: u32,
    dropped: u32,
    retried: u32,
    hedged: u32,
    drifts: u32,
    predictions: u32,
    near: u32,
    /// Seconds; absent if nothing was placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_p50: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_p99: Option<f32>,
    /// Seconds from submission to end; absent if nothing ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_p50: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    whole_p99: Option<f32>,
}

impl From<Beat> for Rates {
    fn from(Beat { tally }: Beat) -> Rates {
        Rates {
            submitted: tally.submitted,
            started: tally.started,
            completed: tally.completed,
            failed: tally.failed,
            dropped: tally.dropped,
            retried: tally.retried,
            hedged: tally.hedged,
            drifts: tally.drifts,
            predictions: tally.predictions,
            near: tally.near,
            wait_p50: tally.wait.quantile(0.5),
            wait_p99: tally.wait.quantile(0.99),
            whole_p50: tally.whole.quantile(0.5),
            whole_p99: tally.whole.quantile(0.99),
        }
    }
}
