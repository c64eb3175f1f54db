//! `bellwether cluster init`, `join` and `remove`: who belongs to a cluster.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bellwether_server::{Enrolled, ServerConfig, begin_cluster, join_cluster};
use clap::Args;
use serde_json::json;

use super::Connect;
use crate::exit::Verdict;
use crate::{output, serve};

/// The scheduler that is to become a member, as it will be served.
#[derive(Debug, Args)]
pub(crate) struct Candidate {
    /// Settings of this scheduler; see scheduler.yaml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where it will keep the journal
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address for other members (cluster.listen)
    #[arg(long, value_name = "ADDRESS")]
    peers: Option<SocketAddr>,
}

impl Candidate {
    fn config(&self) -> anyhow::Result<ServerConfig> {
        let data_dir = self.data_dir.as_ref().map(|dir| dir.display().to_string());
        let given = [
            ("data_dir", data_dir),
            ("cluster.listen", self.peers.map(|address| address.to_string())),
        ];
        let overrides: Vec<(String, String)> =
            given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
        Ok(ServerConfig::load(self.config.as_deref(), serve::variables(), &overrides)?)
    }
}

pub(super) fn init(candidate: &Candidate, json: bool) -> anyhow::Result<Verdict> {
    serve::keep_to_ourselves();
    let enrolled = begin_cluster(&candidate.config()?)?;
    let Enrolled { address, token_file, .. } = &enrolled;
    let next = format!(
        "member 1 of a new cluster, for other members at {address}\n\
         start it with `bellwether serve`; others join with\n  \
         bellwether cluster join {address} --cluster-token {}\n",
        token_file.display()
    );
    tell(&enrolled, &next, json)
}

pub(super) fn join(
    candidate: &Candidate,
    address: &str,
    token_file: &Path,
    json: bool,
) -> anyhow::Result<Verdict> {
    serve::keep_to_ourselves();
    let enrolled = join_cluster(&candidate.config()?, address, token_file)?;
    let next = format!(
        "member {}, for other members at {}\n\
         start it with `bellwether serve`: it takes in the journal, and votes once it has\n",
        enrolled.member, enrolled.address
    );
    tell(&enrolled, &next, json)
}

fn tell(enrolled: &Enrolled, next: &str, json: bool) -> anyhow::Result<Verdict> {
    if json {
        let Enrolled { member, address, token_file } = enrolled;
        output::print_json(&json!({
            "member": member,
            "address": address,
            "token_file": token_file,
        }))?;
    } else {
        output::print(next)?;
    }
    Ok(Verdict::Fine)
}

pub(super) async fn remove(connect: Connect, member: u16, json: bool) -> anyhow::Result<Verdict> {
    connect.client().await?.remove_member(member.into()).await?;
    if json {
        output::print_json(&json!({ "removed": member }))?;
    } else {
        output::print(&format!(
            "member {member} is out; stop it. To take part again it joins anew, with an empty data \
             directory\n"
        ))?;
    }
    Ok(Verdict::Fine)
}
