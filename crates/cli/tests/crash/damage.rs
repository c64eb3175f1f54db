//! Journals that were cut or changed behind the scheduler's back.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::every_write::{copy, trim};
use crate::lanes;
use crate::load::Load;
use crate::seed::{seed, stride};
use crate::site::{Replay, Site, Start, memory_folder, replay};

/// Trials of a quick run.
const CUTS_MAX: usize = 300;
const FLIPS_MAX: usize = 600;
const STARTS_MAX: usize = 60;
const JOBS: usize = 8;

/// A small journal with a snapshot, a tail, and one last record of an acknowledged submission.
struct Sample {
    site: Site,
    load: Load,
    journal: &'static str,
    /// The file that says what was acknowledged, from before the last record.
    earlier_head: Vec<u8>,
    /// What a replay finds, with the last record and without.
    sound: Value,
    earlier: Value,
}

impl Sample {
    async fn make(journal: &'static str) -> Result<Sample> {
        let site = Site::new(&[("journal", journal)])?;
        let load = Load::new(&site)?;
        let scheduler = site.start().await?;
        let workers = load.workers(&site, 1)?;
        load.batch(0..JOBS).await?;
        scheduler.stop().await?;
        let scheduler = site.start().await?;
        load.batch(JOBS..2 * JOBS).await?;
        for mut worker in workers {
            worker.leave();
            worker.ended().await?;
        }
        // Everything up to here is durable once the next question is answered.
        load.client().status().await?;
        let earlier_head = std::fs::read(site.data_dir.join("head"))?;
        let earlier = site.replay().await?.report;
        load.submit(2 * JOBS..2 * JOBS + 1).await?;
        scheduler.kill().await?;
        trim(&site.data_dir)?;
        let sound = site.replay().await?.report;
        let (before, after) = (earlier["position"].as_u64(), sound["position"].as_u64());
        ensure!(sound["mismatches"] == 0 && before.map(|before| before + 1) == after, "{sound}");
        Ok(Sample { site, load, journal, earlier_head, sound, earlier })
    }

    /// Where the newest records are.
    fn file(&self) -> Result<PathBuf> {
        let names = std::fs::read_dir(&self.site.data_dir)?;
        let names: Vec<PathBuf> = names.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
        let wanted = |path: &&PathBuf| match self.journal {
            "sqlite" => path.ends_with("journal.sqlite-wal"),
            _ => path.extension().is_some_and(|extension| extension == "log"),
        };
        names.iter().find(wanted).cloned().context("a journal has a file")
    }

    /// Where the last record starts and ends in its file.
    fn last_record(&self) -> Result<(usize, usize)> {
        let bytes = std::fs::read(self.file()?)?;
        if self.journal == "sqlite" { last_commit(&bytes) } else { last_frame(&bytes) }
    }
}

fn last_frame(bytes: &[u8]) -> Result<(usize, usize)> {
    let end = bytes.iter().rposition(|byte| *byte != 0).context("a journal is not empty")? + 1;
    let starts = bytes[..end].windows(4).rposition(|window| window == b"BWr1");
    Ok((starts.context("a journal has a frame")?, end))
}

/// The log of SQLite: a header of 32 bytes, then a header of 24 and a page each; a page that ends a
/// commit has a size there. All numbers are big-endian.
fn last_commit(bytes: &[u8]) -> Result<(usize, usize)> {
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let frame = 24 + number(8) as usize;
    let ends: Vec<usize> = (32..bytes.len() + 1 - frame)
        .step_by(frame)
        .take_while(|at| bytes[at + 8..at + 16] == bytes[16..24])
        .filter(|at| number(at + 4) != 0)
        .map(|at| at + frame)
        .collect();
    let [.., start, end] = ends[..] else { bail!("there are no two commits") };
    Ok((start, end))
}

/// A copy of a data directory with one file changed.
fn changed(
    from: &Path,
    name: &Path,
    change: impl FnOnce(&mut Vec<u8>),
) -> Result<tempfile::TempDir> {
    let folder = memory_folder()?;
    copy(from, folder.path())?;
    let path = folder.path().join(name.file_name().context("a file has a name")?);
    let mut bytes = std::fs::read(&path)?;
    change(&mut bytes);
    std::fs::write(path, bytes)?;
    Ok(folder)
}

/// Refused, with the position and a way out.
fn is_refused(replay: &Replay) -> bool {
    names_the_damage(&replay.stderr) && replay.code == Some(1)
}

fn names_the_damage(stderr: &str) -> bool {
    stderr.contains("damaged at position ") && stderr.contains("Restore")
}

async fn cut_at_every_byte_of_the_last_record(journal: &'static str) -> Result<()> {
    let sample = std::sync::Arc::new(Sample::make(journal).await?);
    let (start, end) = sample.last_record()?;
    let every = stride(end - start, CUTS_MAX);
    let cuts: Vec<usize> = (start..end).step_by(every).collect();
    eprintln!("{journal}: {} cuts of the last {} bytes", cuts.len(), end - start);
    let trial = sample.clone();
    lanes::each(cuts.clone(), move |cut| {
        let sample = trial.clone();
        async move {
            let file = sample.file()?;
            // It was acknowledged, and the journal knows that.
            let folder = changed(&sample.site.data_dir, &file, |bytes| bytes.truncate(cut))?;
            let found = replay(folder.path()).await?;
            ensure!(is_refused(&found), "an acknowledged record is gone: {found:?}");
            // It was not: a torn tail, which costs nobody anything.
            std::fs::write(folder.path().join("head"), &sample.earlier_head)?;
            let found = replay(folder.path()).await?;
            ensure!(found.code == Some(0) && same(&found.report, &sample.earlier), "{found:?}");
            Ok(())
        }
    })
    .await?;
    for cut in cuts.into_iter().step_by(stride(end - start, CUTS_MAX).max(CUTS_MAX / 10)) {
        let site = Site::new(&[("journal", journal)])?;
        let folder = changed(&sample.site.data_dir, &sample.file()?, |bytes| bytes.truncate(cut))?;
        copy(folder.path(), &site.data_dir)?;
        let Start::Ended { status, stderr } = site.launch(&[]).await? else {
            bail!("it starts without an acknowledged record, cut at {cut}");
        };
        ensure!(status.code() == Some(3) && names_the_damage(&stderr), "{status} {stderr}");
        std::fs::write(site.data_dir.join("head"), &sample.earlier_head)?;
        site.start().await?.kill().await?;
    }
    Ok(())
}

/// Not the number of events from the start, which depends on where a replay starts.
fn same(left: &Value, right: &Value) -> bool {
    ["position", "chain_head", "state_hash"].iter().all(|key| left[key] == right[key])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_cut_in_its_last_record_is_refused_or_torn_on_sqlite() -> Result<()> {
    cut_at_every_byte_of_the_last_record("sqlite").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_cut_in_its_last_record_is_refused_or_torn_on_files() -> Result<()> {
    cut_at_every_byte_of_the_last_record("file").await
}

/// A byte of a file of the data directory.
#[derive(Debug, Clone)]
struct Place {
    file: PathBuf,
    at: usize,
}

fn places(sample: &Sample) -> Result<Vec<Place>> {
    let copied = memory_folder()?;
    copy(&sample.site.data_dir, copied.path())?;
    let mut all = Vec::new();
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(copied.path())?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // The lock has no content that matters; the history and indexes are made anew.
        if name == "lock" || name.starts_with("registry") || name.ends_with("-shm") {
            continue;
        }
        let length = std::fs::metadata(&file)?.len() as usize;
        all.extend((0..length).map(|at| Place { file: file.clone(), at }));
    }
    Ok(all)
}

fn flip(sample: &Sample, place: &Place) -> Result<tempfile::TempDir> {
    changed(&sample.site.data_dir, &place.file, |bytes| bytes[place.at] ^= 1 << (place.at % 8))
}

async fn a_flipped_byte_is_harmless_or_refused(journal: &'static str) -> Result<()> {
    let sample = std::sync::Arc::new(Sample::make(journal).await?);
    let all = places(&sample)?;
    let every = stride(all.len(), FLIPS_MAX);
    let first = usize::try_from(seed() % every as u64)?;
    let chosen: Vec<Place> = all.iter().skip(first).step_by(every).cloned().collect();
    let trial = sample.clone();
    let refused = lanes::each(chosen.clone(), move |place| {
        let sample = trial.clone();
        async move {
            let folder = flip(&sample, &place)?;
            let found = replay(folder.path()).await?;
            let harmless = found.code == Some(0) && same(&found.report, &sample.sound);
            ensure!(harmless || is_refused(&found), "{found:?}");
            Ok(usize::from(!harmless))
        }
    })
    .await?;
    let refused: usize = refused.into_iter().sum();
    eprintln!("{journal}: {} of {} bytes flipped, {refused} refused", chosen.len(), all.len());
    ensure!(refused > 0);

    let mut refused = 0;
    let starts: Vec<&Place> = chosen.iter().step_by(chosen.len().div_ceil(STARTS_MAX)).collect();
    for place in &starts {
        let site = Site::new(&[("journal", journal)])?;
        copy(flip(&sample, place)?.path(), &site.data_dir)?;
        match site.launch(&[]).await? {
            Start::Serving(scheduler) => {
                let known = sample.load.all_known(&site).await;
                known.with_context(|| format!("{place:?} was flipped"))?;
                scheduler.kill().await?;
            }
            Start::Ended { status, stderr } => {
                let told = stderr.contains("damaged") && stderr.contains("estore");
                ensure!(status.code() == Some(3) && told, "{place:?}: {status} {stderr}");
                refused += 1;
            }
        }
    }
    eprintln!("{journal}: {} starts, {refused} refused", starts.len());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_harmless_or_refused_on_sqlite() -> Result<()> {
    a_flipped_byte_is_harmless_or_refused("sqlite").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_is_harmless_or_refused_on_files() -> Result<()> {
    a_flipped_byte_is_harmless_or_refused("file").await
}
