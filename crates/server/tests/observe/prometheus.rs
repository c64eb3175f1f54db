//! A real Prometheus scrapes a real server, and everything that the dashboard and the alerts ask
//! for is there.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use bellwether_brokers::{Backend, Channel, Outgoing, Settings, Side, SqliteSettings};
use bellwether_core::model::Strategy;
use bellwether_server::config::{Published, Queue};
use bellwether_testbed::Ports;
use serde_json::Value;

use crate::child::Running;
use crate::fixture::Fixture;
use crate::web::{encoded, get, metrics, wait_for};
use crate::work::{self, Busy};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name)
}

/// One that needs no server.
fn queue(folder: &Path) -> Settings {
    Settings::new(Backend::Sqlite(SqliteSettings { path: folder.join("queue.db") }))
}

#[tokio::test(flavor = "multi_thread")]
async fn promtool_finds_nothing_wrong_with_the_metrics() -> Result<()> {
    let mut fixture = Fixture::with(|config| {
        let settings = queue(&config.data_dir);
        config.queues.push(Queue {
            name: "team".to_owned(),
            settings,
            events: Published::All,
            dependency_wait: std::time::Duration::ZERO,
            trusted: false,
        });
    })
    .await?;
    let _worker = Busy::start(&fixture, "w").await?;
    let broker = bellwether_brokers::open(Settings {
        side: Side::Outside,
        ..queue(&fixture.folder.path().join("data"))
    })?;
    let message = |body: &'static str| Outgoing::new(Channel::Jobs, body);
    broker.publish(vec![message(r#"{"type": "resize"}"#), message("no job")]).await?;
    work::run(&mut fixture, "resize", "a", 3).await?;
    work::run(&mut fixture, "broken", "b", 1).await?;
    let server = &fixture.server;
    let metrics = wait_for("the metrics include the failure", || async {
        let metrics = metrics(server).await?;
        let all = [
            "bellwether_jobs_ended_total{type=\"broken\",outcome=\"dead_lettered\"} 1\n",
            "bellwether_jobs_ended_total{type=\"resize\",outcome=\"completed\"} 4\n",
            "bellwether_queue_messages_total{queue=\"team\",result=\"dead_lettered\"} 1\n",
            "bellwether_queue_messages_held{queue=\"team\"} 0\n",
            "bellwether_queue_events_lag{queue=\"team\"} 0\n",
        ];
        Ok(all.iter().all(|line| metrics.contains(line)).then_some(metrics))
    })
    .await?;
    for line in [
        "bellwether_queue_messages_total{queue=\"team\",result=\"taken\"} 1",
        "bellwether_queue_failures_total{queue=\"team\"} 0",
        "bellwether_retries_total{type=\"broken\"} 1",
        "bellwether_worker_attempts_total{worker=\"w\",outcome=\"failed\"} 2",
        "bellwether_attempts_failed_total{cause=\"failed\"} 2",
        "bellwether_job_seconds_count{type=\"resize\"} 4",
        "bellwether_breaker_state{state=\"closed\"} 1",
        "bellwether_worker_slots{worker=\"w\"} 8",
        "bellwether_jobs_live 0",
    ] {
        assert!(metrics.contains(&format!("\n{line}\n")), "{line} is not in\n{metrics}");
    }
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    promtool.stdin.take().context("piped")?.write_all(metrics.as_bytes())?;
    let found = promtool.wait_with_output()?;
    let said = String::from_utf8_lossy(&found.stdout) + String::from_utf8_lossy(&found.stderr);
    assert!(found.status.success() && said.trim().is_empty(), "{said}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn types_past_the_bound_share_a_label() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let jobs = (0..80).map(|number| {
        bellwether_wire::v1::JobSpec::new(format!("j{number}"), format!("type-{number}"))
    });
    fixture.submit(jobs.collect()).await?;
    let server = &fixture.server;
    wait_for("80 jobs in 51 labels", || async {
        let metrics = metrics(server).await?;
        let submitted = "bellwether_jobs_submitted_total{";
        let labels = metrics.lines().filter(|line| line.starts_with(submitted)).count();
        let others = metrics.contains("bellwether_jobs_submitted_total{type=\"other\"} 30\n");
        Ok((others && labels == 51).then_some(()))
    })
    .await
}

#[test]
fn the_alert_rules_do_what_their_test_says() -> Result<()> {
    let check = Command::new("promtool")
        .args(["test", "rules", "alerts_test.yaml"])
        .current_dir(docs("prometheus"))
        .output()?;
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_dashboard_and_the_alerts_ask_for_what_is_there() -> Result<()> {
    let shadow = Some(Strategy::RoundRobin);
    let mut fixture = Fixture::with(|config| config.scheduling.shadow = shadow).await?;
    let _workers = (Busy::start(&fixture, "w1").await?, Busy::start(&fixture, "w2").await?);
    work::run(&mut fixture, "resize", "first", 10).await?;
    work::run(&mut fixture, "broken", "failing", 1).await?;
    let (_prometheus, _ports, address) = start_prometheus(&fixture).await?;
    scraped(address, 10).await?;
    work::run(&mut fixture, "resize", "second", 10).await?;
    scraped(address, 20).await?;

    let names = query_json(address, "/api/v1/label/__name__/values").await?;
    let names: BTreeSet<&str> =
        names["data"].as_array().context("names")?.iter().filter_map(Value::as_str).collect();
    let dashboard: Value =
        serde_json::from_str(&std::fs::read_to_string(docs("grafana/bellwether.json"))?)?;
    let mut expressions = 0;
    for target in dashboard["panels"]
        .as_array()
        .context("panels")?
        .iter()
        .filter_map(|panel| panel["targets"].as_array())
        .flatten()
    {
        let expression = target["expr"].as_str().context("an expression")?;
        let expression = expression.replace("$instance", ".*").replace("$__rate_interval", "1m");
        named_are_known(&expression, &names)?;
        let path = format!("/api/v1/query?query={}", encoded(&expression));
        let answer = query_json(address, &path).await?;
        let result = answer["data"]["result"].as_array();
        ensure!(result.is_some_and(|result| !result.is_empty()), "no data for {expression}");
        expressions += 1;
    }
    assert!(expressions > 50, "{expressions}");
    check_rules(address, &names).await
}

async fn start_prometheus(fixture: &Fixture) -> Result<(Running, Ports, SocketAddr)> {
    let folder = fixture.folder.path();
    let ports = Ports::reserve()?;
    let port = ports.first;
    let template = std::fs::read_to_string(docs("prometheus/prometheus.yaml"))?;
    let token = fixture.config.data_dir.join("token");
    let config = template
        .replace("127.0.0.1:7071", &fixture.server.http_address().to_string())
        .replace("/etc/prometheus/bellwether.token", &token.display().to_string())
        .replace("interval: 5s", "interval: 100ms")
        .replace("alerts.yaml", &docs("prometheus/alerts.yaml").display().to_string());
    let file = folder.join("prometheus.yaml");
    std::fs::write(&file, config)?;
    let running = Running::start(
        Command::new("prometheus")
            .arg(format!("--config.file={}", file.display()))
            .arg(format!("--storage.tsdb.path={}", folder.join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}")),
    )?;
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    wait_for("prometheus is ready", || async { get(address, "/-/ready").await.map(Some) }).await?;
    Ok((running, ports, address))
}

/// Waits until Prometheus has seen so many completed jobs, at least twice.
async fn scraped(address: SocketAddr, jobs: usize) -> Result<()> {
    let query = format!(
        "sum(bellwether_jobs_ended_total{{outcome=\"completed\"}}) >= {jobs} \
         and sum(count_over_time(bellwether_jobs_live[1m])) >= 3"
    );
    let path = format!("/api/v1/query?query={}", encoded(&query));
    wait_for(&query, || async {
        let answer = query_json(address, &path).await?;
        let seen = answer["data"]["result"].as_array().is_some_and(|seen| !seen.is_empty());
        Ok(seen.then_some(()))
    })
    .await
}

async fn query_json(address: SocketAddr, path: &str) -> Result<Value> {
    let answer: Value = serde_json::from_str(&get(address, path).await?)?;
    ensure!(answer["status"] == "success", "{path}: {answer}");
    Ok(answer)
}

fn named_are_known(expression: &str, known: &BTreeSet<&str>) -> Result<()> {
    let words = expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    for name in words.filter(|w| w.starts_with("bellwether_") || w.starts_with("process_")) {
        ensure!(known.contains(name), "{name} of {expression} does not exist");
    }
    Ok(())
}

async fn check_rules(address: SocketAddr, names: &BTreeSet<&str>) -> Result<()> {
    let rules = wait_for("all rules were evaluated", || async {
        let answer = query_json(address, "/api/v1/rules").await?;
        let rules = answer["data"]["groups"][0]["rules"].as_array().context("rules")?.clone();
        let evaluated = rules.iter().all(|rule| rule["health"] != "unknown");
        Ok((evaluated && !rules.is_empty()).then_some(rules))
    })
    .await?;
    for rule in rules {
        ensure!(rule["health"] == "ok", "{rule}");
        named_are_known(rule["query"].as_str().context("a query")?, names)?;
    }
    Ok(())
}
