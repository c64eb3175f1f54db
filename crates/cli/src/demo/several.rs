//! The same with several schedulers, the leader of which is killed on the way.

use std::time::Instant;

use bellwether_bench::cluster::{Cluster, Journal};

use super::fleet::Fleet;
use super::story::Story;
use super::view::View;
use super::{FRAME, GIVE_UP_AFTER, KILL_AFTER, runs};
use crate::exit::Verdict;

pub(super) async fn show(json: bool, schedulers: usize) -> anyhow::Result<Verdict> {
    let mut cluster = Cluster::start(&std::env::current_exe()?, Journal::Raft, schedulers).await?;
    let client = cluster.client()?;
    let fleet = Fleet::start(&cluster.addresses())?;
    let mut view = View::new(json);
    let (addresses, jobs) = (cluster.addresses(), runs::count());
    view.say(&format!("{schedulers} schedulers on {addresses}, four workers, {jobs} jobs"))?;

    let begun = Instant::now();
    let mut story = Story::default();
    story.submit(&client).await?;
    let mut killed = false;
    while !story.is_over() {
        anyhow::ensure!(begun.elapsed() < GIVE_UP_AFTER, "the demo does not come to its end");
        if begun.elapsed() > KILL_AFTER && !std::mem::replace(&mut killed, true) {
            let leader = cluster.leader().await?;
            let died = Instant::now();
            cluster.kill(leader).await?;
            let next = cluster.leader().await?;
            let (old, new) = (cluster.address(leader), cluster.address(next));
            let gap = died.elapsed().as_millis();
            view.say(&format!("the leader {old} is killed; {new} leads after {gap} ms"))?;
        }
        story.look(&client).await?;
        view.draw(&story)?;
        tokio::time::sleep(FRAME).await;
    }
    let summary = story.summary(&client, begun.elapsed()).await?;
    view.end(&summary)?;
    fleet.stop().await?;
    Ok(if summary.lost == 0 { Verdict::Fine } else { Verdict::CheckFailed })
}
