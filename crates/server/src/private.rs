//! Files that are nobody else's business.

use std::fs::{DirBuilder, Metadata, Permissions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
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

/// Makes the folder for nobody else, or takes it from the others if it is there.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let mode = std::fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & OTHERS == 0 {
        return Ok(());
    }
    let dir = path.display();
    match std::fs::set_permissions(path, Permissions::from_mode(0o700)) {
        Ok(()) => tracing::info!(%dir, "others could look into this folder, and can't any more"),
        // Whoever owns it has decided so.
        Err(error) => tracing::warn!(%dir, %error, "others may look into this folder"),
    }
    Ok(())
}

/// What a secret file says. One that others can read is none.
pub(crate) fn read_secret(path: &Path) -> Result<String, PrivateError> {
    check_secret(path)?;
    let failed = |source| PrivateError::Read { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut text = String::new();
    file.take(SECRET_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
    Ok(text)
}

pub(crate) fn check_secret(path: &Path) -> Result<(), PrivateError> {
    let (metadata, mode) = look(path)?;
    let allowed = if metadata.uid() == 0 { GROUP_READS } else { 0 };
    if mode & OTHERS & !allowed == 0 {
        return Ok(());
    }
    Err(PrivateError::Readable { path: path.to_owned(), mode })
}

/// For what may be read, but not written.
pub(crate) fn check_unchanged(path: &Path) -> Result<(), PrivateError> {
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
