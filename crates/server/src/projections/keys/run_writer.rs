//! Writes a run, entry by entry, in memory that does not depend on how many there are.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bellwether_core::model::JobNo;

use super::KeysError;
use super::ages::Ages;
use super::entry::{Entry, Taken};
use super::filter::{self, Block};
use super::layout::{ENTRIES_PER_PAGE, FILTER_AT, Head, Layout};
use super::pages::Area;
use super::run::{Run, file_name};

pub(super) struct RunWriter {
    dir: PathBuf,
    unfinished: PathBuf,
    file: File,
    layout: Layout,
    filter: Area,
    /// The block of the filter that is being filled.
    block: (u64, Block),
    fences: Area,
    entries: Area,
    keys: u64,
}

impl RunWriter {
    /// For so many keys at the most. `unfinished` is its name until it is whole.
    pub(super) fn new(dir: &Path, unfinished: &str, capacity: u64) -> Result<RunWriter, KeysError> {
        let layout = Layout::of(capacity.max(1));
        let unfinished = dir.join(unfinished);
        Ok(RunWriter {
            dir: dir.to_owned(),
            file: File::create(&unfinished)?,
            unfinished,
            layout,
            filter: Area::new(FILTER_AT),
            block: (0, Block::default()),
            fences: Area::new(layout.fence_page(0)),
            entries: Area::new(layout.entries_at),
            keys: 0,
        })
    }

    /// In the order of entries.
    pub(super) fn push(&mut self, entry: Entry) -> Result<(), KeysError> {
        self.go_to_block(filter::place(entry.start(), self.layout.filter_blocks))?;
        self.block.1.add(entry.start());
        if self.keys.is_multiple_of(ENTRIES_PER_PAGE) {
            self.fences.push(&self.file, &entry.start().high().to_be_bytes())?;
        }
        self.entries.push(&self.file, &entry.0)?;
        self.keys += 1;
        Ok(())
    }

    fn go_to_block(&mut self, number: u64) -> Result<(), KeysError> {
        while self.block.0 < number {
            let (at, block) = std::mem::take(&mut self.block);
            self.filter.push(&self.file, &block.bytes())?;
            self.block.0 = at + 1;
        }
        Ok(())
    }

    /// Durable when it returns: jobs behind `after` up to `last`. It takes the place of a run that ends
    /// where this one does.
    pub(super) fn finish(
        mut self,
        after: JobNo,
        last: JobNo,
        ages: Ages,
    ) -> Result<Run, KeysError> {
        self.go_to_block(self.layout.filter_blocks)?;
        let RunWriter { dir, unfinished, file, layout, filter, fences, entries, keys, .. } = self;
        for area in [filter, fences, entries] {
            area.finish(&file)?;
        }
        file.write_all_at(&Head { keys, after, last, layout, ages }.page(), 0)?;
        file.sync_all()?;
        let path = dir.join(file_name(last));
        fs::rename(&unfinished, &path)?;
        File::open(&dir)?.sync_all()?;
        Run::open(path)
    }
}

const UNFINISHED: &str = "keys.unfinished";

/// `taken` is in the order of the jobs, and not empty.
pub(super) fn write(dir: &Path, after: JobNo, taken: &[Taken]) -> Result<Run, KeysError> {
    let newest = taken.last().expect("a run has keys");
    let mut entries: Vec<Entry> = taken.iter().map(|taken| Entry::new(taken, after)).collect();
    entries.sort_unstable();
    let mut writer = RunWriter::new(dir, UNFINISHED, entries.len() as u64)?;
    entries.into_iter().try_for_each(|entry| writer.push(entry))?;
    writer.finish(after, newest.job, Ages::one(newest.job, newest.at))
}
