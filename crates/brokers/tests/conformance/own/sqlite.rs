//! Rows that other processes insert.

use std::process::Command;

use anyhow::{Result, ensure};
use bellwether_brokers::Channel;

use crate::bed::Bed;
use crate::servers::sqlite::Sqlite;
use crate::stage::{Stage, bodies, in_time, receive, settle};

const INSERT: &str = r#"
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
db.execute('INSERT INTO "kai-job-1:jobs" (body) VALUES (?)', ('{"type": "resize"}',))
db.execute('INSERT INTO "kai-job-1:jobs" (body, priority) VALUES (?, 75)', ('{"type": "urgent"}',))
db.commit()
"#;

#[tokio::test]
async fn row_of_another_process_wakes_the_reader() -> Result<()> {
    let mut bed = Sqlite::new()?;
    let bellwether_brokers::Backend::Sqlite(file) = bed.backend("kai-job-1")? else {
        anyhow::bail!("this is SQLite");
    };
    let mut stage = Stage::new(Box::new(bed));
    let scheduler = stage.scene()?.scheduler()?;
    in_time("check", async { Ok(scheduler.check().await) }).await?;
    let waiting = {
        let scheduler = std::sync::Arc::clone(&scheduler);
        tokio::spawn(async move { receive(&scheduler, &Channel::Jobs, 2).await })
    };
    let status = Command::new("python3").args(["-c", INSERT]).arg(&file.path).status()?;
    ensure!(status.success(), "python3 ended with {status}");
    let got = waiting.await??;
    let expected = [r#"{"type": "urgent"}"#, r#"{"type": "resize"}"#];
    ensure!(bodies(&got) == expected, "got {:?}", bodies(&got));
    settle(&scheduler, got).await
}
