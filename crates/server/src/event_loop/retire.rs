//! Before another leads by our own wish: nothing more is decided, so that all that was is durable when the
//! reign ends. Then nobody is told that an outcome is unknown, and the state need not be built again.

use std::time::{Duration, Instant};

use bellwether_host::Mode;
use tokio::sync::oneshot;

use super::run::Loop;

/// After so long without an end of the reign everything goes on.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(super) struct Retiring {
    until: Instant,
    /// Told once everything is durable.
    ready: Option<oneshot::Sender<()>>,
}

impl Loop {
    pub(super) fn begin_to_retire(&mut self, ready: oneshot::Sender<()>) {
        self.retiring = Some(Retiring { until: Instant::now() + PATIENCE, ready: Some(ready) });
    }

    /// Says that everything is durable once it is, and goes on when there is nothing to wait for.
    pub(super) fn retire(&mut self) {
        let Some(retiring) = &mut self.retiring else { return };
        if self.host.mode() != Mode::Reigning || Instant::now() >= retiring.until {
            self.retiring = None;
        } else if self.host.is_durable()
            && let Some(ready) = retiring.ready.take()
        {
            // Whoever asked may have gone.
            ready.send(()).ok();
        }
    }
}
