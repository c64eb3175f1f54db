//! A scheduler of the real binary, and its command line.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    _folder: tempfile::TempDir,
    server: Child,
    address: String,
}

impl Stage {
    /// With these settings.
    pub(crate) fn new(settings: &[(&str, &str)]) -> Result<Stage> {
        let folder = tempfile::tempdir()?;
        let mut child = bellwether()
            .args(["serve", "--json", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"])
            .arg("--data-dir")
            .arg(folder.path().join("data"))
            .envs(settings.iter().map(|(key, value)| (variable(key), value)))
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut stage = Stage { _folder: folder, server: child, address: String::new() };
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let hello: Value = serde_json::from_str(&line).context("the scheduler did not start")?;
        stage.address = format!("http://{}", hello["grpc"].as_str().context("no address")?);
        Ok(stage)
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    pub(crate) fn run(&self, arguments: &[&str], input: &str) -> Result<Output> {
        let mut child = bellwether()
            .args(arguments)
            .env("BELLWETHER_SERVER", &self.address)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        child.stdin.take().context("its input is piped")?.write_all(input.as_bytes())?;
        Ok(child.wait_with_output()?)
    }

    pub(crate) fn fine(&self, arguments: &[&str]) -> Result<String> {
        fine(arguments, self.run(arguments, "")?)
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Result<Value> {
        Ok(serde_json::from_str(&self.fine(arguments)?)?)
    }

    /// Jobs as JSON, a run if they are one.
    pub(crate) fn submit(&self, jobs: &Value) -> Result<()> {
        let arguments = ["submit", "-"];
        fine(&arguments, self.run(&arguments, &jobs.to_string())?).map(|_| ())
    }

    pub(crate) fn explain(&self, id: &str) -> Result<Value> {
        self.json(&["explain", id, "--json"])
    }

    /// What is told of the job, once it is told so.
    pub(crate) fn explained(&self, id: &str, so: impl Fn(&Value) -> bool) -> Result<Value> {
        let begun = Instant::now();
        loop {
            let told = self.explain(id)?;
            if so(&told) {
                return Ok(told);
            }
            if begun.elapsed() > DEADLINE {
                bail!("waited in vain; job {id} is told to be {told}");
            }
        }
    }

    pub(crate) fn reaches(&self, id: &str, state: &str) -> Result<Value> {
        self.explained(id, |told| told["state"] == state)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.server.kill());
        drop(self.server.wait());
    }
}

fn fine(arguments: &[&str], output: Output) -> Result<String> {
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{arguments:?}: {} {stderr}", output.status);
    Ok(String::from_utf8(output.stdout)?)
}

pub(crate) fn bellwether() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether"));
    command.env_remove("BELLWETHER_SERVER").env("NO_COLOR", "1");
    command
}

fn variable(key: &str) -> String {
    format!("BELLWETHER_{}", key.to_uppercase().replace('.', "_"))
}

/// A job for workers of this role, with more fields.
pub(crate) fn job(id: &str, kind: &str, role: &str, more: Value) -> Value {
    let mut job = json!({ "id": id, "type": kind });
    if !role.is_empty() {
        job["role"] = json!(role);
    }
    if let Value::Object(more) = more {
        for (name, value) in more {
            job[name] = value;
        }
    }
    job
}

/// Copies a data directory to look at it or to damage it.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
