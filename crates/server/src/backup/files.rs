//! What lies beside the journal, and how each file of it is copied.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use rusqlite::Connection;

use crate::projections::{logs, registry};

/// Bytes of one part.
const PIECE_BYTES: u64 = 1 << 20;
/// How deep the data directory goes.
const DEPTH_MAX: usize = 3;

#[derive(Debug, thiserror::Error)]
pub enum FilesError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Store { path: PathBuf, source: rusqlite::Error },
    #[error("{} is damaged: {flaw}", path.display())]
    Damaged { path: PathBuf, flaw: String },
}

/// How a file of a data directory gets into a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// As it is: it is replaced whole, or never changes.
    Whole,
    /// By SQLite, which changes it in place.
    Database,
    /// It is the journal, or nothing that outlives the process.
    LeftOut,
}

fn way(name: &str) -> Way {
    let is_database = name == registry::FILE || name == logs::PATH;
    let beside_database = name.ends_with("-wal") || name.ends_with("-shm");
    let of_journal = name.starts_with("journal") || name.starts_with("snapshot");
    let passing = [".unfinished", ".new", ".probe", ".damaged"];
    if is_database {
        Way::Database
    } else if of_journal
        || beside_database
        || ["head", "epoch", "lock"].contains(&name)
        || passing.iter().any(|end| name.ends_with(end))
    {
        Way::LeftOut
    } else {
        Way::Whole
    }
}

/// Copies the databases that are there, as they are now, into an empty folder.
pub(super) fn copy_databases(dir: &Path, scratch: &Path) -> Result<Vec<String>, FilesError> {
    let names = list(dir)?;
    let databases = names.into_iter().filter(|name| way(name) == Way::Database);
    databases
        .map(|name| {
            let (from, into) = (dir.join(&name), scratch.join(flat(&name)));
            let copy = || {
                let connection = Connection::open(&from)?;
                connection.busy_timeout(registry::BUSY_TIMEOUT)?;
                // Reads all of it in one transaction, which holds up nobody who writes.
                connection.execute("VACUUM INTO ?1", [into.to_string_lossy()])
            };
            copy().map_err(|source| FilesError::Store { path: from.clone(), source })?;
            Ok(name)
        })
        .collect()
}

/// Whether the databases of a directory are what SQLite writes.
pub(super) fn check_databases(dir: &Path) -> Result<(), FilesError> {
    for name in list(dir)?.into_iter().filter(|name| way(name) == Way::Database) {
        let path = dir.join(&name);
        let check = || {
            let connection = Connection::open(&path)?;
            connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
        };
        match check() {
            Ok(flaw) if flaw != "ok" => return Err(FilesError::Damaged { path, flaw }),
            Ok(_) => {}
            Err(source) => return Err(FilesError::Store { path, source }),
        }
    }
    Ok(())
}

/// Where the copy of a database lies in its folder.
pub(super) fn flat(name: &str) -> String {
    name.replace('/', "-")
}

/// The files that are copied as they are.
pub(super) fn whole(dir: &Path) -> Result<Vec<String>, FilesError> {
    Ok(list(dir)?.into_iter().filter(|name| way(name) == Way::Whole).collect())
}

/// Gives the file piece by piece; an empty one is one piece. False if it is gone.
pub(super) fn read<E: From<FilesError>>(
    path: &Path,
    mut give: impl FnMut(Vec<u8>) -> Result<(), E>,
) -> Result<bool, E> {
    let failed = |source| FilesError::Io { path: path.to_owned(), source };
    let mut file = match File::open(path) {
        Ok(file) => file,
        // It was replaced or has had its time just now.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(failed(error).into()),
    };
    let mut is_first = true;
    loop {
        let mut piece = Vec::new();
        file.by_ref().take(PIECE_BYTES).read_to_end(&mut piece).map_err(failed)?;
        if piece.is_empty() && !is_first {
            return Ok(true);
        }
        is_first = false;
        give(piece)?;
    }
}

/// A name that stays below the directory that it is put into.
pub(super) fn is_below(name: &str) -> bool {
    let parts: Vec<Component<'_>> = Path::new(name).components().collect();
    !parts.is_empty()
        && parts.len() <= DEPTH_MAX
        && parts.iter().all(|part| matches!(part, Component::Normal(_)))
}

/// Names of the files below a directory, in order, with `/` between folders.
fn list(dir: &Path) -> Result<Vec<String>, FilesError> {
    let mut names = Vec::new();
    let mut folders = vec![(dir.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        let failed = |source| FilesError::Io { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Some(name) = entry.file_name().to_str().map(|name| format!("{prefix}{name}"))
            else {
                continue;
            };
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() && is_below(&format!("{name}/x")) && way(&name) != Way::LeftOut {
                folders.push((entry.path(), format!("{name}/")));
            } else if kind.is_file() {
                names.push(name);
            }
        }
    }
    names.sort_unstable();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_elsewhere_are_known() {
        for name in ["", "/etc/passwd", "../x", "a/../../x", "a/b/c/d"] {
            assert!(!is_below(name), "{name}");
        }
        assert!(is_below("identity") && is_below("logs/output.sqlite"));
    }

    #[test]
    fn the_journal_and_what_passes_is_left_out() {
        for name in ["journal.sqlite", "journal-00000000000000000000.log", "snapshot-1.bin", "head"]
        {
            assert_eq!(way(name), Way::LeftOut, "{name}");
        }
        assert_eq!(way("registry.sqlite-wal"), Way::LeftOut);
        assert_eq!(way("registry.sqlite"), Way::Database);
        assert_eq!(way("logs/output.sqlite"), Way::Database);
        for name in ["identity", "token", "tokens", "keys-00000000000000000005.run"] {
            assert_eq!(way(name), Way::Whole, "{name}");
        }
    }
}
