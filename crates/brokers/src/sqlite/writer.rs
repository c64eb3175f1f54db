//! The thread that writes: all that waits for it goes into one transaction, with one sync.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, params};
use tokio::sync::{mpsc, oneshot};

use super::connection::{self, Open};
use super::{Place, Released, table};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::message::{Outgoing, Receipt, Settlement, Token};

const WAITING_MAX: usize = 64;

/// About as long as a short transaction takes.
const TURN_PAUSE: Duration = Duration::from_micros(300);

/// Every so many events the oldest beyond the bound are dropped.
const EVENTS_BETWEEN_TRIMS: u64 = 1024;

/// The way to the thread, which ends when this is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    place: Place,
    work: mpsc::Sender<Work>,
}

#[derive(Debug)]
struct Work {
    task: Task,
    done: oneshot::Sender<Result<(), BrokerError>>,
}

#[derive(Debug)]
enum Task {
    Settle(Vec<Settlement>),
    Publish(Vec<Outgoing>),
}

impl Writer {
    pub(super) fn start(place: Place, released: Arc<Released>) -> Self {
        let (work, waiting) = mpsc::channel(WAITING_MAX);
        let thread = Thread { place: place.clone(), released, events: 0 };
        std::thread::spawn(move || thread.run(waiting));
        Self { place, work }
    }

    pub(super) async fn settle(&self, settlements: Vec<Settlement>) -> Result<(), BrokerError> {
        self.order(Task::Settle(settlements)).await
    }

    pub(super) async fn publish(&self, messages: Vec<Outgoing>) -> Result<(), BrokerError> {
        self.order(Task::Publish(messages)).await
    }

    async fn order(&self, task: Task) -> Result<(), BrokerError> {
        let (done, answer) = oneshot::channel();
        let gone = || BrokerError::lost(self.place.server(), "the writing thread is gone");
        self.work.send(Work { task, done }).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

#[derive(Debug)]
struct Thread {
    place: Place,
    released: Arc<Released>,
    /// Written since the last trim.
    events: u64,
}

impl Thread {
    fn run(mut self, mut waiting: mpsc::Receiver<Work>) {
        let mut open: Option<Open> = None;
        while let Some(first) = waiting.blocking_recv() {
            let mut all = vec![first];
            while all.len() < WAITING_MAX
                && let Ok(work) = waiting.try_recv()
            {
                all.push(work);
            }
            let result = self.perform(&mut open, &all);
            if result.is_err() {
                open = None;
            }
            self.give_back(&all, result.is_ok());
            for work in all {
                // Who no longer waits for the answer does not need it.
                drop(work.done.send(result.clone()));
            }
        }
    }

    fn perform(&mut self, open: &mut Option<Open>, all: &[Work]) -> Result<(), BrokerError> {
        if open.as_ref().is_some_and(|open| !open.is_current(&self.place)) {
            *open = None;
        }
        let open = match open {
            Some(open) => open,
            None => open.insert(connection::open(&self.place)?),
        };
        self.write(&open.connection, all).map_err(|error| self.place.failure(&error))
    }

    /// Begins once nobody else writes. SQLite's own way to wait is to look again after ever longer
    /// pauses, up to a tenth of a second, while others write for a millisecond at a time.
    fn begin<'a>(&self, connection: &'a Connection) -> rusqlite::Result<Transaction<'a>> {
        connection.busy_timeout(Duration::ZERO)?;
        let began = Instant::now();
        loop {
            let begun = Transaction::new_unchecked(connection, TransactionBehavior::Immediate);
            match begun {
                Err(error)
                    if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                        && began.elapsed() < self.place.timeout =>
                {
                    std::thread::sleep(TURN_PAUSE);
                }
                begun => return begun,
            }
        }
    }

    fn write(&mut self, connection: &Connection, all: &[Work]) -> rusqlite::Result<()> {
        let transaction = self.begin(connection)?;
        for Work { task, .. } in all {
            match task {
                Task::Settle(settlements) => {
                    for settlement in settlements {
                        self.settle(&transaction, settlement)?;
                    }
                }
                Task::Publish(messages) => {
                    for message in messages {
                        self.insert(&transaction, message)?;
                    }
                }
            }
        }
        if self.events >= EVENTS_BETWEEN_TRIMS {
            self.trim(&transaction)?;
            self.events = 0;
        }
        transaction.commit()
    }

    fn settle(&self, connection: &Connection, settlement: &Settlement) -> rusqlite::Result<()> {
        match settlement {
            Settlement::Done(receipt) => self.delete(connection, receipt),
            Settlement::Release(_) => Ok(()),
            Settlement::DeadLetter { delivery, error } => {
                let sql = format!(
                    "INSERT INTO {} (message_id, priority, body, source, error) \
                     VALUES (?1, ?2, ?3, ?4, ?5)",
                    table::name(&self.place.prefix, &Channel::Dead)
                );
                connection.prepare_cached(&sql)?.execute(params![
                    delivery.id.as_ref().map(|id| id.as_str()),
                    delivery.priority.unwrap_or(0),
                    &delivery.body[..],
                    delivery.receipt.channel.to_string(),
                    error,
                ])?;
                self.delete(connection, &delivery.receipt)
            }
        }
    }

    fn delete(&self, connection: &Connection, receipt: &Receipt) -> rusqlite::Result<()> {
        let Some((channel, row)) = held_row(receipt) else { return Ok(()) };
        let table = table::name(&self.place.prefix, &channel);
        let sql = format!("DELETE FROM {table} WHERE id = ?1");
        connection.prepare_cached(&sql)?.execute([row]).map(drop)
    }

    fn insert(&mut self, connection: &Connection, message: &Outgoing) -> rusqlite::Result<()> {
        let table = table::name(&self.place.prefix, &message.channel);
        let id = message.id.as_ref().map(|id| id.as_str());
        let (priority, body) = (message.priority.unwrap_or(0), &message.body[..]);
        if let Channel::Dispatch(worker) = &message.channel {
            let sql = format!(
                "INSERT INTO {table} (message_id, priority, body, worker) VALUES (?1, ?2, ?3, ?4)"
            );
            let values = params![id, priority, body, worker.as_str()];
            return connection.prepare_cached(&sql)?.execute(values).map(drop);
        }
        self.events += u64::from(message.channel == Channel::Events);
        let sql = format!("INSERT INTO {table} (message_id, priority, body) VALUES (?1, ?2, ?3)");
        connection.prepare_cached(&sql)?.execute(params![id, priority, body]).map(drop)
    }

    fn trim(&self, connection: &Connection) -> rusqlite::Result<()> {
        let table = table::name(&self.place.prefix, &Channel::Events);
        let kept = i64::try_from(self.place.events_max).unwrap_or(i64::MAX);
        let sql = format!("DELETE FROM {table} WHERE id <= (SELECT max(id) FROM {table}) - ?1");
        connection.execute(&sql, [kept]).map(drop)
    }

    /// What was given back, or could not be settled, is handed out again.
    fn give_back(&self, all: &[Work], written: bool) {
        let settlements = all.iter().filter_map(|work| match &work.task {
            Task::Settle(settlements) => Some(settlements),
            Task::Publish(_) => None,
        });
        let rows: Vec<(Channel, i64)> = settlements
            .flatten()
            .filter_map(|settlement| match settlement {
                Settlement::Release(receipt) => held_row(receipt),
                Settlement::Done(receipt) if !written => held_row(receipt),
                Settlement::DeadLetter { delivery, .. } if !written => held_row(&delivery.receipt),
                Settlement::Done(_) | Settlement::DeadLetter { .. } => None,
            })
            .collect();
        if !rows.is_empty() {
            self.released.add(rows);
        }
    }
}

fn held_row(receipt: &Receipt) -> Option<(Channel, i64)> {
    match &receipt.token {
        Token::Row(row) => Some((receipt.channel.clone(), *row)),
        // Settled, or a receipt of another broker.
        _ => None,
    }
}
