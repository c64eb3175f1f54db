//! `bellwether demo`: everything at work in one process, on a temporary folder.

mod fleet;
mod runs;
mod several;
mod story;
mod view;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_sdk::Client;
use bellwether_server::{Server, ServerConfig};
use bellwether_wire::local_token;
use clap::Args;

use crate::exit::Verdict;
use fleet::Fleet;
use story::Story;
use view::View;

/// The load is fixed, so the demo ends by itself; this is for when something hangs.
const GIVE_UP_AFTER: Duration = Duration::from_secs(120);
const FRAME: Duration = Duration::from_millis(200);
/// The worker that is killed, when, and when it is back.
const VICTIM: usize = 1;
const KILL_AFTER: Duration = Duration::from_millis(2_500);
const BACK_AFTER: Duration = Duration::from_secs(5);

/// Watch a scheduler, four workers of different speeds and a mixed load of runs. One worker is
/// killed and comes back; no job is lost. With --cluster it is the scheduler that leads.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// So many schedulers, in processes of their own, of which the leader is killed on the way
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u8).range(3..=9))]
    cluster: Option<u8>,
    /// Print JSON instead of the view
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let runtime = crate::runtime::start()?;
    let verdict = runtime.block_on(async {
        match arguments.cluster {
            Some(schedulers) => several::show(arguments.json, usize::from(schedulers)).await,
            None => show(&arguments).await,
        }
    });
    runtime.shutdown_background();
    verdict
}

async fn show(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let folder = tempfile::tempdir().context("failed to make a temporary folder")?;
    let config = ServerConfig {
        data_dir: folder.path().join("data"),
        grpc: "127.0.0.1:0".parse()?,
        http: "127.0.0.1:0".parse()?,
        token_folders: local_token::folders(),
        ..ServerConfig::default()
    };
    let server = Server::start(config).await?;
    let address = format!("http://{}", server.grpc_address());
    let client = Client::connect(&address).await?;
    let mut fleet = Fleet::start(&address)?;
    let mut view = View::new(arguments.json);
    view.say(&format!("scheduler on {address}, four workers, {} jobs", runs::count()))?;

    let begun = Instant::now();
    let mut story = Story::default();
    story.submit(&client).await?;
    while !story.is_over() {
        anyhow::ensure!(begun.elapsed() < GIVE_UP_AFTER, "the demo does not come to its end");
        if begun.elapsed() > KILL_AFTER && fleet.kill(VICTIM) {
            view.say(&format!("{} is killed, with all that it runs", fleet.id(VICTIM)))?;
        }
        if begun.elapsed() > BACK_AFTER && fleet.revive(VICTIM)? {
            view.say(&format!("{} is back", fleet.id(VICTIM)))?;
        }
        story.look(&client).await?;
        view.draw(&story)?;
        tokio::time::sleep(FRAME).await;
    }
    let summary = story.summary(&client, begun.elapsed()).await?;
    view.end(&summary)?;
    fleet.stop().await?;
    server.shutdown().await;
    Ok(if summary.lost == 0 { Verdict::Fine } else { Verdict::CheckFailed })
}
