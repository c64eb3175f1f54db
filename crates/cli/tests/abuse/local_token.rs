//! The token that a scheduler makes by itself: found by its user, and by nobody else.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Result, ensure};
use bellwether_sdk::{Client, ClientError, NewJob, Outcome, Worker, WorkerError};
use bellwether_server::edges::security::tokens::{Holder, Role, issue};
use bellwether_testbed::{cannot_run, signal, write_secret};
use rustix::process::Signal;
use tokio::process::Command;

use crate::plain_http::send;
use crate::site::{BACKOFF, Site, Start, eventually};

/// `nobody`, everywhere.
const SOMEBODY_ELSE: u32 = 65_534;
const HOST: (&str, &str) = ("host", "localhost");

fn command(site: &Site, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.args(words).env("BELLWETHER_SERVER", site.url()).kill_on_drop(true);
    command
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn its_user_needs_to_know_nothing_and_whoever_has_no_token_gets_401() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    site.client()?.submit(NewJob::new("t").id("a")).await?;
    ensure!(command(&site, &["job", "a"]).output().await?.status.success());
    let header = command(&site, &["token", "header"]).output().await?;
    ensure!(
        String::from_utf8(header.stdout)?.trim() == format!("authorization: {}", site.bearer()?)
    );
    let ours = [HOST, ("authorization", &*site.bearer()?)];
    ensure!(send(site.http, "GET", "/scheduler/status", &ours, b"").await?.status == 200);
    ensure!(send(site.http, "GET", "/scheduler/status", &[HOST], b"").await?.status == 401);
    ensure!(send(site.http, "GET", "/healthz", &[HOST], b"").await?.status == 200);
    ensure!(send(site.http, "GET", "/metrics", &[HOST], b"").await?.status == 401);
    // The same token after a restart, and after a crash.
    let before = site.bearer()?;
    scheduler.kill().await?;
    let scheduler = site.start().await?;
    ensure!(site.bearer()? == before);
    scheduler.stop().await
}

/// Started by root, because only root can be somebody else.
#[tokio::test(flavor = "multi_thread")]
async fn another_user_of_the_machine_is_not_let_in() -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        cannot_run("only root can start a process of another user");
        return Ok(());
    }
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let open = tempfile::tempdir()?;
    let binary = open.path().join("bellwether");
    std::fs::copy(env!("CARGO_BIN_EXE_bellwether"), &binary)?;
    make_open(open.path())?;
    // Where a worker of theirs keeps its key.
    std::os::unix::fs::chown(open.path(), Some(SOMEBODY_ELSE), None)?;
    for words in [&["status"][..], &["submit", "--type", "t"], &["worker", "--id", "spy"]] {
        let mut command = Command::new(&binary);
        command.args(words).env("BELLWETHER_SERVER", site.url()).uid(SOMEBODY_ELSE);
        command.env("HOME", open.path()).env_remove("XDG_STATE_HOME");
        let output = command.current_dir("/").kill_on_drop(true).output().await?;
        let stderr = told(&output);
        ensure!(output.status.code() == Some(3), "{words:?}: {stderr}");
        ensure!(stderr.contains("this needs a token"), "{words:?}: {stderr}");
    }
    scheduler.stop().await?;
    // Nor are they given the token when they listen where the scheduler was.
    let script = "import socket,sys\ns=socket.create_server((sys.argv[1],int(sys.argv[2])))\n\
                  print('listens',flush=True)\nc,_=s.accept()\nprint(c.recv(4096))";
    let address = site.address();
    let (ip, port) = (address.ip().to_string(), address.port().to_string());
    let mut thief = Command::new("python3");
    thief.args(["-c", script, &ip, &port]).uid(SOMEBODY_ELSE).current_dir("/");
    let mut thief = thief.stdout(std::process::Stdio::piped()).kill_on_drop(true).spawn()?;
    let mut said = [0; 8];
    let stdout = thief.stdout.as_mut().expect("it is piped");
    tokio::io::AsyncReadExt::read_exact(stdout, &mut said).await?;
    let output = command(&site, &["token", "show"]).output().await?;
    ensure!(output.stdout.is_empty() && told(&output).contains("uid 65534"), "{}", told(&output));
    let denied = Client::builder(site.url()).backoff(BACKOFF).lazy()?.status().await;
    ensure!(matches!(denied, Err(ClientError::Denied(_))), "{denied:?}");
    thief.kill().await?;
    Ok(())
}

/// A folder and what is in it, for everybody.
fn make_open(folder: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let open = std::fs::Permissions::from_mode(0o755);
    for entry in std::fs::read_dir(folder)? {
        std::fs::set_permissions(entry?.path(), open.clone())?;
    }
    Ok(std::fs::set_permissions(folder, open)?)
}

#[tokio::test(flavor = "multi_thread")]
async fn without_auth_it_is_written_down_told_and_for_loopback_alone() -> Result<()> {
    let site = Site::new(&[("auth", "off")])?;
    let scheduler = site.start().await?;
    ensure!(send(site.http, "GET", "/scheduler/status", &[HOST], b"").await?.status == 200);
    scheduler.stop().await?;
    let log = std::fs::read_to_string(site.folder().join("stderr"))?;
    ensure!(log.contains("WARN") && log.contains("auth is off"), "{log}");

    let exposed = [
        vec![("auth", "off"), ("http", "0.0.0.0:0")],
        vec![
            ("auth", "off"),
            ("queue.backend", "zeromq"),
            ("queue.host", "0.0.0.0"),
            ("queue.exposed", "true"),
        ],
    ];
    for settings in exposed {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_bellwether"));
        serve.args(["serve", "--grpc", "127.0.0.1:0", "--data-dir"]).arg(&site.data_dir);
        serve.envs(settings.iter().map(|(key, value)| (variable(key), value)));
        let output = serve.kill_on_drop(true).output().await?;
        let stderr = told(&output);
        ensure!(output.status.code() == Some(3), "{settings:?}: {stderr}");
        ensure!(stderr.contains("auth is off"), "{settings:?}: {stderr}");
    }
    Ok(())
}

fn variable(key: &str) -> String {
    format!("BELLWETHER_{}", key.to_uppercase().replace('.', "_"))
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_come_and_go_without_a_restart() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let (token, line) = issue(&Holder::new("ci", &[Role::Viewer]))?;
    let bearer = format!("Bearer {token}");
    let status = async || {
        let headers = [HOST, ("authorization", bearer.as_str())];
        anyhow::Ok(send(site.http, "GET", "/scheduler/status", &headers, b"").await?.status)
    };
    ensure!(status().await? == 401);
    let file: PathBuf = site.data_dir.join("tokens");
    // Noticed by itself ...
    write_secret(&file, format!("{line}\n"))?;
    eventually("the token is known", || async { Ok((status().await? == 200).then_some(())) })
        .await?;
    // ... and when it is told. What can't be read changes nothing.
    write_secret(&file, "nonsense\n")?;
    signal(scheduler.id()?, Signal::HUP)?;
    eventually("the slip is told", || async {
        let log = std::fs::read_to_string(site.folder().join("stderr"))?;
        Ok(log.contains("it stays as it was").then_some(()))
    })
    .await?;
    ensure!(status().await? == 200);
    write_secret(&file, format!("{line} expires=2020-01-01T00:00:00Z\n"))?;
    signal(scheduler.id()?, Signal::HUP)?;
    eventually("it has expired", || async { Ok((status().await? == 401).then_some(())) }).await?;
    ensure!(site.client()?.status().await.is_ok(), "the scheduler's own is not touched");
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_whose_token_is_taken_back_is_sent_away() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let (token, line) = issue(&Holder::new("fleet", &[Role::Worker]))?;
    let file = site.data_dir.join("tokens");
    write_secret(&file, format!("{line}\n"))?;
    signal(scheduler.id()?, Signal::HUP)?;
    let client = site.client()?;
    let mut worker = eventually("the token is known", || async {
        let worker = Worker::builder(site.url()).id("w").token(&token).backoff(BACKOFF);
        let mut worker = worker.job("t", async |_| Outcome::done("")).start()?;
        let joined = eventually("it joins or is refused", || async {
            Ok(client.workers(false).await?.iter().any(|worker| worker.connected).then_some(()))
        });
        tokio::select! {
            joined = joined => joined.map(|()| Some(worker)),
            _ = worker.ended() => Ok(None),
        }
    })
    .await?;
    write_secret(&file, "")?;
    signal(scheduler.id()?, Signal::HUP)?;
    let ended = worker.ended().await;
    let refused =
        matches!(&ended, Err(WorkerError::Refused { source: ClientError::Denied(_), .. }));
    ensure!(refused, "{ended:?}");
    scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_not_taken_from_where_others_can_read_it() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let output = command(&site, &["status", "--token", "bellwether-00"]).output().await?;
    ensure!(
        !output.status.success() && told(&output).contains("--token-file"),
        "{}",
        told(&output)
    );
    let file = site.data_dir.join("token");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644))?;
    let output = command(&site, &["status"]).output().await?;
    ensure!(!output.status.success() && told(&output).contains("chmod 600"), "{}", told(&output));
    scheduler.stop().await?;
    match site.launch(&[]).await? {
        Start::Ended { stderr, .. } => ensure!(stderr.contains("chmod 600"), "{stderr}"),
        Start::Serving(_) => anyhow::bail!("a token that others can read was taken"),
    }
    Ok(())
}
