//! `bellwether queue check` says what is wrong before a scheduler has to.

use std::process::Output;

use anyhow::{Context as _, Result, ensure};
use bellwether_bench::broker_server::{BrokerServer, Kind};
use bellwether_testbed::Ports;
use serde_json::Value;

use crate::site::bellwether;

async fn check(config: &str, more: &[&str]) -> Result<Output> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), config)?;
    let mut command = bellwether();
    command.args(["queue", "check", "--json", "--config"]).arg(file.path()).args(more);
    Ok(command.output().await?)
}

#[tokio::test]
async fn a_queue_that_works_is_said_to() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let server = BrokerServer::start(Kind::Sqlite, folder.path()).await?;
    let output = check(&format!("queue: {}", server.config()), &[]).await?;
    ensure!(output.status.code() == Some(0), "{output:?}");
    let reports: Value = serde_json::from_slice(&output.stdout)?;
    ensure!(reports[0]["queue"] == "default" && reports[0]["usable"] == true, "{reports}");
    Ok(())
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_with_the_way_out() -> Result<()> {
    for kind in [Kind::Redis, Kind::RabbitMq, Kind::Nats] {
        let closed = Ports::reserve()?;
        let (name, port) = (kind.name(), closed.first);
        let config = format!("queues: {{a: {{backend: {name}, port: {port}}}}}");
        let output = check(&config, &["--queue", "a"]).await?;
        ensure!(output.status.code() == Some(1), "{output:?}");
        let reports: Value = serde_json::from_slice(&output.stdout)?;
        ensure!(reports[0]["usable"] == false, "{reports}");
        let findings = reports[0]["findings"].as_array().context("findings")?;
        let bad = findings.iter().find(|finding| finding["verdict"] == "bad");
        let way_out = bad.and_then(|bad| bad["way_out"].as_str()).context("a way out")?;
        ensure!(!way_out.is_empty(), "{reports}");
    }
    Ok(())
}

#[tokio::test]
async fn settings_that_make_no_sense_are_another_matter() -> Result<()> {
    let unknown = check("queue: {backend: sqlite, pat: x}", &[]).await?;
    ensure!(unknown.status.code() == Some(3), "{unknown:?}");
    let stderr = String::from_utf8_lossy(&unknown.stderr).into_owned();
    ensure!(stderr.contains("did you mean queue.path?"), "{stderr}");
    let none = check("max_retry: 4", &[]).await?;
    ensure!(none.status.code() == Some(3), "{none:?}");
    let missing = check("queue: {backend: nats}", &["--queue", "b"]).await?;
    let stderr = String::from_utf8_lossy(&missing.stderr).into_owned();
    ensure!(stderr.contains("there is no queue b; the configured ones are: default"), "{stderr}");
    Ok(())
}
