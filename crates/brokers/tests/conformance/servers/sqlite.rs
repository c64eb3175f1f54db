//! No server: a file. What can harm it are the other processes that write to it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use bellwether_brokers::{Backend, SqliteSettings};
use bellwether_testbed::{Pause, Process};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::bed::Bed;

/// Writes to a table of its own in the same file until it is killed, in the middle of something.
const VANDAL: &str = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS vandal (bytes BLOB)")
open(sys.argv[1] + "-vandal", "w").close()
while True:
    db.execute("BEGIN IMMEDIATE")
    db.execute("INSERT INTO vandal VALUES (zeroblob(100000))")
    db.execute("DELETE FROM vandal")
    db.execute("COMMIT")
"#;

pub(crate) struct Sqlite {
    data: TempDir,
}

impl Sqlite {
    pub(crate) fn new() -> Result<Self> {
        Ok(Self { data: tempfile::tempdir()? })
    }

    fn path(&self) -> PathBuf {
        self.data.path().join("queue.db")
    }
}

fn settings(path: PathBuf) -> Backend {
    Backend::Sqlite(SqliteSettings { path })
}

impl Bed for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn backend(&mut self, _prefix: &str) -> Result<Backend> {
        Ok(settings(self.path()))
    }

    fn without_permission(&mut self) -> Result<Option<Backend>> {
        // Not even the administrator may make a file in a folder that is none.
        let file = self.data.path().join("file");
        std::fs::write(&file, "")?;
        Ok(Some(settings(file.join("queue.db"))))
    }

    fn wrong_server(&mut self) -> Result<Backend> {
        let path = self.data.path().join("notes.txt");
        std::fs::write(&path, "This is no database. ".repeat(1000))?;
        Ok(settings(path))
    }

    /// Another process that writes to the file is killed in the middle of it.
    fn crash(&mut self) -> Result<()> {
        let sign = self.data.path().join("queue.db-vandal");
        if sign.exists() {
            std::fs::remove_file(&sign)?;
        }
        let mut command = Command::new("python3");
        command.args(["-c", VANDAL]).arg(self.path());
        let mut vandal = Process::start(&mut command)?;
        let began = std::time::Instant::now();
        while !sign.exists() {
            ensure!(began.elapsed().as_secs() < 30, "python3 does not write");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Ok(vandal.kill()?)
    }

    /// Somebody holds the right to write.
    fn pause(&mut self) -> Result<Pause> {
        let writer = Connection::open(self.path())?;
        writer.execute_batch("BEGIN IMMEDIATE").context("the file can be locked")?;
        Ok(Pause::new(move || {
            writer.execute_batch("ROLLBACK").expect("it was locked");
        }))
    }

    fn readers_share(&self) -> bool {
        false
    }
}
