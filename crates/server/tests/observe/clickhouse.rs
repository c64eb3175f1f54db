//! A real ClickHouse takes rows, goes away, comes back, and remembers.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bellwether_server::config::ClickHouse as Config;
use bellwether_testbed::Ports;

use crate::child::Running;
use crate::fixture::Fixture;
use crate::web::{get, metrics, post, wait_for};
use crate::work::{self, Busy};

struct ClickHouse {
    running: Option<Running>,
    config_file: PathBuf,
    address: SocketAddr,
    _folder: tempfile::TempDir,
    _ports: Ports,
}

impl ClickHouse {
    async fn start() -> Result<ClickHouse> {
        let folder = tempfile::tempdir()?;
        let ports = Ports::reserve()?;
        let config_file = write_config(folder.path(), ports.first)?;
        let address = SocketAddr::from(([127, 0, 0, 1], ports.first));
        let mut server =
            ClickHouse { running: None, config_file, address, _folder: folder, _ports: ports };
        server.run().await?;
        Ok(server)
    }

    /// Starts it on the data that is there.
    async fn run(&mut self) -> Result<()> {
        let file = format!("--config-file={}", self.config_file.display());
        self.running = Some(Running::start(Command::new("clickhouse-server").arg(file))?);
        wait_for("clickhouse is ready", || async { get(self.address, "/ping").await.map(Some) })
            .await?;
        Ok(())
    }

    fn kill(&mut self) {
        self.running = None;
    }

    fn config(&self) -> Config {
        Config {
            url: format!("http://{}", self.address),
            flush_interval: Duration::from_millis(50),
            ..Config::default()
        }
    }

    async fn query(&self, query: &str) -> Result<String> {
        Ok(post(self.address, "/?database=bellwether", query).await?.trim_end().to_owned())
    }

    async fn number(&self, query: &str) -> Result<u64> {
        self.query(query).await?.parse().with_context(|| query.to_owned())
    }

    async fn becomes(&self, query: &str, wanted: &str) -> Result<()> {
        wait_for(&format!("{query} is {wanted}"), || async {
            Ok((self.query(query).await? == wanted).then_some(()))
        })
        .await
    }
}

fn write_config(folder: &Path, port: u16) -> Result<PathBuf> {
    let path = folder.display();
    let config = format!(
        "<yandex>
           <logger><level>warning</level><console>1</console></logger>
           <http_port>{port}</http_port><listen_host>127.0.0.1</listen_host>
           <path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path>
           <users_config>{path}/users.xml</users_config>
           <default_profile>default</default_profile>
           <default_database>default</default_database>
           <mark_cache_size>5368709120</mark_cache_size>
         </yandex>"
    );
    let users = "<yandex>
           <profiles><default></default></profiles>
           <users><default><password></password><networks><ip>::/0</ip></networks>
             <profile>default</profile><quota>default</quota></default></users>
           <quotas><default></default></quotas>
         </yandex>";
    std::fs::write(folder.join("users.xml"), users)?;
    let file = folder.join("config.xml");
    std::fs::write(&file, config)?;
    Ok(file)
}

async fn server(clickhouse: Config) -> Result<Fixture> {
    Fixture::with(|config| config.clickhouse = Some(clickhouse)).await
}

/// The value of a metric of the ClickHouse sink.
async fn counted(fixture: &Fixture, name: &str) -> Result<u64> {
    let metrics = metrics(&fixture.server).await?;
    let line = format!("bellwether_sink_{name}{{sink=\"clickhouse\"}} ");
    let value = metrics.lines().find_map(|found| found.strip_prefix(&line));
    value.context("no such metric")?.parse().context("not a number")
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_and_executions_are_written_once() -> Result<()> {
    let clickhouse = ClickHouse::start().await?;
    let mut fixture = server(clickhouse.config()).await?;
    let worker = Busy::start(&fixture, "w").await?;
    work::run(&mut fixture, "resize", "a", 20).await?;
    work::run(&mut fixture, "broken", "b", 1).await?;
    clickhouse.becomes("SELECT count() FROM decisions FINAL", "22").await?;
    clickhouse.becomes("SELECT count() FROM executions FINAL", "22").await?;
    clickhouse.becomes("SELECT groupArray(version) FROM schema_versions", "[1,2]").await?;
    let row = "SELECT type, worker, outcome, attempt, started_us >= offered_us, ended_us > submitted_us, \
               length(result_hash) FROM executions WHERE job_id = 'a-7'";
    assert_eq!(clickhouse.query(row).await?, "resize\tw\tcompleted\t1\t1\t1\t64");
    let failed = "SELECT attempt, outcome, cause, error FROM executions FINAL \
                  WHERE job_id = 'b-0' ORDER BY attempt";
    let wanted = "1\tfailed\tfailed\tas it should\n2\tfailed\tfailed\tas it should";
    assert_eq!(clickhouse.query(failed).await?, wanted);
    let joined = "SELECT count() FROM (SELECT position FROM decisions FINAL) ANY INNER JOIN \
                  (SELECT token AS position FROM executions FINAL) USING position";
    assert_eq!(clickhouse.query(joined).await?, "22");

    // A restart, a migration from the first version, and not one row more.
    for statement in [
        "DROP TABLE schema_versions",
        "CREATE TABLE schema_versions (version UInt32, applied_at DateTime DEFAULT now()) \
         ENGINE = MergeTree() ORDER BY version",
        "INSERT INTO schema_versions (version) VALUES (1)",
        "ALTER TABLE executions DROP COLUMN trace_id",
    ] {
        clickhouse.query(statement).await?;
    }
    drop(worker);
    let mut fixture = fixture.restart().await?;
    let _worker = Busy::start(&fixture, "w").await?;
    work::run(&mut fixture, "resize", "c", 3).await?;
    clickhouse.becomes("SELECT count() FROM executions FINAL", "25").await?;
    let versions =
        "SELECT groupArray(version) FROM (SELECT version FROM schema_versions ORDER BY version)";
    assert_eq!(clickhouse.query(versions).await?, "[1,2]");
    let all = clickhouse.number("SELECT count() FROM decisions").await?;
    assert_eq!((all, counted(&fixture, "dropped_total").await?), (25, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_that_were_not_sent_before_a_crash_are_sent_after_it() -> Result<()> {
    let mut clickhouse = ClickHouse::start().await?;
    let mut fixture = server(clickhouse.config()).await?;
    let worker = Busy::start(&fixture, "w").await?;
    work::run(&mut fixture, "resize", "a", 5).await?;
    clickhouse.becomes("SELECT count() FROM executions FINAL", "5").await?;
    clickhouse.kill();
    work::run(&mut fixture, "resize", "b", 5).await?;
    drop(worker);
    // The last snapshot is written at the end; without it the state is that of a crash.
    let data = fixture.config.data_dir.clone();
    let fixture = fixture.restart_after(move || remove_snapshots(&data)).await?;
    clickhouse.run().await?;
    clickhouse.becomes("SELECT count() FROM executions FINAL", "10").await?;
    clickhouse.becomes("SELECT count() FROM decisions FINAL", "10").await?;
    drop(fixture);
    Ok(())
}

fn remove_snapshots(data: &Path) {
    for file in std::fs::read_dir(data).expect("the data directory is there").flatten() {
        if file.file_name().to_string_lossy().starts_with("snapshot") {
            std::fs::remove_file(file.path()).expect("it was just listed");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_clickhouse_changes_nothing_else_and_costs_what_is_counted() -> Result<()> {
    let mut clickhouse = ClickHouse::start().await?;
    let config = Config { buffer_rows: 300, ..clickhouse.config() };
    let mut fixture = server(config).await?;
    let _workers = (Busy::start(&fixture, "w1").await?, Busy::start(&fixture, "w2").await?);
    work::run(&mut fixture, "resize", "before", 100).await?;
    clickhouse.becomes("SELECT count() FROM executions FINAL", "100").await?;
    // Rows whose answer is under way when it dies would be in the table and counted as dropped.
    wait_for("their delivery is known", || async {
        Ok((counted(&fixture, "waiting").await? == 0).then_some(()))
    })
    .await?;
    clickhouse.kill();
    // Every job completes, twice as many rows as may wait are made.
    work::run(&mut fixture, "resize", "away", 300).await?;
    wait_for("rows were dropped", || async {
        Ok((counted(&fixture, "dropped_total").await? >= 300).then_some(()))
    })
    .await?;
    clickhouse.run().await?;
    work::run(&mut fixture, "resize", "after", 100).await?;
    wait_for("all rows are accounted for", || async {
        let decisions = clickhouse.number("SELECT count() FROM decisions FINAL").await?;
        let executions = clickhouse.number("SELECT count() FROM executions FINAL").await?;
        let dropped = counted(&fixture, "dropped_total").await?;
        let waiting = counted(&fixture, "waiting").await?;
        Ok((waiting == 0 && decisions + executions + dropped == 1_000).then_some(()))
    })
    .await?;
    assert!(counted(&fixture, "failures_total").await? > 0);
    let after = "SELECT count() FROM executions FINAL WHERE job_id LIKE 'after-%'";
    assert_eq!(clickhouse.number(after).await?, 100, "the newest rows are kept");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_scheduler_starts_with_what_clickhouse_remembers() -> Result<()> {
    let clickhouse = ClickHouse::start().await?;
    let mut first = server(clickhouse.config()).await?;
    let worker = Busy::start(&first, "w").await?;
    work::run(&mut first, "resize", "old", 30).await?;
    clickhouse.becomes("SELECT count() FROM executions FINAL", "30").await?;
    drop(worker);
    first.server.shutdown().await;

    let mut second = server(clickhouse.config()).await?;
    let _worker = Busy::start(&second, "other").await?;
    work::run(&mut second, "resize", "new", 1).await?;
    work::run(&mut second, "never_seen", "unknown", 1).await?;
    clickhouse.becomes("SELECT count() FROM executions FINAL", "32").await?;
    let known = "SELECT predicted_us FROM decisions WHERE job_id = 'new-0'";
    assert!(clickhouse.number(known).await? < 1_000_000, "it remembers milliseconds");
    let unknown = "SELECT predicted_us FROM decisions WHERE job_id = 'unknown-0'";
    assert_eq!(clickhouse.number(unknown).await?, 5_000_000, "the default");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn without_clickhouse_everything_else_goes_on() -> Result<()> {
    let ports = Ports::reserve()?;
    let nobody = format!("http://127.0.0.1:{}", ports.first);
    let mut fixture = server(Config { url: nobody, ..Config::default() }).await?;
    let _worker = Busy::start(&fixture, "w").await?;
    work::run(&mut fixture, "resize", "a", 10).await?;
    wait_for("a failure is counted", || async {
        Ok((counted(&fixture, "failures_total").await? > 0).then_some(()))
    })
    .await?;
    assert_eq!(counted(&fixture, "waiting").await?, 20);
    Ok(())
}
