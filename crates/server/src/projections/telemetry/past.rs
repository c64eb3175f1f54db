//! What happened before this process: replayed once, when the state is recovered.

use bellwether_core::{Entry, State};

use super::live::Live;
use crate::sinks::clickhouse::Rows;

/// Numbers start with the process, so they are not told of the past; ClickHouse is, of what it may
/// not have been sent before.
#[derive(Debug)]
pub(crate) struct Past {
    pub(super) live: Live,
    pub(super) rows: Option<Rows>,
}

impl Past {
    pub(crate) fn new(rows: Option<Rows>) -> Past {
        Past { live: Live::default(), rows }
    }

    /// The state that replaying starts from.
    pub(crate) fn begin(&mut self, state: &State) {
        self.live = Live::of(state);
        if let Some(rows) = &self.rows {
            rows.begins_after(state.seq());
        }
    }

    pub(crate) fn see(&mut self, entry: &Entry) {
        let rows = &mut self.rows;
        self.live.see(entry, &mut |sighting| {
            if let Some(rows) = rows {
                rows.see(sighting);
            }
        });
    }

    /// One record was replayed.
    pub(crate) fn flush(&mut self) {
        if let Some(rows) = &mut self.rows {
            rows.flush();
        }
    }
}
