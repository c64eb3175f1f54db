//! Opening the file, and saying what is wrong if that fails.

use std::os::unix::fs::MetadataExt;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode};

use super::{Place, table};
use crate::error::BrokerError;

/// A connection, and which file it is open on.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) connection: Connection,
    /// Tells this file's rows from those of another file at the same path.
    pub(super) identity: String,
    inode: u64,
}

impl Open {
    /// Whether the path still names the file that was opened.
    pub(super) fn is_current(&self, place: &Place) -> bool {
        std::fs::metadata(&place.path).is_ok_and(|file| file.ino() == self.inode)
    }
}

/// Opens the file in WAL mode with all our tables in it.
pub(super) fn open(place: &Place) -> Result<Open, BrokerError> {
    let explain = |error: rusqlite::Error| place.failure(&error);
    let mut connection = Connection::open(&place.path).map_err(explain)?;
    connection.busy_timeout(place.timeout).map_err(explain)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(explain)?;
    if mode != "wal" {
        return Err(BrokerError::refused(
            place.server(),
            format!("its journal mode stays {mode}"),
            "put it on a local disk, where write-ahead logging works",
        ));
    }
    connection.pragma_update(None, "synchronous", "FULL").map_err(explain)?;
    // Else a query with a limit is planned anew whenever that is bound.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(explain)?;
    let identity = table::make_all(&mut connection, &place.prefix).map_err(explain)?;
    let inode = std::fs::metadata(&place.path)
        .map_err(|error| BrokerError::lost(place.server(), error))?
        .ino();
    Ok(Open { connection, identity, inode })
}

/// Runs what waits for the disk where that does no harm.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BrokerError> + Send + 'static,
) -> Result<T, BrokerError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(BrokerError::lost("sqlite", error)),
    }
}

impl Place {
    pub(super) fn server(&self) -> String {
        format!("sqlite at {}", self.path.display())
    }

    /// What an error of SQLite means for the caller.
    pub(super) fn failure(&self, error: &rusqlite::Error) -> BrokerError {
        let way_out = match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) => {
                "make the folder, and let this user read and write in it"
            }
            Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
                "let this user write the file and its folder"
            }
            Some(ErrorCode::NotADatabase) => "give the path of a SQLite file, or of none",
            // An SQL error: a table of ours that was made by somebody else, in another shape.
            Some(ErrorCode::Unknown) => {
                "a table with this prefix has another shape; rename it or choose another \
                 stream_prefix"
            }
            _ => return BrokerError::lost(self.server(), error),
        };
        BrokerError::refused(self.server(), error, way_out)
    }
}
