//! Batches of rows, one after the other, until they are taken.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use clickhouse::Client;
use clickhouse::error::Error;

use super::buffer::Buffer;
use super::cursor::Cursor;
use super::row::{DecisionRow, ExecutionRow, Row};
use super::schema::migrate;
use crate::config::ClickHouse;

/// Rows in one batch.
const BATCH_ROWS_MAX: usize = 50_000;
/// How long one batch may take.
const BATCH_WITHIN: Duration = Duration::from_secs(30);
/// The same at the end of the process, which somebody waits for.
const LAST_WITHIN: Duration = Duration::from_secs(2);
/// Pauses after failures: they double.
const PAUSE_MIN: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Sender {
    base: Client,
    client: Client,
    database: String,
    interval: Duration,
    buffer: Arc<Buffer>,
    cursor: Cursor,
    migrated: bool,
}

#[derive(Debug, thiserror::Error)]
enum NotSent {
    #[error(transparent)]
    ClickHouse(#[from] Error),
    #[error("it took too long")]
    Late(#[from] tokio::time::error::Elapsed),
}

impl Sender {
    pub(super) fn new(config: &ClickHouse, buffer: Arc<Buffer>, cursor: Cursor) -> Sender {
        let base = super::client(config);
        Sender {
            client: base.clone().with_database(&config.database),
            base,
            database: config.database.clone(),
            interval: config.flush_interval,
            buffer,
            cursor,
            migrated: false,
        }
    }

    pub(super) fn buffer(&self) -> Arc<Buffer> {
        self.buffer.clone()
    }

    pub(super) async fn run(mut self) {
        let mut pause = PAUSE_MIN;
        loop {
            self.buffer.ripen(self.interval).await;
            let closed = self.buffer.is_closed();
            let rows = self.buffer.take(BATCH_ROWS_MAX);
            if rows.is_empty() && self.migrated {
                if closed {
                    return;
                }
                continue;
            }
            let within = if closed { LAST_WITHIN } else { BATCH_WITHIN };
            match self.send(&rows, within).await {
                Ok(()) => {
                    pause = PAUSE_MIN;
                    self.sent(&rows);
                }
                Err(error) => {
                    self.failed(&error, rows, pause);
                    if closed {
                        return;
                    }
                    // The end must not wait for the pause.
                    self.buffer.rest(pause).await;
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    async fn send(&mut self, rows: &[Row], within: Duration) -> Result<(), NotSent> {
        if !self.migrated {
            tokio::time::timeout(within, migrate(&self.base, &self.database)).await??;
            self.migrated = true;
        }
        Ok(tokio::time::timeout(within, self.insert(rows)).await??)
    }

    async fn insert(&self, rows: &[Row]) -> Result<(), Error> {
        let mut decisions = None;
        let mut executions = None;
        for row in rows {
            match row {
                Row::Decision(row) => {
                    if decisions.is_none() {
                        decisions = Some(self.client.insert::<DecisionRow>("decisions").await?);
                    }
                    if let Some(insert) = &mut decisions {
                        insert.write(row).await?;
                    }
                }
                Row::Execution(row) => {
                    if executions.is_none() {
                        executions = Some(self.client.insert::<ExecutionRow>("executions").await?);
                    }
                    if let Some(insert) = &mut executions {
                        insert.write(row).await?;
                    }
                }
            }
        }
        if let Some(insert) = decisions {
            insert.end().await?;
        }
        if let Some(insert) = executions {
            insert.end().await?;
        }
        Ok(())
    }

    fn sent(&mut self, rows: &[Row]) {
        let counts = self.buffer.counts();
        counts.written.fetch_add(rows.len() as u64, Ordering::Relaxed);
        if let Some(last) = rows.last() {
            self.cursor.save(last.position());
        }
    }

    fn failed(&mut self, error: &NotSent, rows: Vec<Row>, pause: Duration) {
        self.buffer.counts().failures.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(%error, rows = rows.len(), ?pause, "ClickHouse did not take rows; again later");
        self.buffer.put_back(rows);
        // It may come back without the tables.
        self.migrated = false;
    }
}
