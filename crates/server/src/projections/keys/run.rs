//! A file of idempotency keys that have left the core's memory, or soon may. It is written once, sorted
//! by hash, and dropped as a whole when the last of its keys has had its time.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bellwether_core::model::{JobNo, KeyFound, Name, Timestamp};
use bellwether_wire::job::AUTOMATIC_KEY;

use super::KeysError;
use super::filter::Filter;

const MAGIC: &[u8; 8] = b"BWKEYS01";
/// Magic, keys, the jobs before and at its end, the time of the last key, bytes of the filter, and the
/// hash of these and of what lies between them and the blocks.
const HEADER_BYTES: usize = 8 + 5 * 8 + 32;
/// Nine bytes of the key's hash, five of the job's number, two of its content's print.
const ENTRY_BYTES: usize = 16;
const BLOCK_ENTRIES: usize = 255;
/// Entries, and a hash of them.
const BLOCK_BYTES: usize = (BLOCK_ENTRIES + 1) * ENTRY_BYTES;
const UNFINISHED: &str = "keys.unfinished";

/// What is kept of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry([u8; ENTRY_BYTES]);

/// What a key is looked for by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    start: [u8; 9],
    filter: u64,
}

impl Wanted {
    pub(super) fn new(key: &Name) -> Wanted {
        let hash = blake3::hash(key.as_str().as_bytes());
        let (start, rest) = hash.as_bytes().split_at(9);
        let filter = rest[..8].try_into().expect("a hash has 32 bytes");
        let start = start.try_into().expect("nine bytes were split off");
        Wanted { start, filter: u64::from_le_bytes(filter) }
    }

    fn fence(&self) -> u64 {
        u64::from_be_bytes(self.start[..8].try_into().expect("it has nine bytes"))
    }
}

/// A key on its way into a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Taken {
    pub(super) entry: Entry,
    pub(super) filter: u64,
    pub(super) job: JobNo,
    pub(super) at: Timestamp,
    pub(super) is_automatic: bool,
}

/// Whether nobody but the library knows it.
pub(super) fn is_automatic(key: &Name) -> bool {
    key.as_str().starts_with(AUTOMATIC_KEY)
}

impl Taken {
    pub(super) fn new(key: &Name, print: u16, job: JobNo, at: Timestamp) -> Taken {
        let wanted = Wanted::new(key);
        let mut entry = [0; ENTRY_BYTES];
        entry[..9].copy_from_slice(&wanted.start);
        entry[9..14].copy_from_slice(&job.0.to_be_bytes()[3..]);
        entry[14..].copy_from_slice(&print.to_be_bytes());
        let (filter, is_automatic) = (wanted.filter, is_automatic(key));
        Taken { entry: Entry(entry), filter, job, at, is_automatic }
    }
}

impl Entry {
    fn found(self) -> KeyFound {
        let mut job = [0; 8];
        job[3..].copy_from_slice(&self.0[9..14]);
        let print = u16::from_be_bytes([self.0[14], self.0[15]]);
        KeyFound { job: JobNo(u64::from_be_bytes(job)), print }
    }
}

#[derive(Debug)]
pub(super) struct Run {
    path: PathBuf,
    file: File,
    /// All keys of jobs behind `after` up to `last` are in it.
    pub(super) after: JobNo,
    pub(super) last: JobNo,
    pub(super) keys: u64,
    pub(super) newest: Timestamp,
    filter: Filter,
    /// The first key of each block.
    fences: Vec<u64>,
    blocks_at: u64,
}

impl Run {
    /// Durable when it returns. `taken` is in the order of the jobs, and not empty.
    pub(super) fn write(dir: &Path, after: JobNo, taken: &[Taken]) -> io::Result<()> {
        let newest = taken.last().expect("a run has keys");
        let mut filter = Filter::for_keys(taken.len());
        taken.iter().for_each(|key| filter.add(key.filter));
        let mut entries: Vec<Entry> = taken.iter().map(|key| key.entry).collect();
        entries.sort_unstable();
        let (fences, blocks) = blocks(&entries);

        let filter = filter.bytes();
        let mut head = MAGIC.to_vec();
        for number in
            [entries.len() as u64, after.0, newest.job.0, newest.at.0, filter.len() as u64]
        {
            head.extend(number.to_le_bytes());
        }
        let hash = head_hash(&head, &filter, &fences);
        head.extend(hash);
        head.extend(filter);
        head.extend(fences);
        let unfinished = dir.join(UNFINISHED);
        let mut file = File::create(&unfinished)?;
        file.write_all(&head)?;
        file.write_all(&blocks)?;
        file.sync_all()?;
        fs::rename(&unfinished, dir.join(file_name(newest.job)))?;
        File::open(dir)?.sync_all()
    }

    pub(super) fn open(path: PathBuf) -> Result<Run, KeysError> {
        let damaged = || KeysError::Damaged { path: path.clone() };
        let file = File::open(&path)?;
        let mut head = [0; HEADER_BYTES];
        file.read_exact_at(&mut head, 0).map_err(|_| damaged())?;
        let number = |index: usize| {
            let at = 8 + index * 8;
            u64::from_le_bytes(head[at..at + 8].try_into().expect("a number has eight bytes"))
        };
        let (keys, filter_bytes) = (number(0), number(4));
        let fences_bytes = keys.div_ceil(BLOCK_ENTRIES as u64).saturating_mul(8);
        let known = filter_bytes.saturating_add(fences_bytes);
        if head[..8] != *MAGIC || known > file.metadata()?.len() {
            return Err(damaged());
        }
        let mut rest = vec![0; usize::try_from(known).map_err(|_| damaged())?];
        file.read_exact_at(&mut rest, HEADER_BYTES as u64).map_err(|_| damaged())?;
        let (filter, fences) = rest.split_at(filter_bytes as usize);
        if head[HEADER_BYTES - 32..] != head_hash(&head[..HEADER_BYTES - 32], filter, fences) {
            return Err(damaged());
        }
        let (words, _) = fences.as_chunks::<8>();
        Ok(Run {
            after: JobNo(number(1)),
            last: JobNo(number(2)),
            keys,
            newest: Timestamp(number(3)),
            filter: Filter::read(filter).ok_or_else(damaged)?,
            fences: words.iter().map(|fence| u64::from_le_bytes(*fence)).collect(),
            blocks_at: HEADER_BYTES as u64 + known,
            file,
            path,
        })
    }

    pub(super) fn find(&self, wanted: &Wanted) -> Result<Option<KeyFound>, KeysError> {
        if !self.filter.may_have(wanted.filter) {
            return Ok(None);
        }
        // Equal starts may begin before the block whose first key has this one.
        let last = self.fences.partition_point(|fence| *fence <= wanted.fence());
        let first = self.fences.partition_point(|fence| *fence < wanted.fence()).saturating_sub(1);
        for block in first..last {
            let entries = self.block(block)?;
            let (entries, _) = entries.as_chunks::<ENTRY_BYTES>();
            let entries = &entries[..BLOCK_ENTRIES];
            // The last block is filled up with zeros, which no key has.
            if let Some(entry) = entries.iter().find(|entry| entry[..9] == wanted.start) {
                return Ok(Some(Entry(*entry).found()));
            }
        }
        Ok(None)
    }

    fn block(&self, block: usize) -> Result<[u8; BLOCK_BYTES], KeysError> {
        let mut bytes = [0; BLOCK_BYTES];
        self.file.read_exact_at(&mut bytes, self.blocks_at + (block * BLOCK_BYTES) as u64)?;
        let (entries, hash) = bytes.split_at(BLOCK_ENTRIES * ENTRY_BYTES);
        if blake3::hash(entries).as_bytes()[..ENTRY_BYTES] != *hash {
            return Err(KeysError::Damaged { path: self.path.clone() });
        }
        Ok(bytes)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

pub(super) fn file_name(last: JobNo) -> String {
    format!("keys-{:020}.run", last.0)
}

pub(super) fn is_run(name: &str) -> bool {
    name.starts_with("keys-") && name.ends_with(".run")
}

fn blocks(entries: &[Entry]) -> (Vec<u8>, Vec<u8>) {
    let (mut fences, mut blocks) = (Vec::new(), Vec::new());
    for chunk in entries.chunks(BLOCK_ENTRIES) {
        let start = chunk[0].0[..8].try_into().expect("an entry has sixteen bytes");
        fences.extend(u64::from_be_bytes(start).to_le_bytes());
        let mut block: Vec<u8> = chunk.iter().flat_map(|entry| entry.0).collect();
        block.resize(BLOCK_ENTRIES * ENTRY_BYTES, 0);
        let hash = blake3::hash(&block);
        block.extend_from_slice(&hash.as_bytes()[..ENTRY_BYTES]);
        blocks.extend(block);
    }
    (fences, blocks)
}

fn head_hash(head: &[u8], filter: &[u8], fences: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(head).update(filter).update(fences);
    hasher.finalize().into()
}
