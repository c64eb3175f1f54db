//! A past that was rewritten, with a chain that holds in itself: the checkpoints that somebody has kept
//! tell it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use bellwether_core::{Entry, Event};
use bellwether_journal::file::FileOptions;
use bellwether_journal::{FileJournal, Journal as _};
use bellwether_sdk::NewJob;
use bytes::Bytes;
use serde_json::Value;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::site::{DEADLINE, Site, until};

const JOBS: u64 = 20;

/// The lines of a file of checkpoints.
fn kept(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

fn replay(site: &Site, data: &Path, more: &[&str]) -> Result<(Option<i32>, Value)> {
    let data = data.display().to_string();
    let arguments = [&["replay", "--json", "--data-dir", &data], more].concat();
    let output = site.command(&arguments).output()?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = serde_json::from_slice(&output.stdout).with_context(|| told)?;
    Ok((output.status.code(), report))
}

/// Writes the records anew, with the first result that is found changed by whoever writes the disk.
/// Returns where it was changed.
fn rewrite(from: &Path, to: &Path, keep: impl Fn(u64) -> bool) -> Result<u64> {
    let reader = FileJournal::inspect(from)?;
    let mut journal = FileJournal::open(to, FileOptions::default())?;
    let mut changed = None;
    for record in reader.read(reader.base()?.seq.next())? {
        let mut entries: Vec<Entry> = record?.entries.to_vec();
        if !entries.iter().all(|entry| keep(entry.seq.0)) {
            break;
        }
        for entry in &mut entries {
            if let Event::Completed { result, result_hash, .. } = &mut entry.event
                && changed.is_none()
            {
                *result = Bytes::from_static(b"\"another\"");
                *result_hash = *blake3::hash(result).as_bytes();
                changed = Some(entry.seq.0);
            }
        }
        let (epoch, head) = (journal.epoch(), journal.head());
        journal.append(epoch, head.seq, &entries)?;
    }
    changed.context("a job has completed")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rewritten_past_is_told_by_checkpoints_and_by_nothing_else() -> Result<()> {
    let elsewhere = tempfile::tempdir()?;
    let export = elsewhere.path().join("kept.jsonl");
    let config = format!("journal: file\ncheckpoints: {{every: 50ms, file: {}}}", export.display());
    let mut site = Site::start(&config).await?;
    let worker = site.doer("w1").await?;
    for number in 0..JOBS {
        site.client()?.submit(NewJob::new("t").id(format!("j{number}")).payload("7")).await?;
        site.job(&format!("j{number}"), "completed").await?;
    }
    // Not that of the journal: its last event may be a checkpoint's own, which none stands for.
    let last = site.job(&format!("j{}", JOBS - 1), "completed").await?;
    let position = last["position"].as_u64().context("a position")?;
    until("a checkpoint stands for all of it", || async {
        Ok(kept(&export).iter().any(|line| line["position"].as_u64() >= Some(position)))
    })
    .await?;
    // Whoever follows events gets them, too: webhooks and queues.
    let events = site.fine(&["events", "--json", "--kind", "checkpoint_signed", "--from", "1"])?;
    ensure!(events.contains(r#""signature":"#), "{events}");
    let (_, identity) = site.get("/scheduler/identity").await?;
    let key = identity["key"].as_str().context("a key")?.to_owned();
    worker.kill();
    site.terminate().await?;

    // The last one is of where it ended.
    let data = site.path("data");
    let file = export.display().to_string();
    let with = ["--checkpoints", &file, "--checkpoint-key", &key];
    let (code, sound) = replay(&site, &data, &with)?;
    ensure!(code == Some(0), "{sound}");
    let last = kept(&export).last().cloned().context("there are some")?;
    ensure!(
        last["position"] == sound["position"] && last["chain"] == sound["chain_head"],
        "{last}"
    );
    ensure!(sound["checkpoints"]["held"].as_u64() >= Some(2), "{sound}");

    let forged: PathBuf = site.path("forged");
    let changed = rewrite(&data, &forged, |_| true)?;
    let (code, passed) = replay(&site, &forged, &[])?;
    ensure!(code == Some(0), "the chain holds in itself: {passed}");
    let (code, told) = replay(&site, &forged, &with)?;
    ensure!(code == Some(1), "{told}");
    let findings = told["checkpoints"]["findings"].to_string();
    ensure!(findings.contains("the past was rewritten at or before it"), "{told}");
    let positions =
        kept(&export).iter().filter_map(|line| line["position"].as_u64()).collect::<Vec<_>>();
    let first =
        positions.iter().find(|position| **position >= changed).context("one is behind it")?;
    ensure!(findings.contains(&format!("position {first} ")), "{changed} {told}");

    // An end that was cut off is a rewritten past, too.
    let cut: PathBuf = site.path("cut");
    rewrite(&data, &cut, |seq| seq <= changed)?;
    let (code, told) = replay(&site, &cut, &with)?;
    ensure!(code == Some(1) && told.to_string().contains("its end was cut off"), "{told}");
    // And so are checkpoints of another key.
    let other = "ab".repeat(32);
    let (code, told) = replay(&site, &data, &["--checkpoints", &file, "--checkpoint-key", &other])?;
    ensure!(code == Some(1) && told.to_string().contains("is not signed by"), "{told}");

    let data = data.display().to_string();
    ensure!(site.fine(&["checkpoints", "--data-dir", &data])?.contains("good"));
    let copy = elsewhere.path().join("copy.jsonl").display().to_string();
    site.fine(&["checkpoints", "--data-dir", &data, "--export", &copy])?;
    let again = site.fine(&["checkpoints", "--data-dir", &data, "--export", &copy])?;
    ensure!(again.starts_with("0 checkpoints added"), "{again}");
    Ok(())
}

/// Takes what is posted to it.
async fn receiver() -> Result<(u16, mpsc::UnboundedReceiver<String>)> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let (bodies, posted) = mpsc::unbounded_channel();
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (mut heard, mut buffer) = (Vec::new(), [0; 4096]);
            while let Ok(read @ 1..) = stream.read(&mut buffer).await {
                heard.extend_from_slice(&buffer[..read]);
                let text = String::from_utf8_lossy(&heard);
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(':')?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.trim().parse().ok())?
                });
                if body.len() >= length.unwrap_or(0) {
                    // Whoever asked may have seen enough.
                    drop(bodies.send(body.to_owned()));
                    break;
                }
            }
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            drop(stream.write_all(answer).await);
        }
    });
    Ok((port, posted))
}

#[tokio::test(flavor = "multi_thread")]
async fn checkpoints_come_by_webhook_and_are_what_the_journal_is_held_to() -> Result<()> {
    let (port, mut posted) = receiver().await?;
    let folder = tempfile::tempdir()?;
    let secret = folder.path().join("secret");
    bellwether_testbed::write_secret(&secret, "a secret of the test")?;
    let secret = secret.display();
    let config = format!(
        "journal: file\ncheckpoints: {{every: 50ms}}\nwebhooks:\n  - url: http://127.0.0.1:{port}/kept\n    \
         kinds: [checkpoint_signed]\n    secret_file: {secret}\n    allow_private: true\n"
    );
    let mut site = Site::start(&config).await?;
    let worker = site.doer("w1").await?;
    site.client()?.submit(NewJob::new("t").id("j").payload("7")).await?;
    let done = site.job("j", "completed").await?;
    let position = done["position"].as_u64().context("a position")?;
    let event = loop {
        let body = tokio::time::timeout(DEADLINE, posted.recv()).await?.context("it listens")?;
        let event: Value = serde_json::from_str(&body)?;
        ensure!(event["type"] == "bellwether.checkpoint_signed", "{event}");
        if event["data"]["position"].as_u64() >= Some(position) {
            break event;
        }
    };
    worker.kill();
    site.terminate().await?;
    let kept = site.path("kept.jsonl");
    std::fs::write(&kept, format!("{event}\n"))?;
    let (data, kept) = (site.path("data"), kept.display().to_string());
    let (code, sound) = replay(&site, &data, &["--checkpoints", &kept])?;
    ensure!(code == Some(0) && sound["checkpoints"]["held"] == 1, "{sound}");
    let forged = site.path("forged");
    rewrite(&data, &forged, |_| true)?;
    let (code, told) = replay(&site, &forged, &["--checkpoints", &kept])?;
    ensure!(code == Some(1), "{told}");
    Ok(())
}
