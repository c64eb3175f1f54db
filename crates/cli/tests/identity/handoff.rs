//! Agents hand jobs to each other, and whoever looks sees by whom.

use anyhow::Result;
use bellwether_sdk::{Context, NewJob, Outcome};
use serde_json::json;

use crate::site::{Site, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_goes_from_hand_to_hand_and_the_chain_is_verified() -> Result<()> {
    let site = Site::start("").await?;
    let first = site
        .builder("agentA")
        .job("t", |context: Context| async move { context.hand_off("role:painter") });
    let _first = site.joined(first.start()?).await?;
    let second = site.builder("agentB").role("painter").job("t", |context: Context| async move {
        match context.handoffs() {
            [] => Outcome::cancel("it was not handed to us"),
            [_] => context.hand_off("agentC"),
            _ => Outcome::cancel("it comes back"),
        }
    });
    let _second = site.joined(second.start()?).await?;
    let third = site.builder("agentC").job("t", |context: Context| async move {
        let from: Vec<String> = context.handoffs().iter().map(|link| link.from.clone()).collect();
        Outcome::done(format!("{:?}", from.join(" ")))
    });
    let _third = site.joined(third.start()?).await?;
    site.client()?.submit(NewJob::new("t").id("a").payload("7").receiver("agentA")).await?;
    let job = site.job("a", "completed").await?;
    assert_eq!(job["result"], "agentA agentB", "{job}");
    assert_eq!(job["failures"].as_u64().unwrap_or(0), 0, "{job}");
    let attempts: Vec<_> = job["attempts"].as_array().into_iter().flatten().collect();
    let told: Vec<_> = attempts
        .iter()
        .map(|attempt| (attempt["worker"].as_str(), attempt["state"].as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (Some("agentA"), Some("revoked")),
            (Some("agentB"), Some("revoked")),
            (Some("agentC"), Some("completed")),
        ],
        "{job}"
    );
    let events = site.fine(&["events", "--json", "--job", "a"])?;
    assert!(events.contains(r#""receiver":"role:painter""#), "{events}");
    assert!(site.fine(&["explain", "a"])?.contains("handed it off"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handoff_that_is_refused_fails_the_attempt() -> Result<()> {
    let site = Site::start("").await?;
    let worker = site.builder("agentA").job("t", |context: Context| async move {
        if context.attempt() == 1 { context.hand_off("nobody") } else { Outcome::done("done") }
    });
    let _worker = site.joined(worker.start()?).await?;
    site.client()?.submit(NewJob::new("t").id("a")).await?;
    let job = site.job("a", "completed").await?;
    assert!(job.to_string().contains("the receiver nobody is not known"), "{job}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_lines_of_python_hand_a_job_off() -> Result<()> {
    let site = Site::start("").await?;
    let _holder = site.holder("agentA").await?;
    let _doer = site.doer("agentB").await?;
    let job = NewJob::new("t").id("task-123").payload("7").receiver("agentA");
    site.client()?.submit(job).await?;
    site.job("task-123", "running").await?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/handoff.py");
    let python = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/python/bin/python");
    let output = std::process::Command::new(python)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("BELLWETHER_TOKEN", site.token()?)
        .arg(script)
        .args([&format!("http://{}", site.http), "task-123", "agentB"])
        .arg(site.path("agentA.key"))
        .output()?;
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    let job = site.job("task-123", "completed").await?;
    let last = job["attempts"].as_array().and_then(|attempts| attempts.last());
    assert_eq!(last.map(|last| &last["worker"]), Some(&json!("agentB")), "{job}");
    until("the holder was told", || async {
        Ok(site.fine(&["workers", "--json"])?.contains(r#""held":[]"#))
    })
    .await
}
