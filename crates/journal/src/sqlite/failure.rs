//! What SQLite's errors mean for a journal.

use std::io;

use bellwether_core::model::Seq;
use rusqlite::{Error, ErrorCode, ffi};

use crate::journal::{AppendError, Damage, Flaw, OpenError, ReadError};

pub(super) fn append_error(error: &Error) -> AppendError {
    match error.sqlite_error() {
        Some(failure) if failure.code == ErrorCode::DiskFull => AppendError::Full,
        Some(failure) if is_sync(failure.extended_code) => AppendError::Sync(as_io(error)),
        _ => AppendError::Write(as_io(error)),
    }
}

/// `at` is where the reading had come to.
pub(super) fn read_error(at: Seq, error: Error) -> ReadError {
    match damage(at, &error) {
        Some(damage) => ReadError::Damaged(damage),
        None => ReadError::Io(as_io(&error)),
    }
}

pub(super) fn open_error(at: Seq, error: Error) -> OpenError {
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        return OpenError::Full;
    }
    match damage(at, &error) {
        Some(damage) => OpenError::Damaged(damage),
        None => OpenError::Io(as_io(&error)),
    }
}

/// Errors that say that the content is not what was written.
fn damage(at: Seq, error: &Error) -> Option<Damage> {
    let from_content = match error.sqlite_error_code() {
        Some(code) => matches!(
            code,
            ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::TypeMismatch
                | ErrorCode::ConstraintViolation
                | ErrorCode::Unknown
        ),
        // A row that is missing or has another type.
        None => true,
    };
    from_content.then(|| Damage { at, flaw: Flaw::Storage { why: error.to_string() } })
}

fn is_sync(extended_code: i32) -> bool {
    matches!(extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
}

fn as_io(error: &Error) -> io::Error {
    io::Error::other(error.to_string())
}
