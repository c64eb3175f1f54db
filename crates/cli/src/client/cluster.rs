//! `bellwether cluster`.

use std::path::{Path, PathBuf};

use bellwether_sdk::{ClientError, v1};
use bellwether_server::{ServerConfig, recover_shared_journal};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::membership::{self, Candidate};
use super::{Connect, block_on, verify};
use crate::exit::Verdict;
use crate::{output, serve};

/// Begin a cluster of schedulers, change who belongs to it, look at it, and say who leads.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Begin a cluster (`journal: raft`) with this scheduler as its only member. Once, on the first
    /// machine; then start it
    Init {
        #[command(flatten)]
        candidate: Candidate,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make this scheduler a member of a cluster that runs; then start it
    Join {
        /// Where a member listens for others (its cluster.listen), as 10.0.0.1:7072
        #[arg(value_name = "ADDRESS")]
        address: String,
        /// The file `raft/token` of a member's data directory, or a copy of it
        #[arg(long, value_name = "FILE")]
        cluster_token: PathBuf,
        #[command(flatten)]
        candidate: Candidate,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a member out for good, as one whose disk is lost. Refused if too few would be left that
    /// answer
    Remove {
        #[command(flatten)]
        connect: Connect,
        /// Its number, as `bellwether cluster status` shows it
        #[arg(value_name = "ID", value_parser = clap::value_parser!(u16).range(1..))]
        member: u16,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what each scheduler says: its part, who leads, and how far it has got. --server takes a
    /// list with commas. Exits with 1 if nobody leads
    Status {
        #[command(flatten)]
        connect: Connect,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Compare what the schedulers have made of the journal: at the same position they must have the same
    /// history and the same state. Exits with 1 if they do not, or while jobs keep them at different
    /// positions. Each reads all of its state and decides nothing meanwhile
    Verify {
        #[command(flatten)]
        connect: Connect,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Let another scheduler lead, as before the leader is stopped for long
    Transfer {
        #[command(flatten)]
        connect: Connect,
        /// The number of the one that is to lead; whoever is ready if none is given
        #[arg(value_name = "ID", default_value_t = 0)]
        to: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Append again what the shared journal has lost, from the copy that this scheduler keeps. Stop all
    /// schedulers first
    Recover {
        /// Settings of the scheduler whose copy counts; see scheduler.yaml
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    match arguments.action {
        Action::Init { candidate, json } => membership::init(&candidate, json),
        Action::Join { address, cluster_token, candidate, json } => {
            membership::join(&candidate, &address, &cluster_token, json)
        }
        Action::Remove { connect, member, json } => {
            block_on(membership::remove(connect, member, json))
        }
        Action::Status { connect, json } => block_on(status(connect, json)),
        Action::Verify { connect, json } => block_on(verify::run(connect, json)),
        Action::Transfer { connect, to, json } => block_on(transfer(connect, to, json)),
        Action::Recover { config, json } => recover(config.as_deref(), json),
    }
}

fn recover(file: Option<&Path>, json: bool) -> anyhow::Result<Verdict> {
    let config = ServerConfig::load(file, serve::variables(), &[])?;
    let recovered = recover_shared_journal(&config)?;
    let (from, to) = (recovered.from.0, recovered.to.0);
    if json {
        output::print_json(&json!({ "from": from, "to": to }))?;
    } else if from == to {
        output::print(&format!(
            "nothing is lost: the shared journal has all up to position {to}\n"
        ))?;
    } else {
        output::print(&format!("appended positions {} to {to}; start the schedulers\n", from + 1))?;
    }
    Ok(Verdict::Fine)
}

type Told = Result<v1::ListMembersResponse, ClientError>;

async fn status(connect: Connect, json: bool) -> anyhow::Result<Verdict> {
    let told = connect.client().await?.members().await;
    let leads = told.iter().any(|(_, told)| is_led(told));
    if json {
        output::print_json(&told.iter().map(as_json).collect::<Vec<_>>())?;
    } else {
        let mut text = format!(
            "{:<28} {:>6} {:<10} {:>10} {:>8}  leader\n",
            "scheduler", "member", "part", "position", "behind"
        );
        told.iter().for_each(|told| text.push_str(&line(told)));
        missing(&told).iter().for_each(|missing| text.push_str(missing));
        output::print(&text)?;
    }
    Ok(if leads { Verdict::Fine } else { Verdict::CheckFailed })
}

/// Members that were not asked or did not answer, as whoever knows most of them says.
fn missing(told: &[(String, Told)]) -> Vec<String> {
    let told: Vec<_> = told.iter().filter_map(|(_, told)| told.as_ref().ok()).collect();
    let Some(most) = told.iter().max_by_key(|told| told.members.len()) else { return Vec::new() };
    let is_missing = |member: &&v1::Member| !told.iter().any(|told| told.member == member.member);
    let line = |member: &v1::Member| {
        let votes = if member.votes { "votes" } else { "does not vote yet" };
        format!(
            "{:<28} {:>6} {votes}; it was not asked or does not answer\n",
            member.address, member.member
        )
    };
    most.members.iter().filter(is_missing).map(line).collect()
}

fn is_led(told: &Told) -> bool {
    let leader = told.as_ref().ok().and_then(|told| told.leader.as_ref());
    leader.is_some_and(|leader| !leader.grpc.is_empty())
}

fn line((address, told): &(String, Told)) -> String {
    let told = match told {
        Ok(told) => told,
        Err(error) => return format!("{address:<28} {error}\n"),
    };
    let leader = told.leader.clone().unwrap_or_default();
    let leader = match leader.grpc.as_str() {
        "" => "nobody".to_owned(),
        grpc => format!("{grpc} (epoch {})", leader.epoch),
    };
    format!(
        "{address:<28} {:>6} {:<10} {:>10} {:>8}  {leader}\n",
        told.member,
        told.standing().as_str(),
        told.applied,
        told.committed.saturating_sub(told.applied),
    )
}

fn as_json((address, told): &(String, Told)) -> Value {
    match told {
        Ok(told) => {
            let leader = told.leader.clone().unwrap_or_default();
            json!({
                "scheduler": address,
                "member": told.member,
                "part": told.standing().as_str(),
                "position": told.applied,
                "behind": told.committed.saturating_sub(told.applied),
                "leader": (!leader.grpc.is_empty()).then_some(leader.grpc),
                "epoch": leader.epoch,
                "members": told.members.iter().map(member_as_json).collect::<Vec<_>>(),
            })
        }
        Err(error) => json!({ "scheduler": address, "error": error.to_string() }),
    }
}

fn member_as_json(member: &v1::Member) -> Value {
    json!({ "member": member.member, "address": member.address, "votes": member.votes })
}

async fn transfer(connect: Connect, to: u32, json: bool) -> anyhow::Result<Verdict> {
    connect.client().await?.transfer(to).await?;
    if json {
        output::print_json(&json!({ "transferred": true }))?;
    } else {
        output::print(
            "the leader has stepped down; `bellwether cluster status` says who leads now\n",
        )?;
    }
    Ok(Verdict::Fine)
}
