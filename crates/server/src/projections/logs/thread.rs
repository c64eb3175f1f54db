//! The thread that writes down what jobs print, many pieces at a time.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, TryRecvError};

use bellwether_core::model::{Seq, WorkerId};
use bellwether_wire::v1;
use tokio::sync::{oneshot, watch};

use super::Receipt;
use super::store::{self, Store};
use crate::config::LogLimits;
use crate::priority;

/// Bytes that are written together.
const BATCH_BYTES_MAX: usize = 4 << 20;

#[derive(Debug)]
pub(super) enum Work {
    Keep {
        worker: WorkerId,
        chunks: Vec<v1::LogChunk>,
        bytes: usize,
        number: u64,
        receipt: Receipt,
    },
    /// Answer once all that came before is written.
    Settle(oneshot::Sender<()>),
}

pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) limits: LogLimits,
    pub(super) head: Seq,
    pub(super) inbox: Receiver<Work>,
    pub(super) queued_bytes: Arc<AtomicUsize>,
    pub(super) version: watch::Sender<u64>,
    /// Opened when the first job prints something.
    pub(super) store: Option<Store>,
    /// It was told that output can't be kept.
    pub(super) troubled: bool,
}

impl Writer {
    pub(super) fn run(mut self) {
        priority::lower_priority();
        while let Ok(first) = self.inbox.recv() {
            if matches!(first, Work::Keep { .. }) {
                priority::gather();
            }
            let batch = self.batch(first);
            self.write(batch);
        }
    }

    fn batch(&self, first: Work) -> Vec<Work> {
        let mut bytes = size(&first);
        let mut batch = vec![first];
        while bytes < BATCH_BYTES_MAX {
            match self.inbox.try_recv() {
                Ok(work) => {
                    bytes += size(&work);
                    batch.push(work);
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        batch
    }

    fn write(&mut self, batch: Vec<Work>) {
        let chunks = batch.iter().filter_map(|work| match work {
            Work::Keep { worker, chunks, .. } => Some((worker, chunks)),
            Work::Settle(_) => None,
        });
        let mut chunks = chunks
            .flat_map(|(worker, chunks)| chunks.iter().map(move |chunk| (worker.as_str(), chunk)));
        if let Some(first) = chunks.next() {
            let written =
                self.open().and_then(|store| store.keep(std::iter::once(first).chain(chunks)));
            match written {
                Ok(()) => self.troubled = false,
                // Jobs go on without it: what they printed just now is cut.
                Err(error) => {
                    self.store = None;
                    if store::is_damage(&error) {
                        store::set_aside(&self.path);
                    }
                    if !std::mem::replace(&mut self.troubled, true) {
                        tracing::warn!(%error, "the output of jobs can't be kept; it is cut");
                    }
                }
            }
            self.version.send_modify(|version| *version += 1);
        }
        for work in batch {
            match work {
                Work::Keep { bytes, number, receipt, .. } => {
                    self.queued_bytes.fetch_sub(bytes, Ordering::Relaxed);
                    receipt.done(number);
                }
                // Whoever asked may have gone away.
                Work::Settle(reply) => drop(reply.send(())),
            }
        }
    }

    fn open(&mut self) -> rusqlite::Result<&mut Store> {
        match &mut self.store {
            Some(_) => {}
            none => *none = Some(Store::open(&self.path, self.limits, self.head)?),
        }
        Ok(self.store.as_mut().expect("it was opened just now"))
    }
}

fn size(work: &Work) -> usize {
    match work {
        Work::Keep { bytes, .. } => *bytes,
        Work::Settle(_) => 0,
    }
}
