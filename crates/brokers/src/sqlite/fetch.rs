//! The task that reads one channel: rows after those already handed out, highest priority first.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::connection::{self, Open};
use super::lock::Reader;
use super::table::{self, Rows};
use super::watch::Watch;
use super::{Place, Released};
use crate::backoff::Backoff;
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::intake::{Inlet, pause_after};
use crate::message::Delivery;

/// What the task is about.
#[derive(Debug)]
pub(super) struct Fetch {
    pub(super) place: Place,
    pub(super) channel: Channel,
    pub(super) batch: usize,
    pub(super) released: Arc<Released>,
}

/// Where the reading stands. It lives with the connection: whoever opens the file anew starts over.
#[derive(Debug)]
struct Position {
    open: Open,
    seen_before: i64,
    /// The last row handed out, by priority.
    cursors: BTreeMap<i64, i64>,
}

impl Fetch {
    /// Reads until nobody wants to receive any more.
    pub(super) async fn run(self, inlet: Inlet) {
        let mut backoff = Backoff::default();
        loop {
            let Err(error) = self.read(&inlet, &mut backoff).await else { return };
            if !pause_after(error, &self.channel, &inlet, &mut backoff).await {
                return;
            }
        }
    }

    async fn read(&self, inlet: &Inlet, backoff: &mut Backoff) -> Result<(), BrokerError> {
        let mut position = self.start().await?;
        let _reader = match self.channel {
            Channel::Events => None,
            Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Dead => {
                Some(Reader::wait(&self.place, &self.channel).await?)
            }
        };
        let mut watch = Watch::new(&self.place)?;
        backoff.succeeded();
        loop {
            let (next, batch) = self.fetch(position).await?;
            position = next;
            if batch.is_empty() {
                tokio::select! {
                    () = inlet.closed() => return Ok(()),
                    () = self.gave_back() => {}
                    changed = watch.changed() => {
                        changed?;
                        if watch.is_idle() && !position.open.is_current(&self.place) {
                            let reason = "the file was replaced by another";
                            return Err(BrokerError::lost(self.place.server(), reason));
                        }
                    }
                }
                continue;
            }
            watch.found();
            if inlet.send(Ok(batch)).await.is_err() {
                return Ok(());
            }
        }
    }

    async fn start(&self) -> Result<Position, BrokerError> {
        let (place, channel) = (self.place.clone(), self.channel.clone());
        connection::blocking(move || {
            let open = connection::open(&place)?;
            let seen_before = table::last_row(&open.connection, &place.prefix, &channel)
                .map_err(|error| place.failure(&error))?;
            Ok(Position { open, seen_before, cursors: BTreeMap::new() })
        })
        .await
    }

    async fn gave_back(&self) {
        let changed = self.released.changed.notified();
        if self.released.any(&self.channel) {
            return;
        }
        changed.await;
    }

    async fn fetch(
        &self,
        mut position: Position,
    ) -> Result<(Position, Vec<Delivery>), BrokerError> {
        let (place, channel, max) = (self.place.clone(), self.channel.clone(), self.batch);
        let released = self.released.take(&channel);
        connection::blocking(move || {
            let batch = position
                .next(&place, &channel, &released, max)
                .map_err(|error| place.failure(&error))?;
            Ok((position, batch))
        })
        .await
    }
}

impl Position {
    fn next(
        &mut self,
        place: &Place,
        channel: &Channel,
        released: &[i64],
        max: usize,
    ) -> rusqlite::Result<Vec<Delivery>> {
        let rows = Rows {
            connection: &self.open.connection,
            prefix: &place.prefix,
            channel,
            identity: &self.open.identity,
            seen_before: self.seen_before,
        };
        let mut batch = Vec::new();
        for &row in released {
            batch.extend(rows.one(row)?);
        }
        if *channel == Channel::Jobs {
            let mut above = i64::MAX;
            while batch.len() < max
                && let Some(priority) = rows.priority_below(above)?
            {
                let cursor = self.cursors.entry(priority).or_insert(0);
                let found = rows.of_priority(priority, *cursor, max - batch.len())?;
                take(&mut batch, cursor, found);
                above = priority;
            }
        } else if batch.len() < max {
            let cursor = self.cursors.entry(0).or_insert(0);
            let found = rows.after(*cursor, max - batch.len())?;
            take(&mut batch, cursor, found);
        }
        Ok(batch)
    }
}

fn take(batch: &mut Vec<Delivery>, cursor: &mut i64, rows: Vec<(i64, Delivery)>) {
    for (row, delivery) in rows {
        *cursor = row;
        batch.push(delivery);
    }
}
