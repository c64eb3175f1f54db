//! `bellwether snapshot`: the whole state in a file.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use bellwether_wire::json::hex;
use clap::Args;
use prost::Message as _;
use serde_json::json;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Save the state of a running scheduler to a file that `restore` takes.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// The file to write
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        let snapshot = client.snapshot().await?;
        write(&arguments.file, &snapshot.encode_to_vec())
            .with_context(|| format!("failed to write {}", arguments.file.display()))?;
        let (seq, bytes) = (snapshot.seq, snapshot.bytes.len());
        if arguments.json {
            let chain = hex(&snapshot.chain);
            output::print_json(&json!({ "position": seq, "chain": chain, "bytes": bytes }))?;
        } else {
            let file = arguments.file.display();
            output::print(&format!("state at position {seq} saved to {file} ({bytes} bytes)\n"))?;
        }
        Ok(Verdict::Fine)
    })
}

/// A file that is there is whole and on the disk.
fn write(path: &std::path::Path, bytes: &[u8]) -> std::io::Result<()> {
    let unfinished = path.with_extension("unfinished");
    let mut file = File::create(&unfinished)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)
}
