//! One list of promises for all queues, each held against the real server, which is started here as
//! a child process. Where a queue can't promise something by its nature, the check holds it to the
//! weaker promise, and says which.

mod bed;
mod checks;
mod own;
mod random;
mod servers;
mod stage;

use anyhow::Result;

use bed::Bed;
use stage::Stage;

/// Runs every check against one backend, and prints the list. `BELLWETHER_CHECK` names one to run
/// alone.
async fn conforms(bed: impl Bed + 'static) -> Result<()> {
    let name = bed.name();
    let mut stage = Stage::new(Box::new(bed));
    let mut broken = Vec::new();
    let only = std::env::var("BELLWETHER_CHECK").ok();
    if let Some(only) = &only {
        let known: Vec<&str> = checks::ALL.iter().map(|(check, _)| *check).collect();
        anyhow::ensure!(
            known.contains(&only.as_str()),
            "BELLWETHER_CHECK={only} is none of the checks, which are: {}",
            known.join(", ")
        );
    }
    for (check, run) in checks::ALL {
        if only.as_ref().is_some_and(|only| only != check) {
            continue;
        }
        let began = std::time::Instant::now();
        let verdict = match run(&mut stage).await {
            Ok(outcome) => format!("ok      {check}{outcome}"),
            Err(error) => {
                broken.push(check);
                format!("BROKEN  {check}: {error:#}")
            }
        };
        eprintln!("{name:9} {verdict} [{} ms]", began.elapsed().as_millis());
    }
    anyhow::ensure!(broken.is_empty(), "{name} breaks {broken:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_every_promise() -> Result<()> {
    conforms(servers::sqlite::Sqlite::new()?).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn redis_keeps_every_promise() -> Result<()> {
    conforms(servers::redis::Redis::start()?).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nats_keeps_every_promise() -> Result<()> {
    conforms(servers::nats::Nats::start()?).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rabbitmq_keeps_every_promise() -> Result<()> {
    conforms(servers::rabbitmq::RabbitMq::start()?).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zeromq_keeps_every_promise() -> Result<()> {
    conforms(servers::zeromq::ZeroMq::new()).await
}
