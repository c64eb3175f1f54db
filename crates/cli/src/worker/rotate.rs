//! `bellwether worker key` and `bellwether worker rotate-key`: the key that workers of this user
//! prove themselves with.

use std::path::PathBuf;

use anyhow::Context as _;
use bellwether_sdk::worker::key;
use bellwether_sdk::worker::rotate_key;
use clap::Args;
use serde_json::json;

use crate::client::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Show the public key of workers of this user; it is made if there is none.
#[derive(Debug, Args)]
pub(crate) struct ShowKey {
    /// The file of the key; that of the user by default
    #[arg(long, env = "BELLWETHER_WORKER_KEY", value_name = "FILE")]
    key: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Let another key speak for workers: a new one is made, the old one signs for it, and it takes the
/// old one's place in the file.
///
/// Workers that run go on; they read the file when they connect again.
#[derive(Debug, Args)]
pub(crate) struct RotateKey {
    #[command(flatten)]
    connect: Connect,
    /// Ids of the workers that have this key
    #[arg(required = true, value_name = "WORKER")]
    workers: Vec<String>,
    /// The file of the key; that of the user by default
    #[arg(long, env = "BELLWETHER_WORKER_KEY", value_name = "FILE")]
    key: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn show(arguments: &ShowKey) -> anyhow::Result<Verdict> {
    let path = arguments.key.clone().map_or_else(key::default_key_file, Ok)?;
    let public = key::load_or_make(&path)?.public();
    if arguments.json {
        output::print_json(&json!({ "key": public.to_string(), "file": path }))?;
    } else {
        output::print(&format!("{public}\n"))?;
    }
    Ok(Verdict::Fine)
}

pub(super) fn rotate(arguments: RotateKey) -> anyhow::Result<Verdict> {
    block_on(async move {
        let path = arguments.key.map_or_else(key::default_key_file, Ok)?;
        let old = key::load(&path)?;
        // Kept before anybody is told of it: a key that nobody has any more is a lock without one.
        let next = path.with_extension("next");
        let new = key::load_or_make(&next)?;
        let security = arguments.connect.security()?;
        let server = &arguments.connect.server;
        for worker in &arguments.workers {
            let rotated = rotate_key(server, &security, worker, &old, &new).await;
            rotated.with_context(|| format!("failed to rotate the key of {worker}"))?;
        }
        std::fs::rename(&next, &path)
            .with_context(|| format!("failed to put the new key into {}", path.display()))?;
        let public = new.public().to_string();
        if arguments.json {
            output::print_json(&json!({ "workers": arguments.workers, "key": public }))?;
        } else {
            output::print(&format!("{public} speaks for {}\n", arguments.workers.join(", ")))?;
        }
        Ok(Verdict::Fine)
    })
}
