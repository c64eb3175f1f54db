//! Files that are nobody else's business: how those who share one make it, and when they refuse it.

use std::fs::{DirBuilder, File, Metadata, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{
    DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

/// The longest file that a secret is read from.
const SECRET_BYTES_MAX: u64 = 64 << 10;
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;
/// Such as those that are handed to a service by whoever runs the machine.
const GROUP_READS: u32 = 0o040;

#[derive(Debug, thiserror::Error)]
pub enum PrivateError {
    #[error("failed to read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(
        "{} is a secret that others can read (mode {mode:o}); run `chmod 600 {}`",
        path.display(), path.display()
    )]
    Readable { path: PathBuf, mode: u32 },
    #[error(
        "{} says who may come in, and others can change it (mode {mode:o}); run `chmod go-w {}`",
        path.display(), path.display()
    )]
    Writable { path: PathBuf, mode: u32 },
}

/// Whether others could look into a folder that is meant for us alone.
#[derive(Debug)]
pub enum Folder {
    Private,
    /// Others could, and can't any more.
    Closed,
    /// Whoever owns it has decided that others may.
    Open(io::Error),
}

/// Makes the folder for nobody else, or takes it from the others if it is there.
pub fn make_folder(path: &Path) -> io::Result<Folder> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & OTHERS == 0 {
        return Ok(Folder::Private);
    }
    Ok(match std::fs::set_permissions(path, Permissions::from_mode(0o700)) {
        Ok(()) => Folder::Closed,
        Err(error) => Folder::Open(error),
    })
}

/// Writes a file that only we can read, whole or not at all.
pub fn write_secret(path: &Path, text: &str) -> io::Result<()> {
    let draft = path.with_extension("new");
    match std::fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        // Left by one that was killed, or not there.
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&draft, path)
}

/// What a secret file says. One that others can read is none.
pub fn read_secret(path: &Path) -> Result<String, PrivateError> {
    check_secret(path)?;
    let failed = |source| PrivateError::Read { path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(SECRET_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

pub fn check_secret(path: &Path) -> Result<(), PrivateError> {
    let (metadata, mode) = look(path)?;
    let allowed = if metadata.uid() == 0 { GROUP_READS } else { 0 };
    if mode & OTHERS & !allowed == 0 {
        return Ok(());
    }
    Err(PrivateError::Readable { path: path.to_owned(), mode })
}

/// For what may be read, but not written.
pub fn check_unchanged(path: &Path) -> Result<(), PrivateError> {
    let (_, mode) = look(path)?;
    if mode & OTHERS_WRITE == 0 {
        return Ok(());
    }
    Err(PrivateError::Writable { path: path.to_owned(), mode })
}

fn look(path: &Path) -> Result<(Metadata, u32), PrivateError> {
    let metadata = std::fs::metadata(path);
    let metadata =
        metadata.map_err(|source| PrivateError::Read { path: path.to_owned(), source })?;
    let mode = metadata.permissions().mode() & 0o777;
    Ok((metadata, mode))
}
