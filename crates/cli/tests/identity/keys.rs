//! Keys of workers: bound, proven, approved, rotated and revoked.

use std::process::Stdio;

use anyhow::Result;
use bellwether_sdk::NewJob;
use bellwether_wire::v1;

use crate::raw_worker::RawWorker;
use crate::site::{Killed, Site, until};

#[tokio::test(flavor = "multi_thread")]
async fn nobody_takes_the_id_or_the_jobs_of_another() -> Result<()> {
    let site = Site::start("").await?;
    let _honest = site.holder("w1").await?;
    let client = site.client()?;
    client.submit(NewJob::new("t").id("a").payload("1")).await?;
    let job = site.job("a", "running").await?;
    let (number, token) = (job["number"].as_u64(), job["attempts"][0]["token"].as_u64());
    let (secret, thief) = (site.secret("w1")?, site.secret("thief")?);

    let raw = RawWorker::connect(&site).await?;
    let register = RawWorker::register("w1", &thief, raw.proof("w1", &thief));
    let refused = raw.refused(register).await?;
    assert!(refused.message().contains("bound to another key"), "{refused:?}");

    // The right key, which it does not have: a proof of another session, and none.
    let other = RawWorker::connect(&site).await?;
    let stolen = other.proof("w1", &secret);
    let raw = RawWorker::connect(&site).await?;
    let refused = raw.refused(RawWorker::register("w1", &secret, stolen)).await?;
    assert!(refused.message().contains("challenge"), "{refused:?}");
    let raw = RawWorker::connect(&site).await?;
    let refused = raw.refused(RawWorker::register("w1", &secret, Vec::new())).await?;
    assert!(refused.message().contains("bound to a key"), "{refused:?}");

    // Who was refused is not heard either, however fast it speaks.
    let mut raw = RawWorker::connect(&site).await?;
    let register = RawWorker::register("w1", &thief, raw.proof("w1", &thief));
    let complete = v1::Complete { result: "stolen".into() };
    let report = v1::Report {
        job: number.unwrap_or(1),
        token: token.unwrap_or_default(),
        report: Some(v1::report::Report::Complete(complete)),
    };
    let printed = v1::LogChunk {
        job: number.unwrap_or(1),
        token: token.unwrap_or_default(),
        data: "forged\n".into(),
        ..Default::default()
    };
    raw.say_register(register).await?;
    let (reports, logs) = (vec![report], vec![printed]);
    raw.say(v1::WorkerMessage { reports, logs, ..Default::default() }).await?;
    assert!(raw.hear().await.is_err());
    assert_eq!(site.job("a", "running").await?["state"], "running");
    assert!(!site.fine(&["logs", "a"])?.contains("forged"));
    let keys = client.keys().await?;
    assert_eq!((keys.len(), keys[0].worker.as_str()), (1, "w1"));
    assert_eq!(keys[0].key.as_ref(), secret.public().0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_outlives_the_scheduler() -> Result<()> {
    let mut site = Site::start("").await?;
    let _honest = site.doer("w1").await?;
    site.crash_and_restart().await?;
    let thief = site.secret("thief")?;
    let raw = RawWorker::connect(&site).await?;
    let register = RawWorker::register("w1", &thief, raw.proof("w1", &thief));
    let refused = raw.refused(register).await?;
    assert!(refused.message().contains("bound to another key"), "{refused:?}");
    site.client()?.submit(NewJob::new("t").id("a")).await?;
    site.job("a", "completed").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_revoked_worker_held_runs_elsewhere() -> Result<()> {
    let site = Site::start("").await?;
    let mut revoked = site.holder("w1").await?;
    site.client()?.submit(NewJob::new("t").id("a").payload("1")).await?;
    site.job("a", "running").await?;
    site.fine(&["workers", "revoke", "w1"])?;
    let ended = revoked.ended().await;
    let why = ended.err().map(|why| why.to_string()).unwrap_or_default();
    assert!(why.contains("was revoked"), "{why}");
    let _other = site.doer("w2").await?;
    let job = site.job("a", "completed").await?;
    let workers: Vec<_> = job["attempts"].as_array().into_iter().flatten().collect();
    assert_eq!(workers.last().map(|last| last["worker"].clone()), Some("w2".into()), "{job}");
    assert!(site.fine(&["workers", "keys"])?.contains("revoked"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn where_workers_must_be_approved_a_token_or_an_operator_lets_them_in() -> Result<()> {
    let site = Site::start("worker_keys: approved").await?;
    let (code, told) = site.run(&["worker", "--id", "w1"])?;
    assert_ne!(code, Some(0), "{told}");
    assert!(told.contains("bellwether workers approve w1"), "{told}");
    // The way out that it names.
    let key = site.fine(&["worker", "key"])?;
    site.fine(&["workers", "approve", "w1", key.trim(), "--type", "exec"])?;
    let worker = site.command(&["worker", "--id", "w1"]).stdout(Stdio::null()).spawn()?;
    let _worker = Killed(worker);
    until("it works", || async { Ok(site.fine(&["workers"])?.contains("w1")) }).await?;
    let (code, told) = site.run(&["worker", "--id", "w1", "--type", "more=cat"])?;
    assert!(code != Some(0) && told.contains("claims the type more"), "{told}");

    let token = site.path("join");
    std::fs::write(&token, site.fine(&["workers", "invite", "w2"])?)?;
    let join = token.display().to_string();
    let file = site.path("w2.key").display().to_string();
    let arguments = ["worker", "--id", "w2", "--key", &file, "--join-token-file", &join];
    let _second = Killed(site.command(&arguments).stdout(Stdio::null()).spawn()?);
    until("it works", || async { Ok(site.fine(&["workers"])?.contains("w2")) }).await?;
    let file = site.path("w3.key").display().to_string();
    let arguments = ["worker", "--id", "w2", "--key", &file, "--join-token-file", &join];
    let (code, told) = site.run(&arguments)?;
    assert!(code != Some(0) && told.contains("ticket"), "{told}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_rotated_by_its_holder_and_nobody_else() -> Result<()> {
    let mut site = Site::start("").await?;
    let worker = site.doer("w1").await?;
    let file = site.path("w1.key").display().to_string();
    let before = site.secret("w1")?.public();
    let theirs = site.path("thief.key").display().to_string();
    site.secret("thief")?;
    let (code, told) = site.run(&["worker", "rotate-key", "w1", "--key", &theirs])?;
    assert!(code != Some(0) && told.contains("bound to another key"), "{told}");
    site.fine(&["worker", "rotate-key", "w1", "--key", &file])?;
    let after = site.secret("w1")?.public();
    assert_ne!(before, after);
    assert!(site.fine(&["workers", "keys"])?.contains(&after.to_string()));
    // The worker that runs reads it when it connects again.
    site.crash_and_restart().await?;
    let _worker = site.joined(worker).await?;
    site.client()?.submit(NewJob::new("t").id("a")).await?;
    site.job("a", "completed").await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_another_namespace_lets_nobody_in_here() -> Result<()> {
    let site = Site::start("worker_keys: approved").await?;
    let (secret, other) = (site.secret("w1")?, site.secret("w2")?);
    let approve = |worker: &str, key: String, namespace: &str| {
        site.fine(&["workers", "approve", worker, &key, "--namespace", namespace])
    };
    approve("w1", secret.public().to_string(), "elsewhere")?;
    approve("w2", other.public().to_string(), "default")?;
    let raw = RawWorker::connect(&site).await?;
    let register = RawWorker::register("w1", &secret, raw.proof("w1", &secret));
    let refused = raw.refused(register).await?;
    assert!(refused.message().contains("claims the namespace default"), "{refused:?}");
    let _honest = site.doer("w2").await?;
    let listed = site.fine(&["workers", "keys"])?;
    let row = |worker: &str| listed.lines().find(|line| line.starts_with(worker)).unwrap_or("");
    assert!(row("w1").ends_with("elsewhere") && row("w2").ends_with("default"), "{listed}");
    let (status, told) = site.get("/scheduler/keys").await?;
    assert_eq!((status, &told["keys"][0]["namespace"]), (200, &"elsewhere".into()));
    // What a join token promises is bound to the key that it brings in.
    let invited = site.fine(&["workers", "invite", "w3", "--namespace", "elsewhere"])?;
    let raw = RawWorker::connect(&site).await?;
    let third = site.secret("w3")?;
    let mut register = RawWorker::register("w3", &third, raw.proof("w3", &third));
    register.join_token = invited.trim().to_owned();
    let refused = raw.refused(register).await?;
    assert!(refused.message().contains("claims the namespace default"), "{refused:?}");
    Ok(())
}
