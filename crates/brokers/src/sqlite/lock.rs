//! One reader per channel, whatever happens to it: a lock file, which the kernel frees when the
//! process that holds it is gone.

use std::fs::File;
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::Place;
use crate::channel::Channel;
use crate::error::BrokerError;

/// How often who stands by looks whether the reader is gone.
const STANDBY_PAUSE: Duration = Duration::from_millis(100);

/// The right to read a channel, until it is dropped.
#[derive(Debug)]
pub(super) struct Reader {
    _file: File,
}

impl Reader {
    /// Waits until no other process reads this channel.
    pub(super) async fn wait(place: &Place, channel: &Channel) -> Result<Self, BrokerError> {
        let path = path(place, channel);
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|error| cannot_lock(place, &path, &error))?;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { _file: file }),
                Err(Errno::WOULDBLOCK) => tokio::time::sleep(STANDBY_PAUSE).await,
                Err(error) => return Err(cannot_lock(place, &path, &error.into())),
            }
        }
    }
}

fn path(place: &Place, channel: &Channel) -> PathBuf {
    let mut path = place.path.clone().into_os_string();
    path.push(format!("-{}-{}", place.prefix, channel.kind()));
    if let Channel::Dispatch(worker) = channel {
        // Names of workers may hold what names of files may not.
        let hex: String = worker.as_str().bytes().map(|byte| format!("{byte:02x}")).collect();
        path.push(format!("-{hex}"));
    }
    path.push(".lock");
    PathBuf::from(path)
}

fn cannot_lock(place: &Place, path: &std::path::Path, error: &std::io::Error) -> BrokerError {
    BrokerError::refused(
        place.server(),
        format!("{} can't be locked: {error}", path.display()),
        "let this user write in the folder",
    )
}
