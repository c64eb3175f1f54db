//! The segments of a data directory as files.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bellwether_core::model::Seq;
use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use super::segment::header;
use crate::chain::Head;
use crate::disk::sync_directory;

/// Of the segment after this position.
pub(super) fn path(dir: &Path, base: Seq) -> PathBuf {
    dir.join(format!("journal-{:020}.log", base.0))
}

/// The positions before each segment, in order.
pub(super) fn list(dir: &Path) -> io::Result<Vec<Seq>> {
    let mut bases = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let base = name
            .to_str()
            .and_then(|name| name.strip_prefix("journal-")?.strip_suffix(".log")?.parse().ok());
        bases.extend(base.map(Seq));
    }
    bases.sort_unstable();
    Ok(bases)
}

/// Makes an empty segment. It has its name only once all of it is durable.
pub(super) fn create(dir: &Path, base: Head, size: u64) -> io::Result<File> {
    let unfinished = dir.join("journal.unfinished");
    let file =
        File::options().read(true).write(true).create(true).truncate(true).open(&unfinished)?;
    let made = reserve(&file, size)
        .and_then(|()| file.write_all_at(&header(base), 0))
        .and_then(|()| file.sync_all());
    if let Err(error) = made {
        // Its space may be what others are waiting for.
        fs::remove_file(&unfinished)?;
        return Err(error);
    }
    fs::rename(&unfinished, path(dir, base.seq))?;
    sync_directory(dir)?;
    Ok(file)
}

/// Makes the file this long, with space for all of it where the file system can promise that.
pub(super) fn reserve(file: &File, size: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, size) {
        Ok(()) => Ok(()),
        Err(Errno::OPNOTSUPP) => file.set_len(size),
        Err(error) => Err(error.into()),
    }
}

/// Removes segments that end before `seq`, oldest first, but never the one that is written.
pub(super) fn remove_before(dir: &Path, seq: Seq, written: Seq) -> io::Result<()> {
    let bases = list(dir)?;
    for pair in bases.windows(2) {
        let [base, next] = [pair[0], pair[1]];
        if next.next() > seq || base >= written {
            break;
        }
        fs::remove_file(path(dir, base))?;
        // One by one, so that a crash leaves no gap.
        sync_directory(dir)?;
    }
    Ok(())
}
