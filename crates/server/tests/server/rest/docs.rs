//! The commands of the documentation do what it says.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::fixture::Fixture;

const DOCUMENTED: &str = "127.0.0.1:7071";
/// curl's word for a stream that goes on longer than it may.
const TIMED_OUT: i32 = 28;

#[tokio::test(flavor = "multi_thread")]
async fn every_documented_command_works() -> Result<()> {
    let fixture = Fixture::start().await?;
    let _worker = fixture.worker("w1", 1).await?;
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rest.md");
    let docs = std::fs::read_to_string(docs)?;
    let address = fixture.server.http_address().to_string();
    let mut commands = 0;
    let token = fixture.server.local_token().context("it has made one")?;
    // What `bellwether token header` prints.
    let header = fixture.folder.path().join("header");
    std::fs::write(&header, format!("authorization: Bearer {token}\n"))?;
    for line in docs.lines().filter(|line| line.starts_with("curl ")) {
        let line = line.replace(DOCUMENTED, &address);
        let line = line.replace("@header", &format!("@{}", header.display()));
        tokio::task::spawn_blocking(move || run(&line)).await??;
        commands += 1;
    }
    assert!(commands > 25, "{commands}");
    Ok(())
}

fn run(line: &str) -> Result<()> {
    let line =
        format!("{line} --silent --output /dev/null --max-time 1 --write-out '%{{http_code}}'");
    let output = Command::new("sh").args(["-c", &line]).output().context("there is no sh")?;
    let code = output.status.code().unwrap_or(-1);
    let stream = line.contains("/scheduler/events");
    ensure!(
        code == 0 || (code == TIMED_OUT && stream),
        "{code}: {line}; `cargo xtask test` installs curl"
    );
    let status = String::from_utf8(output.stdout)?;
    ensure!(status.starts_with('2'), "{status}: {line}");
    Ok(())
}
