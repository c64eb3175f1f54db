//! Jobs that are commands.

use std::collections::{BTreeMap, VecDeque};
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use bellwether_sdk::{Context, Outcome};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::group::Group;
use super::warden::Warden;

pub(crate) const TYPE: &str = "exec";
/// Bytes that are kept of each of the two outputs: the last ones.
const OUTPUT_BYTES_MAX: usize = 64 << 10;
/// Bytes of standard error that a failure tells.
const TAIL_BYTES: usize = 2 << 10;
/// How long output may still come once the command has ended and its group was killed.
const OUTPUT_GRACE: Duration = Duration::from_secs(1);
const EXIT_CODE: &str = "exit code ";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Payload {
    pub(crate) argv: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
}

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
    warden: Arc<Warden>,
    /// Further names of its environment that commands may see.
    passed: Vec<String>,
}

impl Room {
    pub(super) fn new(warden: Warden, passed: Vec<String>) -> Room {
        Room { warden: Arc::new(warden), passed }
    }

    fn command(&self, program: &str, context: &Context) -> Command {
        let mut command = Command::new(program);
        let passed = self.passed.iter().map(String::as_str);
        let seen = ENVIRONMENT.into_iter().chain(passed);
        command
            .env_clear()
            .envs(seen.filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("BELLWETHER_JOB", context.id())
            .env("BELLWETHER_ATTEMPT", context.attempt().to_string())
            .env("BELLWETHER_IDEMPOTENCY_TOKEN", context.idempotency_token());
        command
    }
}

/// The handler of a type that has a command of its own: the payload is its standard input.
pub(super) async fn run_fixed(context: Context, room: Arc<Room>, line: Arc<str>) -> Outcome {
    let mut command = room.command("sh", &context);
    command.args(["-c", &line]).stdin(Stdio::piped());
    let mut group = match Group::start(command, Some(room.warden.clone())) {
        Ok(group) => group,
        Err(error) => return Outcome::retry(format_args!("failed to start sh: {error}")),
    };
    if let Some(mut input) = group.child.stdin.take() {
        let payload = context.payload().clone();
        // A command that does not read all of it, or nothing, is no failure.
        tokio::spawn(async move { input.write_all(&payload).await.is_ok() });
    }
    follow(group, &context).await
}

/// The handler of `exec` jobs.
pub(super) async fn run(context: Context, room: Arc<Room>) -> Outcome {
    let payload: Payload = match serde_json::from_slice(context.payload()) {
        Ok(payload) => payload,
        Err(error) => {
            return Outcome::cancel(format_args!(
                "the payload is not {{\"argv\":[..],\"env\":{{}},\"cwd\":\"..\"}}: {error}"
            ));
        }
    };
    let Some((program, arguments)) = payload.argv.split_first() else {
        return Outcome::cancel("argv is empty; name a command");
    };
    let mut command = room.command(program, &context);
    command.args(arguments).envs(&payload.env).stdin(Stdio::null());
    if let Some(cwd) = &payload.cwd {
        // Starting it would only say that something was not found.
        if let Err(error) = std::fs::read_dir(cwd) {
            return Outcome::retry(format_args!("failed to enter the folder {cwd} (cwd): {error}"));
        }
        command.current_dir(cwd);
    }
    match Group::start(command, Some(room.warden.clone())) {
        Ok(group) => follow(group, &context).await,
        Err(error) => Outcome::retry(format_args!("failed to start {program}: {error}")),
    }
}

/// The command's exit code, if this is the error of a job that ended with one.
pub(crate) fn exit_code(error: &str) -> Option<u8> {
    let rest = error.strip_prefix(EXIT_CODE)?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

async fn follow(mut group: Group, context: &Context) -> Outcome {
    let stdout = tokio::spawn(tail_of(group.child.stdout.take()));
    let stderr = tokio::spawn(tail_of(group.child.stderr.take()));
    let status = tokio::select! {
        status = group.child.wait() => status,
        () = context.cancelled() => {
            group.stop().await;
            return Outcome::cancel("it was told to stop");
        }
    };
    // What the command left behind must not outlive the job, nor hold its output open.
    drop(group);
    let status = match status {
        Ok(status) => status,
        Err(error) => return Outcome::retry(format_args!("failed to wait for it: {error}")),
    };
    let (stdout, stderr) = (collected(stdout).await, collected(stderr).await);
    let exit_code = code(status);
    if exit_code != 0 {
        // What a command that fails says last is why, wherever it says it.
        let said = if stderr.text.is_empty() { &stdout.text } else { &stderr.text };
        let start = said.floor_char_boundary(said.len().saturating_sub(TAIL_BYTES));
        let tail = said[start..].trim_end();
        return Outcome::retry(format_args!("{EXIT_CODE}{exit_code}: {tail}"));
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

#[derive(Debug, Default)]
struct Tail {
    text: String,
    truncated: bool,
    /// Bytes that were cut off in front.
    cut: u64,
}

async fn collected(reading: tokio::task::JoinHandle<std::io::Result<Tail>>) -> Tail {
    let abort = reading.abort_handle();
    match tokio::time::timeout(OUTPUT_GRACE, reading).await {
        Ok(Ok(Ok(tail))) => tail,
        Ok(Ok(Err(error))) => {
            Tail { text: format!("(output lost: {error})"), truncated: true, cut: 0 }
        }
        Ok(Err(_)) | Err(_) => {
            abort.abort();
            Tail {
                text: "(output lost: another process holds it open)".to_owned(),
                truncated: true,
                cut: 0,
            }
        }
    }
}

/// Reads to the end, so that the command never blocks on a full pipe; keeps the last bytes.
async fn tail_of(pipe: Option<impl AsyncRead + Unpin>) -> std::io::Result<Tail> {
    let Some(mut pipe) = pipe else { return Ok(Tail::default()) };
    let mut kept = VecDeque::new();
    let mut cut = 0;
    let mut buffer = vec![0; 16 << 10];
    loop {
        let read = pipe.read(&mut buffer).await?;
        if read == 0 {
            break;
        }
        kept.extend(&buffer[..read]);
        let excess = kept.len().saturating_sub(OUTPUT_BYTES_MAX);
        cut += excess as u64;
        kept.drain(..excess);
    }
    let text = String::from_utf8_lossy(kept.make_contiguous()).into_owned();
    Ok(Tail { text, truncated: cut > 0, cut })
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

    #[tokio::test]
    async fn of_long_output_the_end_is_kept() {
        let mut command = Command::new("sh");
        command.args(["-c", "head -c 100000 /dev/zero | tr '\\0' x; echo end"]);
        let mut group = Group::start(command, None).unwrap();
        let tail = tail_of(group.child.stdout.take()).await.unwrap();
        assert!(tail.truncated);
        assert_eq!(tail.cut, 100_004 - OUTPUT_BYTES_MAX as u64);
        assert_eq!(tail.text.len(), OUTPUT_BYTES_MAX);
        assert!(tail.text.ends_with("xend\n"));
    }
}
