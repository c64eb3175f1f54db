//! `bellwether replay`: does the journal hold, and does it lead to the same decisions?

mod locate;

use std::path::PathBuf;

use bellwether_core::verify::Mismatch;
use bellwether_core::{Engine, Event};
use bellwether_journal::{Damage, OpenError, state};
use bellwether_wire::json::hex;
use clap::Args;
use serde::Serialize;

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
    /// Print JSON
    #[arg(long)]
    json: bool,
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
    Ok(if report.mismatches == 0 { Verdict::Fine } else { Verdict::CheckFailed })
}

/// The inner error is damage: what was to be found out, not a reason to stop.
fn replay(arguments: &Arguments) -> anyhow::Result<Result<Report, Damage>> {
    let dir = &arguments.data_dir;
    let reader = match Backend::of(dir)?.inspect(dir) {
        Ok(reader) => reader,
        Err(OpenError::Damaged(damage)) => return Ok(Err(damage)),
        Err(error) => return Err(error.into()),
    };
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
        "{range}, the chain holds\n{decisions} decisions, {mismatches} mismatches\n\
         chain head {chain_head}\n"
    );
    for finding in &report.findings {
        text.push_str(&format!("  {finding}\n"));
    }
    text
}
