//! How far events have been told to somebody, on disk.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;

/// A small file with one number, replaced whole.
#[derive(Debug)]
pub(crate) struct PositionFile {
    path: PathBuf,
    published: Seq,
}

#[derive(Debug, thiserror::Error)]
pub enum PositionError {
    #[error("failed to keep the position of published events in {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{} does not hold a position; write the last published one into it, or remove it to go on \
         from now",
        path.display()
    )]
    Damaged { path: PathBuf },
}

impl PositionFile {
    /// Whoever is new is told what happens from `now` on.
    pub(crate) fn open(path: &Path, now: Seq) -> Result<PositionFile, PositionError> {
        let path = path.with_extension("published");
        let failed = |source| PositionError::Io { path: path.clone(), source };
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                let read = text.trim().parse().map(Seq);
                let published = read.map_err(|_| PositionError::Damaged { path: path.clone() })?;
                // An older journal was put back: what came after it has not happened.
                Ok(PositionFile { published: published.min(now), path })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let folder = path.parent().unwrap_or(Path::new("."));
                std::fs::create_dir_all(folder).map_err(failed)?;
                let mut position = PositionFile { path: path.clone(), published: Seq(0) };
                position.write(now)?;
                Ok(position)
            }
            Err(error) => Err(failed(error)),
        }
    }

    pub(crate) fn published(&self) -> Seq {
        self.published
    }

    /// Durable when it returns.
    pub(crate) fn write(&mut self, published: Seq) -> Result<(), PositionError> {
        let replace = || {
            let draft = self.path.with_extension("new");
            let mut file = File::create(&draft)?;
            writeln!(file, "{published}")?;
            file.sync_data()?;
            std::fs::rename(&draft, &self.path)
        };
        replace().map_err(|source| PositionError::Io { path: self.path.clone(), source })?;
        self.published = published;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_goes_on_where_it_was() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("queues/orders");
        let mut position = PositionFile::open(&path, Seq(7)).unwrap();
        assert_eq!(position.published(), Seq(7));
        position.write(Seq(9)).unwrap();
        assert_eq!(PositionFile::open(&path, Seq(50)).unwrap().published(), Seq(9));
        assert_eq!(PositionFile::open(&path, Seq(8)).unwrap().published(), Seq(8));
    }

    #[test]
    fn damage_is_told_with_the_way_out() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("orders.published"), "").unwrap();
        let error = PositionFile::open(&dir.path().join("orders"), Seq(7)).unwrap_err();
        assert!(error.to_string().contains("remove it to go on from now"), "{error}");
    }
}
