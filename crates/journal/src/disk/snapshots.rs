//! Snapshots as files beside the journal, so that writing one never holds up an append.

use std::fs::{self, File};
use std::io::{self, Read, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;
use bytes::Bytes;

use crate::chain::{Chain, Head};
use crate::disk::{is_full, sync_directory};
use crate::snapshot::{OpenSnapshot, Snapshot, SnapshotError, SnapshotWriter, Snapshots};

const MAGIC: &[u8; 8] = b"BWSNAP01";
/// Magic, position, chain, and the hash of all but itself.
const HEADER_BYTES: usize = 8 + 8 + 32 + 32;
const UNFINISHED: &str = "snapshot.unfinished";
/// As much is written before the disk is asked to keep it: a sync of all of a large snapshot at once
/// would hold up those of the journal.
const SYNCED_BYTES: usize = 4 << 20;
/// A snapshot may be removed while it is opened, and again; snapshots are seconds apart.
const OPEN_ATTEMPTS_MAX: usize = 10;
/// As much is read at once of a file that is checked.
const CHECKED_BYTES: usize = 1 << 20;

/// Of one directory.
#[derive(Debug, Clone)]
pub struct SnapshotFiles {
    dir: PathBuf,
}

impl SnapshotFiles {
    pub fn new(dir: &Path) -> SnapshotFiles {
        SnapshotFiles { dir: dir.to_owned() }
    }

    /// Positions of the snapshots that are there, in order.
    pub(crate) fn positions(&self) -> io::Result<Vec<Seq>> {
        let mut positions = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let name = entry?.file_name();
            let position = name.to_str().and_then(|name| {
                name.strip_prefix("snapshot-")?.strip_suffix(".bin")?.parse().ok()
            });
            positions.extend(position.map(Seq));
        }
        positions.sort_unstable();
        Ok(positions)
    }

    /// What the latest snapshot says that it is of, without reading all of it.
    pub(crate) fn latest_head(&self) -> io::Result<Option<Head>> {
        let Some(seq) = self.positions()?.pop() else { return Ok(None) };
        let mut header = [0; HEADER_BYTES];
        let chain = match File::open(self.path(seq))?.read_exact(&mut header) {
            Ok(()) => header[16..48].try_into().expect("the chain has 32 bytes"),
            // Whoever loads it will say so.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(Some(Head { seq, chain: Chain(chain) }))
    }

    /// The latest as it lies there, header included, to be sent elsewhere. It stays readable when it
    /// is replaced.
    pub fn latest(&self) -> io::Result<Option<(Head, File)>> {
        // It may be replaced between the look and the opening.
        for _ in 0..3 {
            let Some(head) = self.latest_head()? else { return Ok(None) };
            match File::open(self.path(head.seq)) {
                Ok(file) => return Ok(Some((head, file))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Whether a file that came from elsewhere is a snapshot of this state.
    pub fn check(received: &Path, head: Head) -> Result<(), SnapshotError> {
        let mut file = File::open(received)?;
        let mut found = [0; HEADER_BYTES];
        let mut hasher = hasher(head);
        let mut buffer = vec![0; CHECKED_BYTES];
        let complete = file.read_exact(&mut found);
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                read => hasher.update(&buffer[..read]),
            };
        }
        match complete {
            Ok(()) if found == header(head, &hasher) => Ok(()),
            Ok(()) | Err(_) => Err(SnapshotError::Damaged { at: head.seq }),
        }
    }

    /// Makes a file that came from elsewhere the latest; durable when it returns.
    pub fn adopt(&self, received: &Path, head: Head) -> Result<(), SnapshotError> {
        SnapshotFiles::check(received, head)?;
        File::open(received)?.sync_all()?;
        fs::rename(received, self.path(head.seq))?;
        sync_directory(&self.dir)?;
        Ok(self.remove_before(head.seq)?)
    }

    fn path(&self, seq: Seq) -> PathBuf {
        self.dir.join(format!("snapshot-{:020}.bin", seq.0))
    }

    /// Those before this one are no longer needed.
    fn remove_before(&self, seq: Seq) -> io::Result<()> {
        for older in self.positions()? {
            if older < seq {
                fs::remove_file(self.path(older))?;
            }
        }
        Ok(())
    }

    /// Whatever the journal still has records of can be gone back to from the oldest; the journal will
    /// next be truncated where the one before the latest was taken. Those between lead nowhere else.
    fn remove_between(&self) -> io::Result<()> {
        let positions = self.positions()?;
        let kept = positions.len().saturating_sub(2);
        for between in positions.get(1..kept).unwrap_or_default() {
            fs::remove_file(self.path(*between))?;
        }
        Ok(())
    }

    /// The journal begins after `base` now: what is of a state before it leads nowhere.
    pub(crate) fn journal_begins(&self, base: Seq) -> io::Result<()> {
        match self.positions()?.pop() {
            Some(latest) => self.remove_before(base.min(latest)),
            None => Ok(()),
        }
    }
}

impl Snapshots for SnapshotFiles {
    fn begin(&self, head: Head) -> Result<Box<dyn SnapshotWriter>, SnapshotError> {
        Ok(Box::new(Unfinished::create(self.clone(), head).map_err(told)?))
    }

    fn load(&self) -> Result<Option<Snapshot>, SnapshotError> {
        let Some(seq) = self.positions()?.pop() else { return Ok(None) };
        let mut bytes = Vec::new();
        File::open(self.path(seq))?.read_to_end(&mut bytes)?;
        let damaged = SnapshotError::Damaged { at: seq };
        if bytes.len() < HEADER_BYTES {
            return Err(damaged);
        }
        let chain = bytes[16..48].try_into().expect("the chain has 32 bytes");
        let found = Head { seq, chain: Chain(chain) };
        let bytes = Bytes::from(bytes);
        let snapshot = Snapshot { head: found, bytes: bytes.slice(HEADER_BYTES..) };
        let mut hasher = hasher(found);
        hasher.update(&snapshot.bytes);
        // The name gives the position, the header is made again from it: all of it is checked.
        if bytes[..HEADER_BYTES] != header(found, &hasher) {
            return Err(damaged);
        }
        Ok(Some(snapshot))
    }

    fn head(&self) -> Result<Option<Head>, SnapshotError> {
        Ok(self.latest_head()?)
    }

    fn open(&self) -> Result<Option<Box<dyn Read + Send>>, SnapshotError> {
        let Some(seq) = self.positions()?.pop() else { return Ok(None) };
        let mut file = File::open(self.path(seq))?;
        file.seek(SeekFrom::Start(HEADER_BYTES as u64))?;
        Ok(Some(Box::new(file)))
    }

    fn open_oldest(&self, base: Seq) -> Result<Option<OpenSnapshot>, SnapshotError> {
        // The journal may be truncated between the look and the opening.
        for _ in 0..OPEN_ATTEMPTS_MAX {
            let Some(seq) = self.positions()?.into_iter().find(|seq| *seq >= base) else { break };
            let mut file = match File::open(self.path(seq)) {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error.into()),
            };
            let mut header = [0; HEADER_BYTES];
            file.read_exact(&mut header).map_err(|_| SnapshotError::Damaged { at: seq })?;
            let chain = header[16..48].try_into().expect("the chain has 32 bytes");
            return Ok(Some((Head { seq, chain: Chain(chain) }, Box::new(file))));
        }
        Ok(None)
    }
}

/// A snapshot that is being written. Its header is written last, over the zeros at its beginning.
struct Unfinished {
    files: SnapshotFiles,
    file: File,
    head: Head,
    hasher: blake3::Hasher,
    /// Bytes that the disk may not have yet.
    unsynced: usize,
}

impl Unfinished {
    fn create(files: SnapshotFiles, head: Head) -> io::Result<Unfinished> {
        let mut file = File::create(files.dir.join(UNFINISHED))?;
        file.write_all(&[0; HEADER_BYTES])?;
        Ok(Unfinished { files, file, head, hasher: hasher(head), unsynced: 0 })
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.hasher.update(bytes);
        self.file.write_all(bytes)?;
        self.unsynced += bytes.len();
        if self.unsynced >= SYNCED_BYTES {
            self.unsynced = 0;
            self.file.sync_data()?;
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header(self.head, &self.hasher))?;
        self.file.sync_all()?;
        fs::rename(self.files.dir.join(UNFINISHED), self.files.path(self.head.seq))?;
        sync_directory(&self.files.dir)?;
        self.files.remove_between()
    }
}

impl SnapshotWriter for Unfinished {
    fn write(&mut self, bytes: &[u8]) -> Result<(), SnapshotError> {
        self.append(bytes).map_err(told)
    }

    fn finish(self: Box<Self>) -> Result<(), SnapshotError> {
        self.end().map_err(told)
    }
}

fn told(error: io::Error) -> SnapshotError {
    if is_full(&error) { SnapshotError::Full } else { SnapshotError::Io(error) }
}

/// Over what comes before the hash in the header; the snapshot's bytes follow.
fn hasher(head: Head) -> blake3::Hasher {
    let mut hasher = blake3::Hasher::new();
    hasher.update(MAGIC).update(&head.seq.0.to_le_bytes()).update(&head.chain.0);
    hasher
}

fn header(head: Head, hasher: &blake3::Hasher) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&head.seq.0.to_le_bytes());
    header[16..48].copy_from_slice(&head.chain.0);
    header[48..].copy_from_slice(hasher.finalize().as_bytes());
    header
}
