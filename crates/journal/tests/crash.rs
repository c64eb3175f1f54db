//! Writers killed at any moment: what they were told is durable is there, and the journal opens.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use bellwether_core::model::Seq;
use bellwether_journal::conformance::read_all;
use bellwether_journal::conformance::samples::Samples;
use bellwether_journal::file::FileOptions;
use bellwether_journal::{FileJournal, Journal};

#[expect(dead_code, reason = "other tests use the rest")]
mod support;

const BACKEND: &str = "BELLWETHER_TEST_BACKEND";
const DIRECTORY: &str = "BELLWETHER_TEST_DIRECTORY";
const CYCLES: u64 = 40;

/// A child that is just being started holds every open file for a moment, locks included; so only
/// one test starts children at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn open(backend: &str, dir: &Path) -> Box<dyn Journal> {
    match backend {
        "file" => {
            let options = FileOptions { segment_bytes: 20_000 };
            Box::new(FileJournal::open(dir, options).unwrap())
        }
        #[cfg(feature = "sqlite")]
        "sqlite" => {
            let options = bellwether_journal::sqlite::SqliteOptions {
                page_bytes: 4096,
                checkpoint_pages: 20,
            };
            Box::new(bellwether_journal::SqliteJournal::open(dir, options).unwrap())
        }
        other => panic!("there is no backend {other}"),
    }
}

/// Not a test of its own: the process that is killed. It says each position once it is durable.
#[test]
#[ignore = "is started by the others"]
fn writer() {
    let dir = std::env::var(DIRECTORY).unwrap();
    let mut journal = open(&std::env::var(BACKEND).unwrap(), Path::new(&dir));
    let mut out = std::io::stdout();
    loop {
        let head = journal.head().seq;
        let entries = Samples::new(head.0, head).entries(1 + head.0 as usize % 7);
        let head = journal.append(journal.epoch(), head, &entries).unwrap();
        writeln!(out, "durable {}", head.seq).unwrap();
    }
}

fn kill_again_and_again(backend: &str) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = support::memory_dir();
    let mut acknowledged = 0;
    for cycle in 0..CYCLES {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["writer", "--exact", "--ignored", "--nocapture"])
            .env(BACKEND, backend)
            .env(DIRECTORY, dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut read = || loop {
            let line = lines.next()?.unwrap();
            if let Some(position) = line.strip_prefix("durable ") {
                return Some(position.parse::<u64>().unwrap());
            }
        };
        for _ in 0..=cycle % 13 {
            acknowledged = read().unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        while let Some(position) = read() {
            acknowledged = position;
        }
        let journal = open(backend, dir.path());
        let head = journal.head().seq;
        assert!(head >= Seq(acknowledged), "{acknowledged} was durable, {head} is there");
        assert_eq!(read_all(journal.as_ref(), Seq(1)).len() as u64, head.0);
    }
    assert!(acknowledged > 0);
}

#[test]
fn killed_writer_loses_nothing_in_files() {
    kill_again_and_again("file");
}

#[cfg(feature = "sqlite")]
#[test]
fn killed_writer_loses_nothing_in_sqlite() {
    kill_again_and_again("sqlite");
}

/// A failing sync must be told as what it is, and as the end.
#[test]
fn failed_sync_is_fatal() {
    let traced = Command::new("strace").arg("-V").output().is_ok();
    if !traced {
        bellwether_testbed::cannot_run("strace is not installed");
        return;
    }
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = support::memory_dir();
    let output = Command::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO:when=3+"])
        .arg(std::env::current_exe().unwrap())
        .args(["writer", "--exact", "--ignored", "--nocapture"])
        .env(BACKEND, "file")
        .env(DIRECTORY, dir.path())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("Sync("), "{errors}");
    let durable = String::from_utf8_lossy(&output.stdout).matches("durable").count();
    assert_eq!(durable, 2);
}
