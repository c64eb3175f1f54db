//! Files of keys as they were first written: whole in memory, with job numbers of 40 bits. They are written
//! anew when they are found.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use bellwether_core::model::{JobNo, Timestamp};

use super::KeysError;
use super::entry::{ENTRY_BYTES, Entry, Taken};
use super::pages::{PAGE_BYTES, PAYLOAD_BYTES, hash};
use super::run::Run;
use super::run_writer::write;

const MAGIC: &[u8; 8] = b"BWKEYS01";
/// Magic, keys, the jobs before and at its end, the time of the last key, bytes of the filter, and a hash
/// of these, the filter and the fences.
const HEADER_BYTES: usize = 8 + 5 * 8 + 32;
const HASHED_BYTES: usize = HEADER_BYTES - 32;
const ENTRIES_PER_BLOCK: usize = PAYLOAD_BYTES / ENTRY_BYTES;

/// None if it is no such file.
pub(super) fn renew(dir: &Path, path: &Path) -> Result<Option<Run>, KeysError> {
    let mut magic = [0; MAGIC.len()];
    match File::open(path)?.read_exact_at(&mut magic, 0) {
        Ok(()) if magic == *MAGIC => {}
        Ok(()) | Err(_) => return Ok(None),
    }
    let bytes = fs::read(path)?;
    let (after, taken) =
        read(&bytes).ok_or_else(|| KeysError::Damaged { path: path.to_owned() })?;
    // Under the name that it had, in its place.
    write(dir, after, &taken).map(Some)
}

fn read(bytes: &[u8]) -> Option<(JobNo, Vec<Taken>)> {
    let number = |index: usize| {
        let at = 8 + index * 8;
        Some(u64::from_le_bytes(*bytes.get(at..at + 8)?.first_chunk()?))
    };
    let (keys, after, last) = (number(0)? as usize, JobNo(number(1)?), JobNo(number(2)?));
    let (newest, filter_bytes) = (Timestamp(number(3)?), usize::try_from(number(4)?).ok()?);
    let blocks = keys.div_ceil(ENTRIES_PER_BLOCK);
    let begin = HEADER_BYTES.checked_add(filter_bytes)?.checked_add(blocks.checked_mul(8)?)?;
    let mut hasher = blake3::Hasher::new();
    hasher.update(bytes.get(..HASHED_BYTES)?).update(bytes.get(HEADER_BYTES..begin)?);
    if hasher.finalize().as_bytes()[..] != bytes[HASHED_BYTES..HEADER_BYTES] {
        return None;
    }
    let mut taken = Vec::with_capacity(keys);
    for block in bytes.get(begin..)?.chunks(PAGE_BYTES) {
        let (payload, sealed) = block.split_at_checked(PAYLOAD_BYTES)?;
        if *sealed != hash(payload) {
            return None;
        }
        let (entries, _) = payload.as_chunks::<ENTRY_BYTES>();
        let left = keys - taken.len();
        // Numbers were whole.
        taken.extend(entries.iter().take(left).copied().map(Entry).map(|entry| Taken {
            start: entry.start(),
            job: entry.job(JobNo(0)),
            print: entry.print(),
            at: newest,
        }));
    }
    taken.sort_unstable_by_key(|taken| taken.job);
    let is_whole = taken.len() == keys && taken.last()?.job == last;
    (is_whole && taken.first()?.job > after).then_some((after, taken))
}
