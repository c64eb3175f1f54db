//! `bellwether restore`: go back to a backup or a snapshot, or to an earlier moment of either journal.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_core::model::{Seq, Timestamp};
use bellwether_journal::{Chain, Head, Snapshot, state};
use bellwether_sdk::v1;
use bellwether_server::backup::{Restored, Unpacker, Until};
use clap::Args;
use prost::Message as _;
use serde_json::json;

use crate::archive::Backend;
use crate::backup;
use crate::exit::Verdict;
use crate::output;
use crate::serve::keep_to_ourselves;

/// Make a data directory from a backup or from another directory, as of its end or of an earlier moment.
///
/// Results, attempts, decisions, output and keys are those of that moment. The old directory is left as
/// it is; start the scheduler on the new one. What happened later is forgotten there, and workers drop
/// what they hold of it. A moment can be reached back to where the journal was last truncated.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// A file that `backup` wrote
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data_dir", "snapshot"])]
    backup: Option<PathBuf>,
    /// A file that `snapshot` wrote: the state alone, without a history
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data_dir", "to", "to_time"])]
    snapshot: Option<PathBuf>,
    /// A data directory; no scheduler may work on it
    #[arg(long, value_name = "DIR", required_unless_present_any = ["snapshot", "backup"])]
    data_dir: Option<PathBuf>,
    /// The last journal position to keep; a batch that became durable together is kept whole or not
    /// at all
    #[arg(long, value_name = "SEQ", conflicts_with = "to_time")]
    to: Option<u64>,
    /// The last moment to keep, as 2027-01-31T08:00:00Z
    #[arg(long, value_name = "TIME", value_parser = crate::client::moment)]
    to_time: Option<jiff::Timestamp>,
    /// The data directory to make; it must be empty or not be there
    #[arg(long, value_name = "DIR")]
    into: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    keep_to_ourselves();
    let into = &arguments.into;
    let restored = match (&arguments.backup, &arguments.snapshot, &arguments.data_dir) {
        (Some(file), _, _) => backup::unpack(file, into, arguments.until()),
        (None, Some(file), _) => from_snapshot(file, into),
        (None, None, Some(dir)) => from_directory(dir, into, arguments.until()),
        (None, None, None) => anyhow::bail!("give --backup, --data-dir or --snapshot"),
    };
    let restored = restored.with_context(|| format!("failed to make {}", into.display()))?;
    let (position, at) = (restored.head.seq.0, moment(restored.at));
    if arguments.json {
        let chain = restored.head.chain.to_string();
        output::print_json(&json!({ "position": position, "at": at, "chain": chain }))?;
    } else {
        let dir = into.display();
        output::print(&format!("{dir} has everything up to position {position}, of {at}\n"))?;
    }
    Ok(Verdict::Fine)
}

impl Arguments {
    fn until(&self) -> Until {
        match (self.to, self.to_time) {
            (Some(to), _) => Until::Position(Seq(to)),
            (None, Some(to)) => {
                let micros = u64::try_from(to.as_microsecond()).unwrap_or_default();
                Until::Time(Timestamp(micros))
            }
            (None, None) => Until::End,
        }
    }
}

fn from_snapshot(file: &Path, into: &Path) -> anyhow::Result<Restored> {
    let bytes =
        std::fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    let wrong = || format!("{} is not a snapshot", file.display());
    let chunk = v1::SnapshotChunk::decode(bytes.as_slice()).with_context(wrong)?;
    let mut engine = state::decode(&chunk.bytes).with_context(wrong)?;
    anyhow::ensure!(engine.last_seq() == Seq(chunk.seq), wrong());
    let chain: [u8; 32] = chunk.chain.as_ref().try_into().with_context(wrong)?;
    let head = Head { seq: Seq(chunk.seq), chain: Chain(chain) };
    // The files of keys lie where it was taken.
    engine.forget_moved_keys();
    let bytes = state::encode(engine.state()).into();
    Backend::usual().begin_at(into, &Snapshot { head, bytes })?;
    Ok(Restored { first: head.seq.next(), head, at: engine.state().event_time() })
}

fn from_directory(dir: &Path, into: &Path, until: Until) -> anyhow::Result<Restored> {
    let mut unpacker = Unpacker::new(into, until);
    let scratch = into.with_extension("copies");
    backup::from_directory(dir, &scratch, |part| Ok(unpacker.take(part)?))?;
    Ok(unpacker.finish()?)
}

/// As 2027-01-31T08:00:00.5Z.
pub(crate) fn moment(at: Timestamp) -> String {
    bellwether_wire::json::unit::moment(at.0).map_or_else(String::new, |moment| moment.to_string())
}
