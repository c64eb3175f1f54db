//! Wakes a reader when somebody has written to the file, without asking all the time.
//!
//! Every commit of any process appends to the write-ahead log, and the kernel tells who watches that
//! file. It tells at the write, a little before the commit can be seen, so after a wake the reader
//! looks again in growing steps. The last step is the slow fallback, should the log be made anew.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use super::Place;
use crate::error::BrokerError;

const FIRST_LOOK: Duration = Duration::from_millis(1);
const SLOW_LOOK: Duration = Duration::from_secs(1);

/// Watches the write-ahead log of one file.
#[derive(Debug)]
pub(super) struct Watch {
    changes: AsyncFd<OwnedFd>,
    next_look: Duration,
    server: String,
}

impl Watch {
    /// Watches from now on. The log exists as long as a connection is open.
    pub(super) fn new(place: &Place) -> Result<Self, BrokerError> {
        let mut log = OsString::from(place.path.as_os_str());
        log.push("-wal");
        let lost = |error: std::io::Error| BrokerError::lost(place.server(), error);
        let instance = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|error| lost(error.into()))?;
        inotify::add_watch(&instance, &log, WatchFlags::MODIFY)
            .map_err(|error| lost(error.into()))?;
        #[expect(deprecated, reason = "what replaces it is unsafe, and an owned descriptor is not")]
        let changes = AsyncFd::new(instance).map_err(lost)?;
        Ok(Self { changes, next_look: FIRST_LOOK, server: place.server() })
    }

    /// Something was found: look again soon.
    pub(super) fn found(&mut self) {
        self.next_look = FIRST_LOOK;
    }

    /// Whether nothing has happened for so long that only the slow look is left.
    pub(super) fn is_idle(&self) -> bool {
        self.next_look == SLOW_LOOK
    }

    /// Returns when it is time to look.
    pub(super) async fn changed(&mut self) -> Result<(), BrokerError> {
        let Ok(ready) = tokio::time::timeout(self.next_look, self.changes.readable_mut()).await
        else {
            self.next_look = (self.next_look * 2).min(SLOW_LOOK);
            return Ok(());
        };
        let mut guard = ready.map_err(|error| BrokerError::lost(&self.server, error))?;
        let mut notices = [0_u8; 4096];
        loop {
            match rustix::io::read(guard.get_inner(), &mut notices) {
                Ok(_) => {}
                Err(Errno::WOULDBLOCK) => break,
                Err(error) => return Err(BrokerError::lost(&self.server, error)),
            }
        }
        guard.clear_ready();
        self.next_look = FIRST_LOOK;
        Ok(())
    }
}
