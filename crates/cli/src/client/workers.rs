//! `bellwether workers`, and the keys that speak for them.

use bellwether_core::model::NAMESPACE_DEFAULT;
use bellwether_sdk::v1;
use bellwether_wire::WorkerKey;
use bellwether_wire::json::handoff::bytes_from_hex;
use bellwether_wire::json::{Worker, hex};
use clap::{Args, Subcommand};
use serde_json::json;

use super::time_text::time_text;
use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;
use crate::paint::{Listing, Paint};

/// List workers, what they can and what they hold.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    list: List,
}

#[derive(Debug, Args)]
struct List {
    #[command(flatten)]
    connect: Connect,
    /// Those that are gone, too
    #[arg(long)]
    all: bool,
    /// Print JSON, one worker a line
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    Keys(Keys),
    Approve(Approve),
    Invite(Invite),
    Revoke(Revoke),
}

/// List the keys that speak for workers.
#[derive(Debug, Args)]
struct Keys {
    #[command(flatten)]
    connect: Connect,
    /// Print JSON, one key a line
    #[arg(long)]
    json: bool,
}

/// Let a key speak for a worker, and no other.
#[derive(Debug, Args)]
struct Approve {
    #[command(flatten)]
    connect: Connect,
    /// Id of the worker
    worker: String,
    /// Its public key, which `bellwether worker key` shows
    #[arg(value_parser = public_key)]
    key: WorkerKey,
    #[command(flatten)]
    terms: Terms,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Give out a token with which a worker joins: once, and within the hour.
#[derive(Debug, Args)]
struct Invite {
    #[command(flatten)]
    connect: Connect,
    /// Id of the worker
    worker: String,
    #[command(flatten)]
    terms: Terms,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Let nobody speak for a worker any more; what it holds is placed anew.
#[derive(Debug, Args)]
struct Revoke {
    #[command(flatten)]
    connect: Connect,
    /// Id of the worker
    worker: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Terms {
    /// A role that the worker may claim; any if none is given; may be given several times
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// A type of jobs that it may take; the same
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// The namespace that the key is for; with another than `default` it may be used nowhere yet
    #[arg(long, value_name = "NAME", default_value = "default")]
    namespace: String,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        match arguments.action {
            None => list(arguments.list).await?,
            Some(Action::Keys(arguments)) => keys(arguments).await?,
            Some(Action::Approve(arguments)) => approve(arguments).await?,
            Some(Action::Invite(arguments)) => invite(arguments).await?,
            Some(Action::Revoke(arguments)) => revoke(arguments).await?,
        }
        Ok(Verdict::Fine)
    })
}

async fn list(arguments: List) -> anyhow::Result<()> {
    let client = arguments.connect.client().await?;
    let workers = client.workers(arguments.all).await?;
    if arguments.json {
        return workers
            .into_iter()
            .try_for_each(|worker| output::print_json(&Worker::from(worker)));
    }
    let mut listing = Listing::new(&[
        "id", "status", "slots", "held", "completed", "failed", "load", "cpu", "memory",
        "last seen", "roles", "zone",
    ]);
    for worker in &workers {
        let spec = worker.spec.clone().unwrap_or_default();
        let beat = worker.beat.unwrap_or_default();
        let share = |permille: u32| output::percent(f64::from(permille) / 1e3).into();
        listing.row(vec![
            spec.id.into(),
            Paint::state(worker.status().as_str()),
            spec.slots.to_string().into(),
            worker.held.len().to_string().into(),
            worker.completed.to_string().into(),
            worker.failed.to_string().into(),
            share(beat.load_permille),
            share(beat.cpu_permille),
            share(beat.memory_permille),
            time_text(worker.last_seen).unwrap_or_default().into(),
            spec.roles.join(",").into(),
            spec.zone.into(),
        ]);
    }
    Ok(output::print(&listing.render())?)
}

async fn keys(arguments: Keys) -> anyhow::Result<()> {
    let bound = arguments.connect.client().await?.keys().await?;
    if arguments.json {
        return bound.into_iter().try_for_each(|bound| {
            let (key, standing) = (hex(&bound.key), bound.standing().as_str());
            let v1::KeyTerms { roles, types, namespace } = bound.terms.unwrap_or_default();
            output::print_json(&json!({
                "worker": bound.worker, "key": key, "standing": standing, "roles": roles,
                "types": types, "namespace": shown(&namespace),
            }))
        });
    }
    let mut listing = Listing::new(&["worker", "standing", "key", "roles", "types", "namespace"]);
    for bound in bound {
        let (key, standing) = (hex(&bound.key), bound.standing().as_str());
        let v1::KeyTerms { roles, types, namespace } = bound.terms.unwrap_or_default();
        listing.row(vec![
            bound.worker.into(),
            standing.into(),
            key.into(),
            roles.join(",").into(),
            types.join(",").into(),
            shown(&namespace).into(),
        ]);
    }
    Ok(output::print(&listing.render())?)
}

async fn approve(arguments: Approve) -> anyhow::Result<()> {
    let Approve { connect, worker, key, terms, json } = arguments;
    connect.client().await?.approve_key(&worker, key, terms.into()).await?;
    if json {
        return output::print_json(&json!({ "worker": worker, "key": key.to_string() }));
    }
    Ok(output::print(&format!("{key} speaks for {worker}\n"))?)
}

async fn invite(arguments: Invite) -> anyhow::Result<()> {
    let Invite { connect, worker, terms, json } = arguments;
    let token = connect.client().await?.invite_worker(&worker, terms.into()).await?;
    if json {
        return output::print_json(&json!({ "worker": worker, "join_token": token }));
    }
    Ok(output::print(&format!("{token}\n"))?)
}

async fn revoke(arguments: Revoke) -> anyhow::Result<()> {
    let Revoke { connect, worker, json } = arguments;
    connect.client().await?.revoke_key(&worker).await?;
    if json {
        return output::print_json(&json!({ "worker": worker, "revoked": true }));
    }
    Ok(output::print(&format!("nobody speaks for {worker} any more\n"))?)
}

/// Without a name it is the one that there is.
fn shown(namespace: &str) -> &str {
    if namespace.is_empty() { NAMESPACE_DEFAULT } else { namespace }
}

impl From<Terms> for v1::KeyTerms {
    fn from(Terms { roles, types, namespace }: Terms) -> v1::KeyTerms {
        v1::KeyTerms { roles, types, namespace }
    }
}

fn public_key(text: &str) -> Result<WorkerKey, String> {
    let bytes = bytes_from_hex(text).and_then(|bytes| bytes.try_into().ok());
    bytes.map(WorkerKey).ok_or_else(|| "a key is 64 hexadecimal digits".to_owned())
}
