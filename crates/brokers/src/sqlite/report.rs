//! What can be said about a file before it is used.

use rusqlite::TransactionBehavior;

use super::{Place, connection, table};
use crate::channel::Channel;
use crate::report::Report;

pub(super) fn check(place: &Place) -> Report {
    let mut report = Report::of(place.server());
    let mut open = match connection::open(place) {
        Ok(open) => open,
        Err(error) => {
            report.failed("reachable", &error);
            return report;
        }
    };
    report.version = Some(rusqlite::version().to_owned());
    report.good("reachable", "the file is open, with a write-ahead log");
    for channel in [Channel::Jobs, Channel::Replies, Channel::Events, Channel::Dead] {
        match table::count(&open.connection, &place.prefix, &channel) {
            Ok(count) => report.depth(channel.kind(), count),
            Err(error) => report.failed(channel.kind(), &place.failure(&error)),
        }
    }
    let written = open
        .connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .and_then(|transaction| {
            let table = table::name(&place.prefix, &Channel::Jobs);
            transaction.execute(&format!("INSERT INTO {table} (body) VALUES ('')"), [])?;
            transaction.rollback()
        });
    match written {
        Ok(()) => report.good("permissions", "rows can be written"),
        Err(error) => report.failed("permissions", &place.failure(&error)),
    }
    report
}
