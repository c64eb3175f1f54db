//! The written schema, its examples, and what is really said.

use std::io::Write as _;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use bellwether_core::model::JobId;
use bellwether_wire::json::{reply_from_json, submission_from_json};
use serde_json::{Value, json};

use crate::listener::Listener;
use crate::site::{Site, message, python};
use bellwether_bench::broker_server::Kind;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/");

/// Checks messages against the part of the schema that they belong to: an object of lists by part.
const CHECK: &str = r##"
import json, sys, jsonschema_rs
schema = json.load(open(sys.argv[1]))
for part, messages in json.load(sys.stdin).items():
    validator = jsonschema_rs.validator_for({**schema, "anyOf": [{"$ref": "#/$defs/" + part}]})
    for message in messages:
        for error in validator.iter_errors(message):
            sys.exit(f"{part}: {message}: {error}")
"##;

fn examples() -> Result<Value> {
    let text = std::fs::read_to_string(format!("{FOLDER}queue-message.examples.json"))?;
    Ok(serde_json::from_str(&text)?)
}

fn follows_the_schema(messages: &Value) -> Result<()> {
    let mut child = Command::new(python())
        .args(["-c", CHECK, &format!("{FOLDER}queue-message.schema.json")])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("failed to start Python; `cargo xtask test` installs what it needs")?;
    let mut stdin = child.stdin.take().context("its input is piped")?;
    stdin.write_all(messages.to_string().as_bytes())?;
    drop(stdin);
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

#[test]
fn the_examples_follow_the_schema() -> Result<()> {
    follows_the_schema(&examples()?)
}

#[test]
fn the_examples_are_understood() -> Result<()> {
    let examples = examples()?;
    for submission in examples["submission"].as_array().context("a list")? {
        let raw = serde_json::value::to_raw_value(submission)?;
        submission_from_json(&raw, &mut || JobId::fixed("generated"))?;
    }
    for reply in examples["reply"].as_array().context("a list")? {
        reply_from_json(reply.to_string().as_bytes())?;
    }
    Ok(())
}

#[tokio::test]
async fn what_is_published_follows_the_schema() -> Result<()> {
    let site = Site::start(Kind::Sqlite).await?;
    let (broker, _worker) = (site.outside()?, site.worker()?);
    let mut listener = Listener::start(&site).await?;
    let job = json!({"id": "one", "type": "count", "payload": {"n": 1}, "tags": ["x"]});
    broker.publish(vec![message("m", &job)]).await?;
    listener.until("job_completed", 1).await?;
    follows_the_schema(&json!({ "submission": [job], "events": [listener.events] }))
}
