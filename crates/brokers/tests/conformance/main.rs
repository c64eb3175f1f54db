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
use checks::Check;
use stage::Stage;

/// Runs every check against one backend, and prints the list. `BELLWETHER_CHECK` names one to run
/// alone.
async fn conforms(bed: impl Bed + 'static) -> Result<()> {
    let name = bed.name();
    let mut stage = Stage::new(Box::new(bed));
    let mut broken = Vec::new();
    let only = std::env::var("BELLWETHER_CHECK").ok();
    for (check, run) in chosen(only.as_deref())? {
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

/// All checks, or the one of this name.
fn chosen(only: Option<&str>) -> Result<Vec<&'static (&'static str, Check)>> {
    let all = checks::ALL.iter();
    let chosen: Vec<_> = all.filter(|(check, _)| only.is_none_or(|only| only == *check)).collect();
    let known = checks::ALL.iter().map(|(check, _)| *check).collect::<Vec<_>>().join(", ");
    let only = only.unwrap_or_default();
    anyhow::ensure!(!chosen.is_empty(), "BELLWETHER_CHECK={only} is none of the checks: {known}");
    Ok(chosen)
}

#[test]
fn a_mistyped_check_is_an_error_that_names_those_there_are() {
    let Err(error) = chosen(Some("replies_arive")) else { panic!("there is no such check") };
    let error = error.to_string();
    assert!(error.contains("replies_arive is none of the checks"), "{error}");
    assert!(error.contains("replies_arrive"), "{error}");
    assert_eq!(chosen(Some("replies_arrive")).expect("there is").len(), 1);
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
