//! Members that can't hear each other, on networks of their own, with TLS.

use std::time::Duration;

use anyhow::{Result, ensure};
use bellwether_bench::cluster::{Cluster, Ground, Grounds, Journal};
use bellwether_testbed::{Cut, PartedNetwork, cannot_run};

use crate::load::Load;
use crate::papers::Papers;
use crate::{binary, rounds};

const MEMBERS: u8 = 3;
const WORKERS: usize = 3;
/// Jobs that are taken between two faults.
const BETWEEN: usize = 90;

#[derive(Debug, Clone, Copy)]
enum Fault {
    /// The leader still hears clients, which may ask it.
    LeaderAmongMembers,
    LeaderFromAll,
    FollowerAmongMembers,
    /// The leader and one follower; the third hears both.
    LeaderFromOne,
}

const FAULTS: [Fault; 4] = [
    Fault::LeaderAmongMembers,
    Fault::FollowerAmongMembers,
    Fault::LeaderFromAll,
    Fault::LeaderFromOne,
];

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_done_twice_when_members_are_cut_off() -> Result<()> {
    let network = match PartedNetwork::new(MEMBERS) {
        Ok(network) => network,
        Err(error) => {
            cannot_run(&format!("networks that can be cut need root: {error}"));
            return Ok(());
        }
    };
    let addresses: Vec<_> =
        (0..MEMBERS).flat_map(|at| [network.clients(at), network.among(at)]).collect();
    let papers = Papers::new(&addresses).await?;
    let ground = |at| Ground {
        prefix: network.prefix(at).to_vec(),
        clients: network.clients(at).into(),
        peers: network.among(at).into(),
    };
    let grounds = Grounds {
        members: (0..MEMBERS).map(ground).collect(),
        settings: papers.settings(),
        security: papers.security(),
    };
    let cluster = Cluster::start_on(binary(), Journal::Raft, grounds).await?;
    let load = Load::new(&cluster)?;
    let _workers = load.workers(&cluster, WORKERS)?;
    let running = tokio::spawn(load.clone().run());
    for fault in FAULTS.into_iter().cycle().take(rounds(FAULTS.len(), 60)) {
        load.more(BETWEEN).await?;
        let leader = cluster.leader().await?;
        let (own, next) = (u8::try_from(leader)?, u8::try_from((leader + 1) % 3)?);
        match fault {
            Fault::LeaderAmongMembers => network.cut(own, Cut::Among)?,
            Fault::LeaderFromAll => network.cut(own, Cut::All)?,
            Fault::FollowerAmongMembers => network.cut(next, Cut::Among)?,
            Fault::LeaderFromOne => network.part(own, next)?,
        }
        if let Fault::LeaderAmongMembers | Fault::LeaderFromAll = fault {
            cluster.leader_but(Some(leader)).await?;
        }
        load.more(BETWEEN).await?;
        network.heal()?;
    }
    load.stop();
    running.await??;
    let jobs = load.verify().await?;
    ensure!(jobs >= BETWEEN, "only {jobs} jobs");
    tokio::time::timeout(Duration::from_secs(60), cluster.agree()).await??;
    Ok(())
}
