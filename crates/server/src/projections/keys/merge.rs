//! Several runs become one, so that few files have all keys, however many there are.
//!
//! Runs are of a size if their keys are as many to a power of eight. Those that came last are merged as soon
//! as together they are of the next size: so there are at most seven of a size, and a key is written
//! again at most once for each.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bellwether_core::model::{JobNo, Micros, Timestamp};

use super::KeysError;
use super::ages::Ages;
use super::entry::Entry;
use super::run::Run;
use super::run_writer::RunWriter;

const UNFINISHED: &str = "keys-merged.unfinished";
/// Entries after which a merge looks whether it should end.
const LOOK_EVERY: u64 = 10_000;

/// Which of these, the oldest first, should become one: the last of them, if any.
pub(super) fn due(keys: &[u64]) -> Option<Range<usize>> {
    let largest = keys.iter().copied().map(size).max()?;
    (0..=largest).find_map(|of_size| {
        let count = keys.iter().rev().take_while(|keys| size(**keys) <= of_size).count();
        let first = keys.len() - count;
        let together: u64 = keys[first..].iter().sum();
        (count > 1 && size(together) > of_size).then_some(first..keys.len())
    })
}

fn size(keys: u64) -> u32 {
    keys.max(1).ilog2() / 3
}

/// What is merged, and what has had its time meanwhile.
#[derive(Debug, Clone)]
pub(super) struct Merge {
    /// The oldest first, none missing.
    pub(super) runs: Vec<Arc<Run>>,
    pub(super) now: Timestamp,
    pub(super) expires_after: Micros,
}

impl Merge {
    pub(super) fn keys(&self) -> u64 {
        self.runs.iter().map(|run| run.keys).sum()
    }

    /// Durable when it returns, in place of the last of them; the others may be removed, the oldest
    /// first. None if it was told to stop.
    pub(super) fn run(&self, dir: &Path, stop: &AtomicBool) -> Result<Option<Run>, KeysError> {
        let (first, last) = (&self.runs[0], &self.runs[self.runs.len() - 1]);
        let points = self.runs.iter().flat_map(|run| run.ages.points()).copied().collect();
        let ages = Ages::of(points).expect("every run has an age");
        let over = ages.over(self.now, self.expires_after).unwrap_or(JobNo(0));
        let mut writer = RunWriter::new(dir, UNFINISHED, self.keys())?;
        let mut sources = self.runs.iter().map(Source::new).collect::<Result<Vec<_>, _>>()?;
        let mut seen = 0_u64;
        while let Some(entry) = next(&mut sources, first.after)? {
            seen += 1;
            if seen.is_multiple_of(LOOK_EVERY) && stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            if entry.job(first.after) > over {
                writer.push(entry)?;
            }
        }
        writer.finish(first.after, last.last, ages).map(Some)
    }
}

struct Source<'a> {
    after: JobNo,
    rest: Box<dyn Iterator<Item = Result<Entry, KeysError>> + 'a>,
    next: Option<Entry>,
}

impl<'a> Source<'a> {
    fn new(run: &'a Arc<Run>) -> Result<Source<'a>, KeysError> {
        let mut source = Source { after: run.after, rest: Box::new(run.entries()), next: None };
        source.go_on()?;
        Ok(source)
    }

    fn go_on(&mut self) -> Result<(), KeysError> {
        self.next = self.rest.next().transpose()?;
        Ok(())
    }
}

/// The next in the order of all. Of a key that was taken several times, the latest.
fn next(sources: &mut [Source<'_>], after: JobNo) -> Result<Option<Entry>, KeysError> {
    let Some(start) = sources.iter().filter_map(|source| source.next).map(Entry::start).min()
    else {
        return Ok(None);
    };
    let mut latest = None;
    for source in sources {
        while let Some(entry) = source.next.filter(|entry| entry.start() == start) {
            latest = Some(entry.moved(source.after, after));
            source.go_on()?;
        }
    }
    Ok(latest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_few_runs_however_many_keys_there_are() {
        let mut runs: Vec<u64> = Vec::new();
        let (mut most, mut written) = (0, 0_u64);
        // Nearly a day of 30,000 a second.
        const RUNS: u64 = 40_000;
        for _ in 0..RUNS {
            runs.push(62_500);
            while let Some(range) = due(&runs) {
                let together: u64 = runs.drain(range).sum();
                written += together;
                runs.push(together);
            }
            most = most.max(runs.len());
        }
        assert!(most <= 45, "{most} runs");
        assert!(written / (RUNS * 62_500) <= 6, "each key was written again {written} times");
    }

    #[test]
    fn small_runs_are_merged_before_they_are_many() {
        let mut runs: Vec<u64> = vec![1_000_000];
        for number in 0..10_000 {
            runs.push(1 + number % 5);
            while let Some(range) = due(&runs) {
                let together: u64 = runs.drain(range).sum();
                runs.push(together);
            }
            assert!(runs.len() <= 40, "{runs:?}");
        }
    }
}
