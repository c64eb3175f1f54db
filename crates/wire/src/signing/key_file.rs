//! A key in a file of its own, which is nobody else's business: made when it is first needed.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use super::Secret;

const OTHERS: u32 = 0o077;
/// A key is 64 digits; more is something else.
const FILE_BYTES_MAX: u64 = 1 << 10;

#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("failed to read or make the key {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "the key {} can be read by others (mode {mode:o}); run `chmod 600 {}`",
        path.display(), path.display()
    )]
    Readable { path: PathBuf, mode: u32 },
    #[error(
        "the key {} is damaged: it must be 64 hexadecimal digits; restore it from a backup, or remove \
         it to make another",
        path.display()
    )]
    Damaged { path: PathBuf },
}

/// Reads the key, or makes one if there is none. Of several that make it at once, one wins.
pub fn load_or_make(path: &Path) -> Result<Secret, KeyFileError> {
    match load(path) {
        Err(KeyFileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
        read => return read,
    }
    let failed = |source| KeyFileError::Io { path: path.to_owned(), source };
    match write(path, &generate(), |draft| std::fs::hard_link(draft, path)) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    load(path)
}

/// Puts another key into its place.
pub fn replace(path: &Path, secret: &Secret) -> Result<(), KeyFileError> {
    let replaced = write(path, secret, |draft| std::fs::rename(draft, path));
    replaced.map_err(|source| KeyFileError::Io { path: path.to_owned(), source })
}

pub fn generate() -> Secret {
    Secret::from_seed(&random())
}

pub fn load(path: &Path) -> Result<Secret, KeyFileError> {
    let failed = |source| KeyFileError::Io { path: path.to_owned(), source };
    let file = std::fs::File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        return Err(KeyFileError::Readable { path: path.to_owned(), mode });
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut bytes).map_err(failed)?;
    let seed = seed_from_hex(String::from_utf8_lossy(&bytes).trim());
    let seed = seed.ok_or_else(|| KeyFileError::Damaged { path: path.to_owned() })?;
    Ok(Secret::from_seed(&seed))
}

/// A draft of its own beside the file, which `settle` puts in its place.
fn write(path: &Path, secret: &Secret, settle: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder)?;
    }
    let draft = path.with_extension(hex(&random::<8>()));
    let mut file = std::fs::OpenOptions::new();
    let mut file = file.write(true).create_new(true).mode(0o600).open(&draft)?;
    let written = file
        .write_all(format!("{}\n", hex(&secret.seed())).as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| settle(&draft));
    match std::fs::remove_file(&draft) {
        // It was renamed.
        Err(error) if error.kind() == io::ErrorKind::NotFound => written,
        removed => written.and(removed),
    }
}

fn random<const BYTES: usize>() -> [u8; BYTES] {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).expect("the system has random bytes for whoever asks");
    bytes
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn seed_from_hex(text: &str) -> Option<[u8; 32]> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|digit| digit.to_digit(16).and_then(|it| u8::try_from(it).ok())).collect();
    let bytes: Vec<u8> = digits?.chunks_exact(2).map(|two| two[0] << 4 | two[1]).collect();
    (text.len() == 64).then_some(bytes)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_is_nobody_else_s() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/worker.key");
        let made = load_or_make(&path).unwrap();
        assert_eq!(load_or_make(&path).unwrap().public(), made.public());
        let mode = std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        let other = generate();
        replace(&path, &other).unwrap();
        assert_eq!(load(&path).unwrap().public(), other.public());
    }

    #[test]
    fn a_loose_or_damaged_key_is_refused_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("worker.key");
        std::fs::write(&path, "not a key").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(load_or_make(&path).unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(load_or_make(&path).unwrap_err().to_string().contains("64 hexadecimal digits"));
    }
}
