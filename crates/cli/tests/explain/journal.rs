//! A long journal: every decision in it is recomputed, and one that was changed is found and told,
//! whether or not whoever changed it made the hashes right again.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use bellwether_core::Event;
use serde_json::Value;

use crate::recorded::Recording;
use crate::stage::{bellwether, copy};

const JOBS: usize = 4_000;
const JOBS_FULL: usize = 100_000;
/// A frame of the file: its start and the hash before the record.
const FRAME_MAGIC: &[u8] = b"BWr1";
const FRAME_HEADER_BYTES: usize = 56;

fn jobs() -> usize {
    if std::env::var_os("BELLWETHER_FULL").is_some() { JOBS_FULL } else { JOBS }
}

fn replay(dir: &Path) -> Result<Output> {
    Ok(bellwether().args(["replay", "--json", "--data-dir"]).arg(dir).output()?)
}

fn report(output: &Output) -> Result<Value> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    serde_json::from_slice(&output.stdout).with_context(|| format!("no report: {stderr}"))
}

/// What is told first, and that it is told of this decision.
fn names_the_decision(report: &Value, position: u64, job: &str) -> Result<()> {
    let findings = report["findings"].as_array().context("a list")?;
    let told = |finding: &&Value| {
        let text = finding.as_str().unwrap_or_default();
        text.contains(&format!("the decision at position {position} placed job {job} "))
            && text.contains("score Score(")
    };
    ensure!(findings.iter().any(|finding| told(&finding)), "{position} {job}: {report}");
    Ok(())
}

fn segment(dir: &Path) -> Result<PathBuf> {
    let paths = std::fs::read_dir(dir)?.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<Result<Vec<_>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
    paths.sort();
    paths.into_iter().next().context("a journal has a file")
}

/// The first byte of a record in which two files differ; the hashes before the records do, too.
fn changed_byte(one: &[u8], other: &[u8]) -> Result<usize> {
    let first = one.iter().zip(other).position(|(one, other)| one != other);
    let first = first.context("the files differ")?;
    let frame = one[..first].windows(4).rposition(|window| window == FRAME_MAGIC);
    let record = frame.context("it lies in a frame")? + FRAME_HEADER_BYTES;
    let behind = one[record..].iter().zip(&other[record..]).position(|(one, other)| one != other);
    Ok(record + behind.context("the record differs")?)
}

#[test]
fn a_changed_decision_of_a_long_journal_is_found_and_told() -> Result<()> {
    let mut recording = Recording::of(jobs())?;
    let folder = tempfile::tempdir()?;
    let [sound, damaged, forged, betrayed] =
        ["sound", "damaged", "forged", "betrayed"].map(|name| folder.path().join(name));
    recording.write(&sound)?;

    let output = replay(&sound)?;
    let told = report(&output)?;
    ensure!(output.status.code() == Some(0), "{told}");
    ensure!(told["mismatches"] == 0, "{told}");
    ensure!(told["decisions"] == recording.decisions && recording.decisions >= jobs(), "{told}");

    let (record, place) = recording.middle_decision()?;
    let start = recording.records[record][0].seq.0;
    let entry = &mut recording.records[record][place];
    let position = entry.seq.0;
    let Event::Assigned { job, decision, .. } = &mut entry.event else {
        anyhow::bail!("it is a decision")
    };
    // As long as before when it is written, so that one byte differs.
    decision.score.0 ^= 1;
    // Jobs have numbers from 1 on, and ids from 0 on.
    let job = format!("job-{}", job.0 - 1);
    recording.write(&forged)?;

    copy(&sound, &damaged)?;
    let path = segment(&damaged)?;
    let mut bytes = std::fs::read(&path)?;
    let other = std::fs::read(segment(&forged)?)?;
    let at = changed_byte(&bytes, &other)?;
    bytes[at] = other[at];
    std::fs::write(&path, &bytes)?;
    let output = replay(&damaged)?;
    let told = report(&output)?;
    ensure!(output.status.code() == Some(1), "{told}");
    ensure!(told["position"] == start, "the record is named: {told}");
    names_the_decision(&told, position, &job)?;
    let stderr = String::from_utf8(output.stderr)?;
    ensure!(stderr.contains(&format!("damaged at position {start}")), "{stderr}");

    // A byte after which nothing can be read: the place is told, and what was there.
    bytes[at] = sound_byte(&sound, at)?;
    bytes[at - 1] = 0xff;
    std::fs::write(&path, &bytes)?;
    let output = replay(&damaged)?;
    let told = report(&output)?;
    ensure!(output.status.code() == Some(1) && told["position"] == start, "{told}");
    ensure!(told.to_string().contains(&position.to_string()), "{position} {told}");

    let output = replay(&forged)?;
    let told = report(&output)?;
    ensure!(output.status.code() == Some(1) && told["mismatches"] == 1, "{told}");
    names_the_decision(&told, position, &job)?;

    copy(&forged, &betrayed)?;
    std::fs::copy(sound.join("head"), betrayed.join("head"))?;
    let output = replay(&betrayed)?;
    let told = report(&output)?;
    ensure!(output.status.code() == Some(1), "{told}");
    ensure!(told["damage"].as_str().is_some_and(|text| text.contains("damaged")), "{told}");
    ensure!(told.to_string().contains("written anew"), "{told}");
    names_the_decision(&told, position, &job)
}

#[test]
fn a_forged_decision_in_a_database_is_found_and_told() -> Result<()> {
    let mut recording = Recording::of(300)?;
    let folder = tempfile::tempdir()?;
    let (record, place) = recording.middle_decision()?;
    let entry = &mut recording.records[record][place];
    let position = entry.seq.0;
    let Event::Assigned { job, decision, .. } = &mut entry.event else {
        anyhow::bail!("it is a decision")
    };
    decision.score.0 ^= 1;
    let job = format!("job-{}", job.0 - 1);
    recording.write_to_database(folder.path())?;
    let output = replay(folder.path())?;
    let told = report(&output)?;
    ensure!(output.status.code() == Some(1) && told["mismatches"] == 1, "{told}");
    names_the_decision(&told, position, &job)
}

fn sound_byte(dir: &Path, at: usize) -> Result<u8> {
    std::fs::read(segment(dir)?)?.get(at).copied().context("the file is as long")
}

fn what_if(dir: &Path, change: &[&str]) -> Result<Value> {
    let output = bellwether().arg("whatif").args(change).arg("--data-dir").arg(dir).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{stderr}");
    Ok(serde_json::from_slice(&output.stdout)?)
}

#[test]
fn a_recorded_journal_is_compared_with_what_might_have_been() -> Result<()> {
    let recording = Recording::of(600)?;
    let folder = tempfile::tempdir()?;
    recording.write(folder.path())?;
    let dir = folder.path();
    let report = what_if(dir, &["--strategy", "random", "--json"])?;
    ensure!(report["jobs"] == 600, "{report}");
    let [was, as_configured, otherwise] = [0, 1, 2].map(|at| &report["columns"][at]);
    ensure!(was["name"] == "recorded" && was["strategy"] == "predictive", "{report}");
    ensure!(as_configured["strategy"] == "predictive", "{report}");
    ensure!(otherwise["name"] == "what_if" && otherwise["strategy"] == "random", "{report}");
    ensure!(was["workers"] == 12 && was["slots"] == 48, "{report}");
    let mean = |column: &Value| column["response_ms"]["mean"].as_f64().unwrap_or(f64::NAN);
    // The recording is of the engine itself with workers that are never quiet, so simulating what
    // was configured comes near to what was; only retries are left out.
    let ratio = mean(as_configured) / mean(was);
    ensure!((0.8..1.25).contains(&ratio), "{ratio}: {report}");
    ensure!(mean(otherwise) > mean(as_configured), "chance is worse: {report}");
    let again = what_if(dir, &["--strategy", "random", "--json"])?;
    ensure!(report == again, "it repeats exactly");

    let fewer = what_if(dir, &["--fleet", "4x4@1.0", "--json"])?;
    ensure!(fewer["columns"][2]["slots"] == 16, "{fewer}");
    ensure!(mean(&fewer["columns"][2]) > mean(&fewer["columns"][1]), "{fewer}");

    let file = segment(dir)?;
    let output = bellwether()
        .args(["whatif", "--strategy", "round_robin", "--journal"])
        .arg(file)
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    for part in ["600 jobs", "recorded", "as configured", "what if", "wait p99 ms", "extra s"] {
        ensure!(text.contains(part), "`{part}` is not in {text}");
    }
    Ok(())
}
