//! A backup on its way to a client.

use std::time::Duration;

use bellwether_wire::v1;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tonic::Status;

use crate::backup::PackError;
use crate::edges::desk::Turn;

/// Parts that wait for a client to take them.
pub(super) const PARTS_MAX: usize = 4;
/// How long it may take to take the next one: the journal is kept for it meanwhile.
const TAKEN_WITHIN: Duration = Duration::from_secs(60);

/// Blocks until the client has taken it all.
pub(super) fn send(turn: Turn, parts: &mpsc::Sender<Result<v1::BackupPart, Status>>) {
    let runtime = Handle::current();
    let given = turn.give(&mut |part| match runtime
        .block_on(tokio::time::timeout(TAKEN_WITHIN, parts.send(Ok(part))))
    {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) | Err(_) => Err(PackError::NotTaken),
    });
    match given {
        Ok(kept) => tracing::info!(position = %kept.head.seq, "a backup was taken"),
        Err(error) => {
            tracing::warn!(%error, "a backup was not taken");
            // Whoever has gone away does not hear it.
            drop(parts.blocking_send(Err(Status::failed_precondition(error.to_string()))));
        }
    }
}
