//! How far events have been told to somebody: on disk, or where the next leader finds it.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use bellwether_core::model::{Name, Seq};
use bellwether_core::{Command, Rejection};

use crate::event_loop::{Handle, Unavailable};

/// Where positions are kept.
#[derive(Debug, Clone)]
pub(crate) enum Keeper {
    /// This scheduler's own.
    Folder(PathBuf),
    /// The journal of several: whoever leads next goes on from there.
    Journal(Handle),
}

/// How far somebody has been told.
#[derive(Debug)]
pub(crate) enum Position {
    File(PositionFile),
    Noted { name: Name, published: Seq, journal: Handle },
}

impl Keeper {
    /// `name` is a path below the folder. Whoever is new is told what happens from `now` on.
    pub(crate) async fn open(&self, name: &str, now: Seq) -> Result<Position, PositionError> {
        match self {
            Keeper::Folder(folder) => {
                PositionFile::open(&folder.join(name), now).map(Position::File)
            }
            Keeper::Journal(journal) => {
                let bad = |_| PositionError::Name { name: name.to_owned() };
                let name = Name::new(name).map_err(bad)?;
                let asked = name.clone();
                let noted = journal.ask(move |view| view.state.note(asked.as_str()).cloned());
                let noted = noted.await?.and_then(|value| value.as_str().parse().ok());
                let mut position = Position::Noted {
                    name,
                    published: noted.map_or(Seq(0), Seq),
                    journal: journal.clone(),
                };
                if noted.is_none() {
                    position.write(now).await?;
                }
                Ok(position)
            }
        }
    }
}

impl Position {
    pub(crate) fn published(&self) -> Seq {
        match self {
            Position::File(file) => file.published(),
            Position::Noted { published, .. } => *published,
        }
    }

    /// Whether keeping it is an event itself, so that it must not be kept for its own sake.
    pub(crate) fn is_event(&self) -> bool {
        matches!(self, Position::Noted { .. })
    }

    /// Durable when it returns.
    pub(crate) async fn write(&mut self, reached: Seq) -> Result<(), PositionError> {
        match self {
            Position::File(file) => {
                let mut writing = file.clone();
                let written =
                    tokio::task::spawn_blocking(move || writing.write(reached).map(|()| writing));
                *file = written.await.expect("writing a file does not panic")?;
            }
            Position::Noted { name, published, journal } => {
                let value = Name::fixed(&reached.0.to_string());
                let note = Command::Note { name: name.clone(), value };
                for settled in journal.command(vec![note]).await? {
                    let refused = |why| PositionError::Refused { name: name.to_string(), why };
                    settled.result.map_err(refused)?;
                }
                *published = reached;
            }
        }
        Ok(())
    }
}

/// A small file with one number, replaced whole.
#[derive(Debug, Clone)]
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
    #[error("{name:?} is too long a name to keep the position of published events under")]
    Name { name: String },
    #[error("the position of published events is not kept as {name}: {why}")]
    Refused { name: String, why: Rejection },
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
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
