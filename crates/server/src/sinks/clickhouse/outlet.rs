//! Batches of rows.

use clickhouse::Client;
use clickhouse::error::Error;
use clickhouse::insert_formatted::BufInsertFormatted;

use super::cursor::Cursor;
use super::row::Row;
use super::schema::migrate;
use crate::config::ClickHouse;
use crate::projections::telemetry::outlet::{Outlet, Undelivered};

#[derive(Debug)]
pub(crate) struct Tables {
    base: Client,
    client: Client,
    database: String,
    cursor: Cursor,
    migrated: bool,
}

impl Tables {
    pub(super) fn new(config: &ClickHouse, cursor: Cursor) -> Tables {
        let base = super::client(config);
        Tables {
            client: base.clone().with_database(&config.database),
            base,
            database: config.database.clone(),
            cursor,
            migrated: false,
        }
    }

    async fn insert(&mut self, rows: &[Row]) -> Result<(), Error> {
        // It may have come back without the tables.
        if !std::mem::replace(&mut self.migrated, false) {
            migrate(&self.base, &self.database).await?;
        }
        let mut inserts: [Option<BufInsertFormatted>; 2] = [None, None];
        for row in rows {
            let insert = inserts[row.table as usize].get_or_insert_with(|| {
                self.client.insert_formatted_with(row.table.insert()).buffered()
            });
            insert.write_buffered(&row.bytes);
            if insert.buf_len() >= insert.nominal_capacity() {
                insert.flush().await?;
            }
        }
        for insert in inserts.iter_mut().flatten() {
            insert.end().await?;
        }
        self.migrated = true;
        Ok(())
    }
}

impl Outlet for Tables {
    type Item = Row;

    const NAME: &'static str = "clickhouse";
    const BATCH_MAX: usize = 50_000;
    // A row that is sent twice is one row.
    const KEPT_OFF_DUTY: usize = 10_000;

    async fn deliver(&mut self, batch: &[Row]) -> Result<(), Undelivered> {
        self.insert(batch).await.map_err(|error| Undelivered::Later(error.to_string()))
    }

    fn delivered(&mut self, batch: &[Row]) {
        if let Some(last) = batch.last() {
            self.cursor.save(last.position);
        }
    }
}
