//! Snapshots as files beside the journal, so that writing one never holds up an append.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;
use bytes::Bytes;

use crate::chain::{Chain, Head};
use crate::disk::{is_full, sync_directory};
use crate::snapshot::{Snapshot, SnapshotError, Snapshots};

const MAGIC: &[u8; 8] = b"BWSNAP01";
/// Magic, position, chain, and the hash of all but itself.
const HEADER_BYTES: usize = 8 + 8 + 32 + 32;

#[derive(Debug, Clone)]
pub(crate) struct SnapshotFiles {
    dir: PathBuf,
}

impl SnapshotFiles {
    pub(crate) fn new(dir: &Path) -> SnapshotFiles {
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

    fn path(&self, seq: Seq) -> PathBuf {
        self.dir.join(format!("snapshot-{:020}.bin", seq.0))
    }

    fn write(&self, snapshot: &Snapshot) -> io::Result<()> {
        let unfinished = self.dir.join("snapshot.unfinished");
        let mut file = File::create(&unfinished)?;
        file.write_all(&header(snapshot))?;
        file.write_all(&snapshot.bytes)?;
        file.sync_all()?;
        fs::rename(&unfinished, self.path(snapshot.head.seq))?;
        sync_directory(&self.dir)
    }
}

impl Snapshots for SnapshotFiles {
    fn save(&self, snapshot: &Snapshot) -> Result<(), SnapshotError> {
        self.write(snapshot).map_err(|error| {
            if is_full(&error) { SnapshotError::Full } else { SnapshotError::Io(error) }
        })?;
        for older in self.positions()? {
            if older < snapshot.head.seq {
                fs::remove_file(self.path(older))?;
            }
        }
        Ok(())
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
        // The name gives the position, the header is made again from it: all of it is checked.
        if bytes[..HEADER_BYTES] != header(&snapshot) {
            return Err(damaged);
        }
        Ok(Some(snapshot))
    }
}

fn header(snapshot: &Snapshot) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&snapshot.head.seq.0.to_le_bytes());
    header[16..48].copy_from_slice(&snapshot.head.chain.0);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&header[..48]);
    hasher.update(&snapshot.bytes);
    header[48..].copy_from_slice(hasher.finalize().as_bytes());
    header
}
