//! A data directory into parts, whether or not a scheduler works on it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;
use bellwether_journal::{Chain, Copied, Head, ReadError, Reader, SnapshotError, Snapshots};
use bellwether_wire::v1;
use bellwether_wire::v1::backup_part::Part;
use prost::Message as _;

use super::FORMAT;
use super::files::{self, FilesError};
use crate::config::JournalKind;

/// Bytes of a snapshot in one part.
const PIECE_BYTES: u64 = 1 << 20;

#[derive(Debug, thiserror::Error)]
pub enum PackError {
    #[error(transparent)]
    Journal(#[from] ReadError),
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    #[error("a file could not be copied: {0}")]
    Files(#[from] FilesError),
    #[error("no folder for copies could be made beside it: {0}")]
    Scratch(io::Error),
    #[error("the journal lost position {0} while it was copied; try again")]
    Lost(Seq),
    #[error("nobody takes the backup any more")]
    NotTaken,
}

/// What is backed up.
pub struct Source<'a> {
    pub dir: &'a Path,
    pub journal: JournalKind,
    /// Nothing that it can read is truncated meanwhile.
    pub reader: &'a dyn Reader,
    /// A folder that can be made and filled with copies of the databases, and is removed at the end.
    pub scratch: PathBuf,
    /// The scheduler's time, in microseconds.
    pub taken_at: u64,
}

impl std::fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source").field("dir", &self.dir).finish_non_exhaustive()
    }
}

/// Takes parts; an error means that nobody wants more.
pub type Sink<'a> = dyn FnMut(v1::BackupPart) -> Result<(), PackError> + 'a;

/// What a backup has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    pub base: Head,
    pub head: Head,
}

/// Gives all parts, the end last.
pub fn pack(source: &Source<'_>, sink: &mut Sink<'_>) -> Result<Kept, PackError> {
    let scratch = Scratch::make(&source.scratch)?;
    // Before the journal is read: what they know is then in the journal, too.
    let databases = files::copy_databases(source.dir, &scratch.0)?;
    let mut giver = Giver { sink, hash: blake3::Hasher::new() };
    let base = source.reader.base()?;
    giver.give(Part::Begin(v1::BackupBegin {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        journal: source.journal.to_string(),
        base: base.seq.0,
        base_chain: bytes(base.chain),
        taken_at: source.taken_at,
    }))?;
    let snapshot = giver.snapshot(source.reader.snapshots().as_ref(), base)?;
    let head = giver.records(source.reader, base)?;
    // A snapshot of what was read before it can't be ahead, unless the journal was cut.
    if let Some(ahead) = snapshot.filter(|snapshot| snapshot.seq > head.seq) {
        return Err(PackError::Lost(ahead.seq));
    }
    // Behind the journal: keys that its end let go of are in their files by then.
    for name in files::whole(source.dir)? {
        giver.file(&name, &source.dir.join(&name))?;
    }
    for name in databases {
        giver.file(&name, &scratch.0.join(files::flat(&name)))?;
    }
    giver.end(head)?;
    Ok(Kept { base, head })
}

struct Giver<'a, 'b> {
    sink: &'a mut Sink<'b>,
    hash: blake3::Hasher,
}

impl Giver<'_, '_> {
    fn give(&mut self, part: Part) -> Result<(), PackError> {
        let part = v1::BackupPart { part: Some(part) };
        self.hash.update(&part.encode_to_vec());
        (self.sink)(part)
    }

    fn snapshot(
        &mut self,
        snapshots: &dyn Snapshots,
        base: Head,
    ) -> Result<Option<Head>, PackError> {
        let Some((head, mut file)) = snapshots.open_oldest(base.seq)? else { return Ok(None) };
        loop {
            let mut piece = Vec::new();
            let mut next = io::Read::take(&mut file, PIECE_BYTES);
            io::Read::read_to_end(&mut next, &mut piece).map_err(SnapshotError::Io)?;
            if piece.is_empty() {
                return Ok(Some(head));
            }
            let chain = bytes(head.chain);
            let chunk = v1::SnapshotChunk { seq: head.seq.0, chain, bytes: piece.into() };
            self.give(Part::Snapshot(chunk))?;
        }
    }

    fn records(&mut self, reader: &dyn Reader, base: Head) -> Result<Head, PackError> {
        let mut head = base;
        for record in reader.read(base.seq.next())? {
            let record = record?;
            head = record.head();
            let first = record.first();
            let copied = Copied::of(reader, record)?.ok_or(PackError::Lost(first))?;
            let chain = bytes(head.chain);
            self.give(Part::Record(v1::BackupRecord { chain, bytes: copied.bytes }))?;
        }
        Ok(head)
    }

    fn file(&mut self, name: &str, path: &Path) -> Result<(), PackError> {
        files::read(path, |piece| {
            let name = name.to_owned();
            self.give(Part::File(v1::BackupFile { name, bytes: piece.into() }))
        })
        .map(drop)
    }

    fn end(self, head: Head) -> Result<(), PackError> {
        let hash = self.hash.finalize().as_bytes().to_vec().into();
        let end = v1::BackupEnd { position: head.seq.0, chain: bytes(head.chain), hash };
        (self.sink)(v1::BackupPart { part: Some(Part::End(end)) })
    }
}

fn bytes(chain: Chain) -> bytes::Bytes {
    bytes::Bytes::copy_from_slice(&chain.0)
}

/// Removed with all that is in it.
struct Scratch(PathBuf);

impl Scratch {
    fn make(path: &Path) -> Result<Scratch, PackError> {
        // Of a backup that a crash has ended.
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(PackError::Scratch(error));
            }
            _ => {}
        }
        fs::create_dir_all(path).map_err(PackError::Scratch)?;
        Ok(Scratch(path.to_owned()))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(%error, path = %self.0.display(), "copies of a backup are left over");
        }
    }
}
