//! Who is let in, with TLS and tokens.

use std::time::Duration;

use anyhow::{Result, ensure};
use bellwether_sdk::{Client, ClientError, NewJob, Outcome, Security, Worker, WorkerError};
use bellwether_server::edges::security::tokens::{Holder, Role, issue};
use tokio::process::Command;

use crate::site::{BACKOFF, Scheduler, Site, Start};

struct Guarded {
    site: Site,
    scheduler: Scheduler,
    url: String,
    certificate: String,
    tokens: Vec<(Role, String)>,
}

impl Guarded {
    async fn start() -> Result<Guarded> {
        let mut site = Site::new(&[])?;
        let made = rcgen::generate_simple_self_signed(vec![site.address().ip().to_string()])?;
        let certificate = made.cert.pem();
        let mut tokens = Vec::new();
        let mut lines = String::new();
        for role in Role::ALL {
            let (token, line) = issue(&Holder::new(role.as_str(), &[role]))?;
            tokens.push((role, token));
            lines += &format!("{line}\n");
        }
        let key = made.signing_key.serialize_pem();
        let files = [
            ("tls.certificate", "certificate.pem", &certificate),
            ("tls.key", "key.pem", &key),
            ("tokens", "tokens", &lines),
        ];
        for (setting, name, text) in files {
            let path = site.folder().join(name);
            bellwether_testbed::write_secret(&path, text)?;
            site.set(setting, &path.display().to_string());
        }
        let scheduler = site.start().await?;
        let url = format!("https://{}", site.address());
        Ok(Guarded { site, scheduler, url, certificate, tokens })
    }

    fn security(&self, token: Option<&str>) -> Security {
        let ca_certificate = Some(self.certificate.clone());
        Security { token: token.map(str::to_owned), ca_certificate, identity: None }
    }

    async fn client(&self, token: Option<&str>) -> Result<Client> {
        let builder = Client::builder(&self.url).security(self.security(token));
        Ok(builder.backoff(BACKOFF).connect().await?)
    }

    fn token(&self, wanted: Role) -> &str {
        let found = self.tokens.iter().find(|(role, _)| *role == wanted);
        found.map(|(_, token)| token.as_str()).expect("every role has one")
    }
}

fn is_denied<T>(result: &Result<T, ClientError>) -> bool {
    matches!(result, Err(ClientError::Denied(_)))
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_token_nothing_is_done() -> Result<()> {
    let guarded = Guarded::start().await?;
    let job = || NewJob::new("idle");
    for token in [None, Some(""), Some("guess"), Some("bellwether-0000")] {
        let client = guarded.client(token).await?;
        ensure!(is_denied(&client.submit(job()).await), "{token:?}");
        ensure!(is_denied(&client.status().await), "{token:?}");
        ensure!(is_denied(&client.workers(true).await), "{token:?}");
    }
    for role in Role::ALL {
        let client = guarded.client(Some(guarded.token(role))).await?;
        let submitted = client.submit(job().id(role.as_str())).await;
        ensure!(submitted.is_ok() == (role == Role::Submitter), "{role:?}: {submitted:?}");
        ensure!(submitted.is_ok() || is_denied(&submitted), "{role:?}: {submitted:?}");
        let steered = client.pause("idle").await;
        ensure!(is_denied(&steered) != (role == Role::Operator), "{role:?}: {steered:?}");
    }
    let viewer = guarded.client(Some(guarded.token(Role::Viewer))).await?;
    let jobs = viewer.jobs(bellwether_sdk::v1::ListJobsRequest::default()).await?;
    ensure!(jobs.jobs.len() == 1, "only what the submitter submitted is there");
    guarded.scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn only_workers_are_given_work() -> Result<()> {
    let guarded = Guarded::start().await?;
    let submitter = guarded.client(Some(guarded.token(Role::Submitter))).await?;
    submitter.submit(NewJob::new("work").id("job")).await?;
    for token in [None, Some(guarded.token(Role::Submitter)), Some("guess")] {
        let worker = Worker::builder(&guarded.url).security(guarded.security(token));
        let ended = worker.job("work", async |_| Outcome::done("stolen")).start()?.ended().await;
        let denied =
            matches!(&ended, Err(WorkerError::Refused { source: ClientError::Denied(_), .. }));
        ensure!(denied, "{token:?}: {ended:?}");
    }
    let security = guarded.security(Some(guarded.token(Role::Worker)));
    let worker = Worker::builder(&guarded.url).security(security);
    let worker = worker.job("work", async |_| Outcome::done("done")).start()?;
    ensure!(submitter.wait("job").await?.result() == "done");
    worker.kill();
    guarded.scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_command_line_says_that_it_was_not_let_in() -> Result<()> {
    let guarded = Guarded::start().await?;
    let certificate = guarded.site.folder().join("certificate.pem");
    let status = |token: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
        command.env("BELLWETHER_TOKEN", token);
        command.args(["status", "--server", &guarded.url, "--ca"]);
        command.arg(&certificate).kill_on_drop(true);
        command
    };
    let output = status("guess").output().await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.code() == Some(3) && stderr.contains("the token is not known"),
        "{stderr}"
    );
    ensure!(status(guarded.token(Role::Viewer)).output().await?.status.success());
    // Without TLS nobody gets as far as a token.
    let plain = Client::builder(guarded.site.url()).patience(Duration::ZERO).lazy()?;
    let talk = plain.status().await.err().map(|why| why.to_string()).unwrap_or_default();
    ensure!(talk.contains("it speaks TLS there; write https://"), "{talk}");
    guarded.scheduler.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn off_loopback_it_does_not_start_without_tls_and_tokens() -> Result<()> {
    let site = Site::new(&[])?;
    let output = Command::new(env!("CARGO_BIN_EXE_bellwether"))
        .args(["serve", "--grpc", "0.0.0.0:0", "--http", "127.0.0.1:0", "--data-dir"])
        .arg(&site.data_dir)
        .kill_on_drop(true)
        .output()
        .await?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.code() == Some(3), "{stderr}");
    ensure!(stderr.contains("tls is not configured"), "{stderr}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_scheduler_keeps_is_nobody_elses() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &std::path::Path| anyhow::Ok(path.metadata()?.permissions().mode() & 0o777);
    for journal in ["sqlite", "file"] {
        let site = Site::new(&[("journal", journal)])?;
        // One that an earlier version has made.
        std::fs::create_dir(&site.data_dir)?;
        std::fs::set_permissions(&site.data_dir, std::fs::Permissions::from_mode(0o755))?;
        let scheduler = site.start().await?;
        site.client()?.submit(NewJob::new("idle")).await?;
        scheduler.stop().await?;
        let mut folders = vec![site.data_dir.clone()];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            ensure!(mode(&folder)? == 0o700, "{}", folder.display());
            for entry in std::fs::read_dir(&folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    ensure!(mode(&path)? == 0o600, "{} {:o}", path.display(), mode(&path)?);
                    files += 1;
                }
            }
        }
        ensure!(files > 3, "{files}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_others_can_read_is_refused() -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let guarded = Guarded::start().await?;
    let Guarded { site, scheduler, .. } = guarded;
    scheduler.stop().await?;
    for (file, loose, strict, advice) in
        [("key.pem", 0o644, 0o600, "chmod 600"), ("tokens", 0o666, 0o644, "chmod go-w")]
    {
        let path = site.folder().join(file);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(loose))?;
        match site.launch(&[]).await? {
            Start::Ended { status, stderr } => {
                ensure!(status.code() == Some(3), "{status}");
                ensure!(stderr.contains(file) && stderr.contains(advice), "{stderr}");
            }
            Start::Serving(_) => anyhow::bail!("{file} with mode {loose:o} was taken"),
        }
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(strict))?;
    }
    site.start().await?.stop().await
}
