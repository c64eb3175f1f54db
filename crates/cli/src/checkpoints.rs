//! `bellwether checkpoints`: what the scheduler has signed of its journal.

use bellwether_wire::words::counted;
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_core::model::Checkpoint;
use bellwether_server::checkpoints::FILE;
use bellwether_wire::json::checkpoint::{checkpoint_to_json, checkpoints_from_json};
use bellwether_wire::json::unit::Moment;
use bellwether_wire::signing::checkpoint::verify_checkpoint;
use clap::Args;

use crate::exit::Verdict;
use crate::output::{self, Table};

/// List the checkpoints of a journal, or take them elsewhere: whoever has them finds with `bellwether
/// replay --checkpoints` a past that was rewritten. Exits with 1 if one was not signed by the key that
/// it names.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Where the journal is kept
    #[arg(long, value_name = "DIR", default_value = "data")]
    data_dir: PathBuf,
    /// Add those that are not there yet to this file
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Print JSON, one a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let kept = arguments.data_dir.join(FILE);
    let older = kept.with_extension("jsonl.1");
    let mut checkpoints = Vec::new();
    for file in [&older, &kept].into_iter().filter(|file| file.exists()) {
        checkpoints.extend(load(file)?);
    }
    anyhow::ensure!(
        !checkpoints.is_empty(),
        "there are no checkpoints in {}; the scheduler makes them as checkpoints.every says, and \
         when it shuts down",
        arguments.data_dir.display()
    );
    let forged = checkpoints.iter().any(|checkpoint| verify_checkpoint(checkpoint).is_err());
    if let Some(path) = &arguments.export {
        let added = export(path, &checkpoints)?;
        output::print(&format!(
            "{} added to {}\n",
            counted(added as u64, "checkpoint"),
            path.display()
        ))?;
    } else if arguments.json {
        for checkpoint in &checkpoints {
            output::print_json(&checkpoint_to_json(checkpoint))?;
        }
    } else {
        output::print(&table(&checkpoints))?;
    }
    Ok(if forged { Verdict::CheckFailed } else { Verdict::Fine })
}

/// Those in a file, in its order.
pub(crate) fn load(path: &Path) -> anyhow::Result<Vec<Checkpoint>> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("failed to read the checkpoints in {}", path.display()))?;
    let mut checkpoints = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        if !line.trim().is_empty() {
            let read = checkpoints_from_json(line);
            checkpoints.extend(read.with_context(|| format!("{}:{number}", path.display()))?);
        }
    }
    Ok(checkpoints)
}

fn export(path: &Path, checkpoints: &[Checkpoint]) -> anyhow::Result<usize> {
    let known: BTreeSet<u64> = match path.exists() {
        true => load(path)?.iter().map(|checkpoint| checkpoint.position.0).collect(),
        false => BTreeSet::new(),
    };
    let new = checkpoints.iter().filter(|checkpoint| !known.contains(&checkpoint.position.0));
    let lines: Vec<String> = new.map(|it| format!("{}\n", checkpoint_to_json(it))).collect();
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(lines.concat().as_bytes())?;
    file.sync_data()?;
    Ok(lines.len())
}

fn table(checkpoints: &[Checkpoint]) -> String {
    let mut table = Table::new(&["POSITION", "EPOCH", "AT", "CHAIN", "KEY", "SIGNATURE"]);
    for checkpoint in checkpoints {
        let Checkpoint { position, epoch, at, chain, key, .. } = checkpoint;
        let signed = verify_checkpoint(checkpoint).map_or("forged", |()| "good");
        table.row(vec![
            position.to_string(),
            epoch.to_string(),
            serde_json::to_value(Moment(*at))
                .ok()
                .and_then(|at| at.as_str().map(str::to_owned))
                .unwrap_or_default(),
            bellwether_wire::json::hex(&chain[..8]),
            key.to_string()[..16].to_owned(),
            signed.to_owned(),
        ]);
    }
    table.render()
}
