//! Checkpoints: what the journal is, signed with the scheduler's key, every now and then and when it
//! shuts down. They are events, so webhooks and queues carry them out; and lines of a file in the data
//! directory, and of another if one is named. Whoever keeps them elsewhere finds a past that was
//! rewritten: `bellwether replay --checkpoints`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bellwether_core::Command;
use bellwether_core::model::{Checkpoint, Epoch, Name, Seq};
use bellwether_journal::Head;
use bellwether_wire::json::checkpoint::checkpoint_to_json;
use bellwether_wire::signing::Secret;
use bellwether_wire::signing::checkpoint::{Draft, sign};
use bellwether_wire::signing::key_file::{self, KeyFileError};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cluster::Members;
use crate::event_loop::{Handle, clock};
use crate::identity::Identity;

/// The scheduler's own key, in the data directory.
const KEY_FILE: &str = "scheduler.key";
/// Beside it, the checkpoints.
pub const FILE: &str = "checkpoints.jsonl";
/// A file of the data directory that is larger becomes the one before it; what lies further back is
/// gone, and is with whoever took it elsewhere.
const FILE_BYTES_MAX: u64 = 16 << 20;

#[derive(Debug, thiserror::Error)]
#[error("failed to write the checkpoint to {}: {source}", path.display())]
pub struct CheckpointFileError {
    path: PathBuf,
    source: io::Error,
}

/// The key that checkpoints are signed with, made at the first start.
pub(crate) fn key(data_dir: &Path) -> Result<Secret, KeyFileError> {
    key_file::load_or_make(&data_dir.join(KEY_FILE))
}

/// Where checkpoints go, besides the journal.
#[derive(Debug, Clone)]
pub(crate) struct Signer {
    pub(crate) secret: Secret,
    pub(crate) scheduler: Identity,
    /// Of several schedulers the one that leads signs, each with its own key.
    pub(crate) members: Members,
    pub(crate) data_dir: PathBuf,
    pub(crate) export: Option<PathBuf>,
}

impl Signer {
    fn sign(&self, head: Head, epoch: Epoch) -> Checkpoint {
        let draft = Draft {
            scheduler: Name::fixed(self.scheduler.as_str()),
            position: head.seq,
            chain: head.chain.0,
            epoch,
            at: clock::wall(),
        };
        sign(draft, &self.secret)
    }

    /// One line in each file.
    fn write(&self, checkpoint: &Checkpoint) -> Result<(), CheckpointFileError> {
        let line = format!("{}\n", checkpoint_to_json(checkpoint));
        let own = self.data_dir.join(FILE);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| CheckpointFileError { path, source }
        };
        append(&own, &line, Some(FILE_BYTES_MAX)).map_err(failed(&own))?;
        match &self.export {
            Some(path) => append(path, &line, None).map_err(failed(path)),
            None => Ok(()),
        }
    }
}

fn append(path: &Path, line: &str, bytes_max: Option<u64>) -> io::Result<()> {
    let open = || OpenOptions::new().append(true).create(true).mode(0o600).open(path);
    let mut file: File = open()?;
    if bytes_max.is_some_and(|max| file.metadata().is_ok_and(|meta| meta.len() > max)) {
        std::fs::rename(path, path.with_extension("jsonl.1"))?;
        file = open()?;
    }
    file.write_all(line.as_bytes())?;
    file.sync_data()
}

/// The task that makes them.
#[derive(Debug)]
pub(crate) struct Checkpoints {
    signer: Arc<Signer>,
    /// None: only at shutdown.
    task: Option<JoinHandle<()>>,
    stop: watch::Sender<bool>,
}

impl Checkpoints {
    /// `every` is zero if there are to be none but the last.
    pub(crate) fn start(signer: Signer, handle: Handle, every: Duration) -> Checkpoints {
        let (stop, stopped) = watch::channel(false);
        let signer = Arc::new(signer);
        let task =
            (!every.is_zero()).then(|| tokio::spawn(run(signer.clone(), handle, every, stopped)));
        Checkpoints { signer, task, stop }
    }

    /// Before the loop ends.
    pub(crate) async fn stop(&mut self) {
        self.stop.send_replace(true);
        if let Some(task) = self.task.take()
            && let Err(error) = task.await
        {
            tracing::error!(%error, "checkpoints have ended badly");
        }
    }

    /// Once the loop has ended, here.
    pub(crate) async fn last(self, head: Head) {
        if head.seq > Seq(0)
            && let Ok(epoch) = self.signer.members.check_leads()
        {
            let checkpoint = self.signer.sign(head, epoch);
            keep(&self.signer, checkpoint).await;
        }
    }
}

async fn run(
    signer: Arc<Signer>,
    handle: Handle,
    every: Duration,
    mut stopped: watch::Receiver<bool>,
) {
    // Its own event is nothing new.
    let mut known = Seq(0);
    loop {
        tokio::select! {
            () = tokio::time::sleep(every) => {}
            // Sent or dropped: both mean that it is over.
            _ = stopped.wait_for(|stopped| *stopped) => return,
        }
        if signer.members.check_leads().is_err() {
            continue;
        }
        let seen = handle.ask(|view| (view.durable, view.epoch)).await;
        let Ok((head, epoch)) = seen else { continue };
        if head.seq <= known {
            continue;
        }
        let checkpoint = signer.sign(head, epoch);
        let command = Command::Checkpoint(Box::new(checkpoint.clone()));
        keep(&signer, checkpoint).await;
        match handle.command(vec![command]).await {
            // Unless something came between the two, which no checkpoint stands for yet.
            Ok(settled) => {
                let own = settled.last().map(|settled| settled.seq);
                known = own.filter(|own| *own == head.seq.next()).unwrap_or(head.seq);
            }
            Err(why) => tracing::warn!(%why, "a checkpoint is in its file, but in no event"),
        }
    }
}

async fn keep(signer: &Arc<Signer>, checkpoint: Checkpoint) {
    let signer = signer.clone();
    let written = tokio::task::spawn_blocking(move || signer.write(&checkpoint)).await;
    match written {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(%error, "a checkpoint is not kept"),
        Err(error) => tracing::error!(%error, "a checkpoint is not kept"),
    }
}
