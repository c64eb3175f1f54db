//! Schemathesis: an attack that the served document itself describes, once for each kind of caller.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use axum::body::Body;
use axum::http::Method;
use bellwether_core::model::Micros;
use bellwether_server::edges::security::tokens::{Holder, Role, issue};
use serde_json::json;

use super::client::{request, send};
use crate::fixture::{FakeWorker, Fixture, channel, spec};

/// Examples of each operation; all of them with `BELLWETHER_FULL=1`.
const EXAMPLES: u32 = 15;
const EXAMPLES_FULL: u32 = 300;
/// The same attack each time.
const SEED: u32 = 20_261;

/// Whoever calls, and what the checks may expect of them.
struct Caller {
    name: &'static str,
    roles: &'static [Role],
}

const OPERATOR: Caller = Caller { name: "operator", roles: &[Role::Operator, Role::Submitter] };
const VIEWER: Caller = Caller { name: "viewer", roles: &[Role::Viewer] };
const NOBODY: Caller = Caller { name: "nobody", roles: &[] };

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_finds_nothing_that_the_document_does_not_tell() -> Result<()> {
    attack(&OPERATOR).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_viewer_gets_past_no_role() -> Result<()> {
    attack(&VIEWER).await
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_without_a_token_gets_in() -> Result<()> {
    attack(&NOBODY).await
}

/// What the attack is worth: it notices when the document leaves a status out, misses a field, or says
/// that an operation is for others.
#[tokio::test(flavor = "multi_thread")]
async fn an_untrue_document_is_found_out() -> Result<()> {
    let fixture = Fixture::start().await?;
    let mut document = fixture.get("/scheduler/openapi.json").await?.json()?;
    let paths = &mut document["paths"];
    let kept = ["/scheduler/status", "/scheduler/shadow", "/scheduler/predictions"];
    paths.as_object_mut().context("there are paths")?.retain(|path, _| kept.contains(&&**path));
    paths["/scheduler/status"]["get"]["responses"] = json!({ "418": { "description": "never" } });
    paths["/scheduler/shadow"]["get"]["x-roles"] = json!(["peer"]);
    document["components"]["schemas"]["Predictions"]["required"] = json!(["colour"]);
    let file = fixture.folder.path().join("untrue.json");
    std::fs::write(&file, document.to_string())?;
    let token = fixture.server.local_token().context("it has made one")?;
    let mut command = schemathesis(&fixture, &file.display().to_string())?;
    command
        .args(["--url", &format!("http://{}", fixture.server.http_address())])
        .args(["--max-examples", "5", "--seed", &SEED.to_string(), "--phases", "fuzzing"])
        .args(["--header", &format!("Authorization: Bearer {token}")])
        .env("CALLER_ROLES", "viewer")
        .env("CALLER_TOKEN", &token);
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{told}");
    for finding in ["Undocumented status code", "is for ['peer']", "\"colour\" is a required"] {
        assert!(told.contains(finding), "{finding} in {told}");
    }
    Ok(())
}

async fn attack(caller: &Caller) -> Result<()> {
    let name = caller.name;
    let (token, line) = issue(&Holder::new(name, caller.roles))?;
    let (looker, looker_line) = issue(&Holder::new("looker", &[Role::Viewer]))?;
    let tokens = tempfile::NamedTempFile::new()?;
    // A token without a role is no token at all.
    let line = if caller.roles.is_empty() { String::new() } else { line };
    let (worker_token, worker_line) = issue(&Holder::new("worker", &[Role::Worker]))?;
    std::fs::write(tokens.path(), format!("{looker_line}\n{worker_line}\n{line}\n"))?;
    let fixture = Fixture::with(|config| {
        config.tokens = Some(tokens.path().to_owned());
        // None while it lasts, however slow the machine is: they are events.
        config.checkpoints.every = std::time::Duration::ZERO;
        // The worker says nothing for as long as the attack lasts.
        config.scheduling.unreachable_after = Micros::from_secs(86_400);
    })
    .await?;
    // Something to find: a worker, with a job that it never ends.
    let channel = channel(&fixture.server).await?;
    let _worker = FakeWorker::connect_as(channel, &worker_token, spec("w1", 1)).await?;
    let before = position(&fixture, &looker).await?;

    let full = std::env::var_os("BELLWETHER_FULL").is_some_and(|value| value == "1");
    let examples = if full { EXAMPLES_FULL } else { EXAMPLES };
    let address = fixture.server.http_address();
    let document = format!("http://{address}/scheduler/openapi.json");
    let mut command = schemathesis(&fixture, &document)?;
    let roles: Vec<_> = caller.roles.iter().map(|role| role.as_str()).collect();
    command
        .args(["--max-examples", &examples.to_string(), "--seed", &SEED.to_string()])
        .env("CALLER_ROLES", roles.join(","))
        .env("CALLER_TOKEN", &token);
    if !caller.roles.is_empty() {
        command.args(["--header", &format!("Authorization: Bearer {token}")]);
    }
    let output = tokio::task::spawn_blocking(move || command.output()).await?;
    let output = output.context("failed to start schemathesis; `cargo xtask test` installs it")?;
    eprintln!("as {name}, seed {SEED}, {examples} examples an operation");
    eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    if !output.status.success() {
        bail!("schemathesis as {name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    if name != OPERATOR.name {
        assert_eq!(position(&fixture, &looker).await?, before, "{name} has changed something");
    }
    Ok(())
}

fn schemathesis(fixture: &Fixture, document: &str) -> Result<Command> {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let workspace = here.ancestors().nth(2).context("it lies in a workspace")?;
    let here = here.join("tests/server/rest/attack");
    let mut command = Command::new(workspace.join("target/python/bin/schemathesis"));
    command
        .arg("--config-file")
        .arg(here.join("schemathesis.toml"))
        .args(["run", document])
        .env("SCHEMATHESIS_HOOKS", "checks")
        .env("PYTHONPATH", &here)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .current_dir(fixture.folder.path())
        .stdin(Stdio::null());
    Ok(command)
}

/// How far the journal is: nobody who may only look moves it.
async fn position(fixture: &Fixture, token: &str) -> Result<u64> {
    let request = request(Method::GET, "/scheduler/status");
    let request = request.header("authorization", format!("Bearer {token}"));
    let status = send(&fixture.server, request.body(Body::empty())?).await?.json()?;
    status["position"].as_u64().context("the status tells the position")
}
