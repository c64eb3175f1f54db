//! `bellwether restore`: go back to a snapshot, or to a point in the journal.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_core::Engine;
use bellwether_core::model::Seq;
use bellwether_journal::{Chain, Head, Snapshot, state};
use bellwether_sdk::v1;
use clap::Args;
use prost::Message as _;
use serde_json::json;

use crate::archive::{self, Backend};
use crate::exit::Verdict;
use crate::output;
use crate::serve::keep_to_ourselves;

/// Make a data directory with the state of a snapshot, or of an earlier position of a journal.
///
/// The old directory is left as it is; start the scheduler on the new one. What happened after the
/// position is forgotten there, and workers drop what they hold of it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A file that `snapshot` wrote
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data_dir", "to"])]
    snapshot: Option<PathBuf>,
    /// The journal to go back in; no scheduler may run on it
    #[arg(long, value_name = "DIR", required_unless_present = "snapshot")]
    data_dir: Option<PathBuf>,
    /// The last journal position to keep; a batch that became durable together is kept whole or not
    /// at all
    #[arg(long, value_name = "SEQ", requires = "data_dir")]
    to: Option<u64>,
    /// The data directory to make; it must be empty or not be there
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    keep_to_ourselves();
    let (backend, snapshot) = match (&arguments.snapshot, &arguments.data_dir) {
        (Some(file), _) => (Backend::usual(), from_file(file)?),
        (None, Some(dir)) => from_journal(dir, arguments.to.map(Seq))?,
        (None, None) => anyhow::bail!("give --snapshot or --data-dir"),
    };
    backend
        .begin_at(&arguments.into, &snapshot)
        .with_context(|| format!("failed to make {}", arguments.into.display()))?;
    let position = snapshot.head.seq.0;
    if arguments.json {
        let chain = snapshot.head.chain.to_string();
        output::print_json(&json!({ "position": position, "chain": chain }))?;
    } else {
        let dir = arguments.into.display();
        output::print(&format!("{dir} has the state at position {position}\n"))?;
    }
    Ok(Verdict::Fine)
}

fn from_file(file: &Path) -> anyhow::Result<Snapshot> {
    let bytes =
        std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    let wrong = || format!("{} is not a snapshot", file.display());
    let chunk = v1::SnapshotChunk::decode(bytes.as_slice()).with_context(wrong)?;
    let engine = state::decode(&chunk.bytes).with_context(wrong)?;
    anyhow::ensure!(engine.last_seq() == Seq(chunk.seq), wrong());
    let chain: [u8; 32] = chunk.chain.as_ref().try_into().with_context(wrong)?;
    Ok(snapshot(engine, Head { seq: Seq(chunk.seq), chain: Chain(chain) }))
}

fn from_journal(dir: &Path, to: Option<Seq>) -> anyhow::Result<(Backend, Snapshot)> {
    let backend = Backend::of(dir)?;
    let reader = backend.inspect(dir)?;
    let (mut engine, mut head) = archive::origin(reader.as_ref())?;
    if let Some(to) = to {
        anyhow::ensure!(
            head.seq <= to,
            "position {to} can't be reached: what lies before {} was truncated",
            head.seq
        );
    }
    for record in reader.read(head.seq.next())? {
        let record = record?;
        if to.is_some_and(|to| record.head().seq > to) {
            break;
        }
        for entry in &record.entries {
            engine.replay(entry);
        }
        head = record.head();
    }
    Ok((backend, snapshot(engine, head)))
}

/// Without the files of keys that lay beside the journal.
fn snapshot(mut engine: Engine, head: Head) -> Snapshot {
    engine.forget_moved_keys();
    Snapshot { head, bytes: state::encode(engine.state()).into() }
}
