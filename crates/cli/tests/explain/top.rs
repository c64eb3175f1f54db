//! The view in the terminal, against a real scheduler: as text, and in a terminal of its own.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use crate::stage::{DEADLINE, Stage, job};
use crate::worker::{Does, Worker, spec};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_frame_shows_a_real_scheduler() -> Result<()> {
    let stage = Stage::new(&[])?;
    let _worker = Worker::join(&stage, spec("painter", "", 1), Does::Keep).await?;
    stage.submit(&job("canvas", "paint", "", json!({})))?;
    stage.submit(&job("sketch", "draw", "", json!({})))?;
    stage.reaches("canvas", "running")?;
    let text = stage.fine(&["top", "--once"])?;
    for part in ["painter", "busy", "canvas", "sketch", "ready", "only_worker", "queue 1", "1/1"] {
        ensure!(text.contains(part), "`{part}` is not in\n{text}");
    }
    let narrow = stage.fine(&["top", "--once", "--width", "60", "--height", "20"])?;
    ensure!(narrow.lines().count() == 20, "{narrow}");
    Ok(())
}

const ENTERED: &str = "\u{1b}[?1049h";
const LEFT: &str = "\u{1b}[?1049l";

#[test]
fn the_terminal_is_given_back() -> Result<()> {
    let stage = Stage::new(&[])?;
    // A terminal without a window has no size of its own.
    let command = format!(
        "stty cols 100 rows 30; exec {} top --server {}",
        env!("CARGO_BIN_EXE_bellwether"),
        stage.address()
    );
    for ends_by in ["a key", "a signal"] {
        let child = Command::new("script")
            .args(["--quiet", "--return", "--command", &command, "/dev/null"])
            .env("TERM", "xterm-256color")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("`script` gives a terminal")?;
        let mut child = Guard(child);
        let mut keys = child.0.stdin.take().context("its input is piped")?;
        let mut screen = child.0.stdout.take().context("its output is piped")?;
        let mut shown = Vec::new();
        let begun = std::time::Instant::now();
        let mut piece = [0; 4_096];
        // Once the frame is there, keys are read.
        while !String::from_utf8_lossy(&shown).contains("q quit") {
            let read = screen.read(&mut piece)?;
            ensure!(read > 0 && begun.elapsed() < DEADLINE, "{}", String::from_utf8_lossy(&shown));
            shown.extend_from_slice(&piece[..read]);
        }
        match ends_by {
            "a key" => keys.write_all(b"q")?,
            _ => terminate(child.0.id())?,
        }
        screen.read_to_end(&mut shown)?;
        drop(keys);
        let status = child.0.wait()?;
        let shown = String::from_utf8_lossy(&shown);
        ensure!(shown.contains(ENTERED) && shown.contains(LEFT), "{ends_by}: {shown:?}");
        ensure!(ends_by != "a key" || status.success(), "{ends_by}: {status}");
    }
    Ok(())
}

/// Killed when dropped, and with its terminal what runs in it.
struct Guard(Child);

impl Drop for Guard {
    fn drop(&mut self) {
        // It may have ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The one process that the terminal was made for.
fn terminate(parent: u32) -> Result<()> {
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"))?;
    let child: i32 = children.split_whitespace().next().context("it has a child")?.parse()?;
    let child = rustix::process::Pid::from_raw(child).context("a process")?;
    Ok(rustix::process::kill_process(child, rustix::process::Signal::TERM)?)
}
