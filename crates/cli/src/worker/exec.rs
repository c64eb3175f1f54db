//! Jobs that are commands.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;

use bellwether_sdk::v1::LogStream;
use bellwether_sdk::{Context, Outcome};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::confine::{Confinement, NotAllowed};
use super::group::{Group, Guards};
use super::payload::{Payload, Setting};
use super::secrets::{Mask, SecretError, Secrets};
use super::strays;
use super::tail::{collected, follow as follow_output};

/// Bytes of standard error that a failure tells.
const TAIL_BYTES: usize = 2 << 10;
const EXIT_CODE: &str = "exit code ";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Output {
    pub(crate) exit_code: u8,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) truncated: bool,
    /// Bytes that were cut off in front.
    #[serde(default)]
    pub(crate) stdout_cut: u64,
    #[serde(default)]
    pub(crate) stderr_cut: u64,
}

/// What a command may see of the worker's own environment: no tokens, no settings of the worker.
const ENVIRONMENT: [&str; 11] = [
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TMPDIR",
    "TZ",
];

/// What commands on this worker share.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) guards: Guards,
    /// Further names of its environment that commands may see.
    pub(super) passed: Vec<String>,
    pub(super) secrets: Secrets,
    pub(super) confinement: Confinement,
}

/// Why a command did not start.
#[derive(Debug, thiserror::Error)]
enum NotStarted {
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    // Starting it would only say that something was not found.
    #[error("failed to enter the folder {cwd} (cwd): {source}")]
    Folder { cwd: String, source: std::io::Error },
    #[error("failed to start {program}: {source}")]
    Start { program: String, source: std::io::Error },
}

impl NotStarted {
    /// As shells and `env` say it: 127 if there is no such command, 126 if it can't be run.
    fn outcome(&self) -> Outcome {
        match self {
            NotStarted::Start { source, .. } => {
                let code = if source.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 };
                Outcome::retry(format_args!("{EXIT_CODE}{code}: {self}"))
            }
            NotStarted::Secret(_) | NotStarted::NotAllowed(_) | NotStarted::Folder { .. } => {
                Outcome::retry(self)
            }
        }
    }
}

impl Room {
    fn command(&self, program: &Path, context: &Context) -> Result<Command, NotStarted> {
        let failed = |source| NotStarted::Start { program: program.display().to_string(), source };
        let cell = self.guards.cell(context.token());
        let command = self.confinement.command(program, cell.as_deref());
        let mut command = command.map_err(failed)?;
        let passed = self.passed.iter().map(String::as_str);
        let seen = ENVIRONMENT.into_iter().chain(passed);
        command
            .env_clear()
            .envs(seen.filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("BELLWETHER_JOB", context.id())
            .env("BELLWETHER_ATTEMPT", context.attempt().to_string())
            .env(strays::ATTEMPT, context.token().to_string())
            .env(strays::ROOM, self.guards.room())
            .env("BELLWETHER_IDEMPOTENCY_TOKEN", context.idempotency_token());
        if let Some(user) = &self.confinement.user {
            command.env("HOME", &user.home).env("USER", &user.name).env("LOGNAME", &user.name);
        }
        Ok(command)
    }

    /// Sets what the job asks for, and says what must not be shown of it.
    fn furnish(&self, command: &mut Command, payload: &Payload) -> Result<Mask, SecretError> {
        let mut revealed = Vec::new();
        for (name, setting) in &payload.env {
            match setting {
                Setting::Text(word) => command.env(name, &word.text),
                Setting::Secret(secret) => {
                    let secret = self.secrets.reveal(secret)?;
                    command.env(name, &secret);
                    revealed.push(secret);
                    &mut *command
                }
            };
        }
        Ok(Mask::new(&revealed))
    }

    /// Starts it with what it is to read.
    fn start(
        &self,
        program: &str,
        mut command: Command,
        context: &Context,
        input: Option<Bytes>,
    ) -> Result<Group, NotStarted> {
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
        let failed = |source| NotStarted::Start { program: program.to_owned(), source };
        let started = Group::start(command, context.token(), &self.guards);
        let mut group = started.map_err(failed)?;
        if let (Some(mut pipe), Some(input)) = (group.child.stdin.take(), input) {
            // A command that does not read all of it, or nothing, is no failure.
            tokio::spawn(async move { pipe.write_all(&input).await.is_ok() });
        }
        Ok(group)
    }
}

/// The handler of a type that has a command of its own: the payload is its standard input.
pub(super) async fn run_fixed(context: Context, room: Arc<Room>, line: Arc<str>) -> Outcome {
    let input = Some(context.payload().clone());
    let group = room.command(Path::new("sh"), &context).and_then(|mut command| {
        command.args(["-c", &line]);
        room.start("sh", command, &context, input)
    });
    match group {
        Ok(group) => follow(group, &context, &Mask::default()).await,
        Err(error) => error.outcome(),
    }
}

/// The handler of `exec` jobs.
pub(super) async fn run(context: Context, room: Arc<Room>) -> Outcome {
    let payload = match Payload::parse(context.payload()) {
        Ok(payload) => payload,
        Err(error) => return Outcome::cancel(error),
    };
    match begin(&context, &room, &payload) {
        Ok((group, mask)) => follow(group, &context, &mask).await,
        Err(error) => error.outcome(),
    }
}

fn begin(context: &Context, room: &Room, payload: &Payload) -> Result<(Group, Mask), NotStarted> {
    let name = &payload.argv[0].text;
    let program = room.confinement.program(name, payload.env.keys())?;
    let mut command = room.command(&program, context)?;
    command.args(payload.argv[1..].iter().map(|word| &word.text));
    let mask = room.furnish(&mut command, payload)?;
    if let Some(cwd) = &payload.cwd {
        let failed = |source| NotStarted::Folder { cwd: cwd.clone(), source };
        std::fs::read_dir(cwd).map_err(failed)?;
        command.current_dir(cwd);
    }
    let input = payload.stdin.clone().map(Bytes::from);
    Ok((room.start(name, command, context, input)?, mask))
}

/// The command's exit code, if this is the error of a job that ended with one.
pub(crate) fn exit_code(error: &str) -> Option<u8> {
    let rest = error.strip_prefix(EXIT_CODE)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

async fn follow(mut group: Group, context: &Context, mask: &Mask) -> Outcome {
    let stdout = group.child.stdout.take();
    let stdout = follow_output(stdout, LogStream::Stdout, context, mask.clone());
    let stderr = group.child.stderr.take();
    let stderr = follow_output(stderr, LogStream::Stderr, context, mask.clone());
    let status = tokio::select! {
        status = group.child.wait() => Some(status),
        () = context.cancelled() => {
            group.stop().await;
            None
        }
    };
    // What the command left behind must not outlive the job, nor hold its output open.
    drop(group);
    let (stdout, stderr) = (collected(stdout).await, collected(stderr).await);
    let status = match status {
        Some(Ok(status)) => status,
        Some(Err(error)) => return Outcome::retry(format_args!("failed to wait for it: {error}")),
        None => return Outcome::cancel("it was told to stop"),
    };
    let exit_code = code(status);
    if exit_code != 0 {
        // What a command that fails says last is why, wherever it says it.
        let said = if stderr.text.is_empty() { &stdout.text } else { &stderr.text };
        let start = said.floor_char_boundary(said.len().saturating_sub(TAIL_BYTES));
        let tail = said[start..].trim_end();
        let why = match (tail, status.signal()) {
            ("", Some(signal)) => format!("signal {signal} ended it"),
            ("", None) => "it printed nothing".to_owned(),
            (tail, _) => tail.to_owned(),
        };
        return Outcome::retry(format_args!("{EXIT_CODE}{exit_code}: {why}"));
    }
    let output = Output {
        exit_code,
        truncated: stdout.truncated || stderr.truncated,
        stdout_cut: stdout.cut,
        stderr_cut: stderr.cut,
        stdout: stdout.text,
        stderr: stderr.text,
    };
    match serde_json::to_vec(&output) {
        Ok(bytes) => Outcome::done(bytes),
        Err(error) => Outcome::cancel(format_args!("its output can't be written: {error}")),
    }
}

/// As shells say it: 128 and the signal's number for a command that a signal ended.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    u8::try_from(code.unwrap_or(255)).unwrap_or(255)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_command_is_read_back_from_its_error() {
        assert_eq!(exit_code("exit code 3: no such file"), Some(3));
        assert_eq!(exit_code("exit code 137: "), Some(137));
        assert_eq!(exit_code("ran longer than 5 s"), None);
    }
}
