//! Snapshots on their way to the disk: the loop gives piece after piece to a thread that writes them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use bellwether_host::{SnapshotWork, Unavailable};
use bellwether_journal::state::{self, LastPieces};
use bellwether_journal::{Head, SnapshotError, SnapshotWriter};

use super::message::{Message, Saved, SavedSnapshot};
use super::run::Loop;
use crate::event_loop::fatal::{self, Fatal};
use crate::priority::set_lowest_priority;

/// The way to the thread that writes. Without it the thread ends.
#[derive(Debug)]
pub(super) struct Saving {
    // The host bounds what waits in it.
    pieces: Sender<Part>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
enum Part {
    Piece(Vec<u8>),
    Last(Box<LastPieces>),
}

impl Loop {
    /// Does what the host wants done about a snapshot now.
    pub(super) fn take_snapshot(&mut self) {
        let begun = Instant::now();
        let mut is_taken = false;
        while let Some(work) = self.host.poll_snapshot() {
            is_taken = true;
            match work {
                SnapshotWork::Begin(head) => self.begin_snapshot(head),
                SnapshotWork::Piece(piece) => self.write(Part::Piece(piece)),
                SnapshotWork::End(last) => self.write(Part::Last(last)),
                SnapshotWork::Abandon => self.saving = None,
            }
        }
        if is_taken || self.saving.is_some() {
            self.meters.slice(begun.elapsed());
        }
    }

    fn begin_snapshot(&mut self, head: Head) {
        let (pieces, inbox) = channel();
        let (snapshots, loop_inbox) = (Arc::clone(&self.snapshots), self.sender.clone());
        let thread = std::thread::Builder::new().name("snapshot".to_owned()).spawn(move || {
            set_lowest_priority();
            let result =
                snapshots.begin(head).and_then(|writer| write(writer, &inbox, &loop_inbox));
            // The loop may have ended meanwhile; the snapshot is what it is all the same.
            drop(loop_inbox.send(Message::SnapshotSaved(Saved { head, result })));
        });
        let thread = thread.unwrap_or_else(|error| fatal::end(Fatal::Thread(error)));
        self.saving = Some(Saving { pieces, thread });
    }

    fn write(&mut self, part: Part) {
        if let Some(saving) = &self.saving
            && saving.pieces.send(part).is_err()
        {
            // It has failed, and its word on why is in the inbox.
            self.saving = None;
        }
    }

    pub(super) fn snapshot_saved(&mut self, Saved { head, result }: Saved) {
        self.saving = None;
        if let Err(error) = &result {
            tracing::warn!(%error, "the snapshot was not saved; the next one may be");
        }
        let is_saved = matches!(result, Ok(true));
        self.meters.snapshots += u64::from(is_saved);
        let before = self.host.handle_snapshot_saved(head, is_saved);
        // Before the next one is begun: whoever asked for this one gets it.
        self.send();
        if let Some(before) = before {
            self.truncate_before(before);
        }
    }

    /// What the host says is saved, for whoever asked for it.
    pub(super) fn saved(&self, head: Head) -> Result<SavedSnapshot, Unavailable> {
        match self.snapshots.open() {
            Ok(Some(bytes)) => Ok(SavedSnapshot { head, bytes }),
            Ok(None) => Err(Unavailable::NotSaved),
            Err(error) => {
                tracing::warn!(%error, "a snapshot that was saved can't be read");
                Err(Unavailable::NotSaved)
            }
        }
    }

    /// The state as it is at the end, unless there is a snapshot of it.
    pub(super) fn save_last_snapshot(&mut self) {
        if let Some(Saving { pieces, thread }) = self.saving.take() {
            drop(pieces);
            if thread.join().is_err() {
                tracing::warn!("the thread that wrote a snapshot has panicked");
            }
        }
        let Some((head, state)) = self.host.last_snapshot() else { return };
        let saved = self.snapshots.begin(head).and_then(|mut writer| {
            state::write(state, |piece| writer.write(piece))?;
            writer.finish()
        });
        if let Err(error) = saved {
            tracing::warn!(%error, "the last snapshot was not saved; the next start takes longer");
        }
    }
}

/// Writes what comes, and says whether all of it came.
fn write(
    mut writer: Box<dyn SnapshotWriter>,
    pieces: &Receiver<Part>,
    inbox: &Sender<Message>,
) -> Result<bool, SnapshotError> {
    while let Ok(part) = pieces.recv() {
        match part {
            Part::Piece(piece) => {
                writer.write(&piece)?;
                // A loop that has ended wants no more.
                drop(inbox.send(Message::PieceWritten));
            }
            Part::Last(last) => {
                last.write(|piece| writer.write(piece))?;
                return writer.finish().map(|()| true);
            }
        }
    }
    Ok(false)
}
