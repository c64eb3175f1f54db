//! The tables: one per kind of channel, called like the channel. This is what other processes
//! write, so its shape is part of the contract:
//!
//! ```sql
//! INSERT INTO "kai-job:jobs" (body) VALUES ('{"type": "resize", "payload": {}}');
//! INSERT INTO "kai-job:replies" (body) VALUES ('...');
//! SELECT id, body FROM "kai-job:dispatch" WHERE worker = 'w1' ORDER BY id; -- then DELETE the row
//! ```

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};

use crate::channel::Channel;
use crate::message::{Delivery, MessageId, Receipt, Token};

/// Makes what is missing, and gives the identity of this file.
pub(super) fn make_all(connection: &mut Connection, prefix: &str) -> rusqlite::Result<String> {
    if let Some(identity) = identity(connection, prefix)? {
        return Ok(identity);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(&schema(prefix))?;
    transaction.commit()?;
    identity(connection, prefix)?.ok_or(rusqlite::Error::QueryReturnedNoRows)
}

fn identity(connection: &Connection, prefix: &str) -> rusqlite::Result<Option<String>> {
    let made = "SELECT count(*) FROM sqlite_schema WHERE name = ?1";
    let name = format!("{prefix}:identity");
    let tables: i64 = connection.query_row(made, [&name], |row| row.get(0))?;
    if tables == 0 {
        return Ok(None);
    }
    connection.query_row(&format!("SELECT id FROM \"{name}\""), [], |row| row.get(0)).optional()
}

fn schema(prefix: &str) -> String {
    // AUTOINCREMENT: the number of a row that was settled is never given to another message.
    let columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, \
                   at INTEGER NOT NULL DEFAULT (unixepoch()), \
                   message_id TEXT, \
                   priority INTEGER NOT NULL DEFAULT 0, \
                   body BLOB NOT NULL";
    format!(
        "CREATE TABLE IF NOT EXISTS \"{prefix}:jobs\" ({columns});
         CREATE INDEX IF NOT EXISTS \"{prefix}:jobs:priority\" ON \"{prefix}:jobs\" (priority, id);
         CREATE TABLE IF NOT EXISTS \"{prefix}:replies\" ({columns});
         CREATE TABLE IF NOT EXISTS \"{prefix}:dispatch\" ({columns}, worker TEXT NOT NULL);
         CREATE INDEX IF NOT EXISTS \"{prefix}:dispatch:worker\"
             ON \"{prefix}:dispatch\" (worker, id);
         CREATE TABLE IF NOT EXISTS \"{prefix}:events\" ({columns});
         CREATE TABLE IF NOT EXISTS \"{prefix}:dead\" ({columns}, source TEXT, error TEXT);
         CREATE TABLE IF NOT EXISTS \"{prefix}:identity\" (id TEXT NOT NULL);
         INSERT INTO \"{prefix}:identity\" (id)
             SELECT lower(hex(randomblob(6)))
             WHERE NOT EXISTS (SELECT 1 FROM \"{prefix}:identity\");"
    )
}

/// The name of a channel's table, quoted.
pub(super) fn name(prefix: &str, channel: &Channel) -> String {
    format!("\"{prefix}:{}\"", channel.kind())
}

/// How many rows a channel has.
pub(super) fn count(
    connection: &Connection,
    prefix: &str,
    channel: &Channel,
) -> rusqlite::Result<u64> {
    let table = name(prefix, channel);
    let count: i64 = match channel {
        Channel::Dispatch(worker) => connection.query_row(
            &format!("SELECT count(*) FROM {table} WHERE worker = ?1"),
            [worker.as_str()],
            |row| row.get(0),
        )?,
        Channel::Jobs | Channel::Replies | Channel::Events | Channel::Dead => {
            connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0))?
        }
    };
    Ok(count.unsigned_abs())
}

/// The highest row so far: what is up to it may have been handed out by a reader before us.
pub(super) fn last_row(
    connection: &Connection,
    prefix: &str,
    channel: &Channel,
) -> rusqlite::Result<i64> {
    let table = name(prefix, channel);
    connection.query_row(&format!("SELECT coalesce(max(id), 0) FROM {table}"), [], |row| row.get(0))
}

/// Reads rows of one channel.
pub(super) struct Rows<'a> {
    pub(super) connection: &'a Connection,
    pub(super) prefix: &'a str,
    pub(super) channel: &'a Channel,
    pub(super) identity: &'a str,
    /// Rows up to this one may have been handed out before.
    pub(super) seen_before: i64,
}

impl Rows<'_> {
    fn columns(&self) -> &'static str {
        match self.channel {
            Channel::Dead => "id, message_id, priority, CAST(body AS BLOB), error",
            Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Events => {
                "id, message_id, priority, CAST(body AS BLOB), NULL"
            }
        }
    }

    fn delivery(&self, row: &Row<'_>) -> rusqlite::Result<(i64, Delivery)> {
        let id: i64 = row.get(0)?;
        let given: Option<String> = row.get(1)?;
        let priority: i64 = row.get(2)?;
        let body: Vec<u8> = row.get(3)?;
        // The events are a log, in which nothing is settled.
        let token = match self.channel {
            Channel::Events => Token::Settled,
            Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Dead => {
                Token::Row(id)
            }
        };
        let own = || format!("{}-{id}", self.identity);
        let delivery = Delivery {
            id: Some(MessageId::new(given.unwrap_or_else(own))),
            body: Bytes::from(body),
            priority: Some(u8::try_from(priority.clamp(0, 255)).expect("it was just clamped")),
            redelivered: id <= self.seen_before,
            error: row.get(4)?,
            receipt: Receipt { channel: self.channel.clone(), token },
        };
        Ok((id, delivery))
    }

    /// The next priority below this one that has rows.
    pub(super) fn priority_below(&self, above: i64) -> rusqlite::Result<Option<i64>> {
        let table = name(self.prefix, self.channel);
        let sql = format!("SELECT max(priority) FROM {table} WHERE priority < ?1");
        self.connection.prepare_cached(&sql)?.query_row([above], |row| row.get(0))
    }

    /// Rows of one priority after a row.
    pub(super) fn of_priority(
        &self,
        priority: i64,
        after: i64,
        max: usize,
    ) -> rusqlite::Result<Vec<(i64, Delivery)>> {
        let (columns, table) = (self.columns(), name(self.prefix, self.channel));
        let sql = format!(
            "SELECT {columns} FROM {table} WHERE priority = ?1 AND id > ?2 ORDER BY id LIMIT ?3"
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement
            .query_map(params![priority, after, limit(max)], |row| self.delivery(row))?
            .collect()
    }

    /// Rows after a row, of our worker if it is about dispatches.
    pub(super) fn after(&self, after: i64, max: usize) -> rusqlite::Result<Vec<(i64, Delivery)>> {
        let (columns, table) = (self.columns(), name(self.prefix, self.channel));
        let (condition, worker) = match self.channel {
            Channel::Dispatch(worker) => ("worker = ?3 AND", worker.as_str()),
            Channel::Jobs | Channel::Replies | Channel::Events | Channel::Dead => {
                ("?3 IS NOT NULL AND", "")
            }
        };
        let sql =
            format!("SELECT {columns} FROM {table} WHERE {condition} id > ?1 ORDER BY id LIMIT ?2");
        let mut statement = self.connection.prepare_cached(&sql)?;
        statement.query_map(params![after, limit(max), worker], |row| self.delivery(row))?.collect()
    }

    /// One row, if nobody has settled it meanwhile.
    pub(super) fn one(&self, id: i64) -> rusqlite::Result<Option<Delivery>> {
        let (columns, table) = (self.columns(), name(self.prefix, self.channel));
        let sql = format!("SELECT {columns} FROM {table} WHERE id = ?1");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let found = statement.query_row([id], |row| self.delivery(row)).optional()?;
        Ok(found.map(|(_, delivery)| Delivery { redelivered: true, ..delivery }))
    }
}

fn limit(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX)
}
