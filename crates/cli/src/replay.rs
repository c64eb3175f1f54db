//! `bellwether replay`: does the journal hold, and does it lead to the same decisions?

mod bound;
mod locate;

use bellwether_wire::words::counted;
use std::path::PathBuf;

use bellwether_core::model::WorkerKey;
use bellwether_core::verify::Mismatch;
use bellwether_core::{Engine, Event};
use bellwether_journal::{Damage, OpenError, state};
use bellwether_wire::json::hex;
use clap::Args;
use serde::Serialize;

use bound::Bound;

use crate::archive::{self, Backend};
use crate::exit::Verdict;
use crate::output;
use crate::progress::Progress;

/// Mismatches that are told one by one.
const TOLD_MAX: usize = 10;

/// Verify the hash chain of a journal and recompute every decision in it. Exits with 1 if anything
/// does not match. A scheduler may be running on it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where the journal is kept
    #[arg(long, value_name = "DIR", default_value = "data")]
    data_dir: PathBuf,
    /// Compare with what the scheduler has signed: a file of checkpoints that was kept elsewhere, or of
    /// events that carry them
    #[arg(long, value_name = "FILE")]
    checkpoints: Option<PathBuf>,
    /// The key that they must be signed with, 64 hexadecimal digits; that of the first if left out
    #[arg(long, value_name = "KEY", requires = "checkpoints", value_parser = key)]
    checkpoint_key: Option<WorkerKey>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn key(text: &str) -> Result<WorkerKey, &'static str> {
    let bytes = blake3::Hash::from_hex(text).map_err(|_| "it must be 64 hexadecimal digits")?;
    Ok(WorkerKey(*bytes.as_bytes()))
}

#[derive(Debug, Serialize)]
struct Report {
    events: u64,
    decisions: u64,
    mismatches: u64,
    chain_head: String,
    /// The last position.
    position: u64,
    /// The position after which decisions were recomputed; 0 is the beginning.
    from: u64,
    state_hash: String,
    /// What the scheduler has signed, if that was to be compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    checkpoints: Option<Bound>,
    /// What is wrong, the first few.
    findings: Vec<String>,
}

/// What a damaged journal still says of what was changed.
#[derive(Debug, Serialize)]
struct Damaged {
    damage: String,
    /// Everything before this position is sound.
    position: u64,
    findings: Vec<String>,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let report = match replay(&arguments)? {
        Ok(report) => report,
        Err(damage) => {
            let findings = locate::locate(&arguments.data_dir, &damage)?;
            eprintln!("error: {damage}");
            for finding in &findings {
                eprintln!("  {finding}");
            }
            if arguments.json {
                let (position, damage) = (damage.at.0, damage.to_string());
                output::print_json(&Damaged { damage, position, findings })?;
            }
            return Ok(Verdict::CheckFailed);
        }
    };
    if arguments.json {
        output::print_json(&report)?;
    } else {
        output::print(&readable(&report))?;
    }
    let forged = report.checkpoints.as_ref().is_some_and(|bound| !bound.findings.is_empty());
    Ok(if report.mismatches == 0 && !forged { Verdict::Fine } else { Verdict::CheckFailed })
}

/// The inner error is damage: what was to be found out, not a reason to stop.
fn replay(arguments: &Arguments) -> anyhow::Result<Result<Report, Damage>> {
    let dir = &arguments.data_dir;
    let reader = match Backend::of(dir)?.inspect(dir) {
        Ok(reader) => reader,
        Err(OpenError::Damaged(damage)) => return Ok(Err(damage)),
        Err(error) => return Err(error.into()),
    };
    let checkpoints = arguments.checkpoints.as_ref();
    let checkpoints = checkpoints
        .map(|file| bound::compare(reader.as_ref(), file, arguments.checkpoint_key))
        .transpose()?;
    let (mut engine, mut head) = archive::origin(reader.as_ref())?;
    let from = head.seq.0;
    let (mut events, mut decisions, mut mismatches) = (0, 0, 0);
    let mut findings = Vec::new();
    let mut progress = Progress::endless("events");
    for record in reader.read(head.seq.next())? {
        let record = record?;
        head = record.head();
        for entry in &record.entries {
            events += 1;
            decisions += u64::from(matches!(entry.event, Event::Assigned { .. }));
            progress.step("recomputing");
            if let Err(mismatch) = engine.verify(entry) {
                mismatches += 1;
                if findings.len() < TOLD_MAX {
                    findings.push(told(&engine, &mismatch));
                }
            }
        }
    }
    drop(progress);
    let state_hash = hex(&state::hash(engine.state()));
    Ok(Ok(Report {
        events,
        decisions,
        mismatches,
        chain_head: head.chain.to_string(),
        position: head.seq.0,
        from,
        state_hash,
        checkpoints,
        findings,
    }))
}

/// With names, as far as the engine knows them.
fn told(engine: &Engine, mismatch: &Mismatch) -> String {
    let state = engine.state();
    let Mismatch::Decision { seq, job, worker, recomputed } = mismatch else {
        return mismatch.to_string();
    };
    let job = state.job(*job).map_or_else(
        || format!("number {job}"),
        |known| format!("{} (number {job})", known.spec.id),
    );
    let worker = state
        .worker(*worker)
        .map_or_else(|| format!("number {worker}"), |worker| worker.id().to_string());
    format!(
        "the decision at position {seq} placed job {job} on worker {worker}; recomputed: {recomputed}"
    )
}

fn readable(report: &Report) -> String {
    let Report { events, decisions, mismatches, chain_head, position, from, .. } = report;
    let first = from + 1;
    let range = match events {
        0 => "no events".to_owned(),
        1 => format!("1 event, at position {first}"),
        _ => format!("{events} events, positions {first} to {position}"),
    };
    let mut text = format!(
        "{range}, the chain holds\n{}, {}\nchain head {chain_head}\n",
        counted(*decisions, "decision"),
        counted(*mismatches, "mismatch"),
    );
    for finding in &report.findings {
        text.push_str(&format!("  {finding}\n"));
    }
    if let Some(Bound { held, before, findings, key }) = &report.checkpoints {
        let wrong = findings.len();
        let hold = if *held == 1 { "holds" } else { "hold" };
        let not = if wrong == 1 { "does" } else { "do" };
        let held = counted(*held, "checkpoint");
        text.push_str(&format!("{held} {hold}, {wrong} {not} not; signed by {key}\n"));
        if *before > 0 {
            let of =
                if *before == 1 { "is of a position that is" } else { "are of positions that are" };
            text.push_str(&format!("{before} {of} no longer kept\n"));
        }
        for finding in findings {
            text.push_str(&format!("  {finding}\n"));
        }
    }
    text
}
