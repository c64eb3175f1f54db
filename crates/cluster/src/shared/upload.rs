//! Brings snapshots into the shared log, beside the appends.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::Snapshots;
use bellwether_journal::shared::SharedError;

use super::Connect;

/// One at a time; what is asked for meanwhile comes with the next.
pub(super) struct Uploads {
    connect: Connect,
    busy: Arc<AtomicBool>,
}

impl Uploads {
    pub(super) fn new(connect: Connect) -> Uploads {
        Uploads { connect, busy: Arc::default() }
    }

    /// The latest snapshot stands for what lies before `before`.
    pub(super) fn start(&self, epoch: Epoch, snapshots: Box<dyn Snapshots>, before: Seq) {
        if self.busy.swap(true, Ordering::AcqRel) {
            return;
        }
        let (connect, busy) = (Arc::clone(&self.connect), Arc::clone(&self.busy));
        let started = std::thread::Builder::new().name("upload".to_owned()).spawn(move || {
            if let Err(error) = upload(&connect, epoch, snapshots.as_ref(), before) {
                tracing::warn!("the shared journal was not truncated; it is tried again: {error}");
            }
            busy.store(false, Ordering::Release);
        });
        if let Err(error) = started {
            self.busy.store(false, Ordering::Release);
            tracing::warn!("the shared journal was not truncated; it is tried again: {error}");
        }
    }
}

fn upload(
    connect: &Connect,
    epoch: Epoch,
    snapshots: &dyn Snapshots,
    before: Seq,
) -> Result<(), SharedError> {
    let snapshot = snapshots.load().map_err(|error| SharedError::Unfit(error.to_string()))?;
    let Some(snapshot) = snapshot else { return Ok(()) };
    connect()?.save_snapshot(epoch, &snapshot, before)
}
