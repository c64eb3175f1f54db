//! What ClickHouse remembers of types, for predictions.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bellwether_core::Command;
use bellwether_core::model::limits::SAMPLES_MAX;
use bellwether_core::model::{Micros, Name, Sample, Timestamp};
use serde::Deserialize;

use crate::config::ClickHouse;

/// A start waits this long for it, and goes on without.
const WITHIN: Duration = Duration::from_secs(2);
/// Days that are looked back over.
const DAYS: u32 = 30;
/// Rows for each type and class of worker; some of them may be the same row sent twice.
const ROWS_EACH: usize = SAMPLES_MAX / 4;
/// Rows in all.
const ROWS_MAX: usize = 100_000;

#[derive(Debug, clickhouse::Row, Deserialize)]
struct Remembered {
    stream: String,
    position: u64,
    #[serde(rename = "type")]
    kind: String,
    sender: String,
    input_bytes: u64,
    cpu: u32,
    worker_class: String,
    started_us: u64,
    duration_us: u64,
}

#[derive(Debug, thiserror::Error)]
enum Forgotten {
    #[error(transparent)]
    ClickHouse(#[from] clickhouse::error::Error),
    #[error("it did not answer within {WITHIN:?}")]
    Late(#[from] tokio::time::error::Elapsed),
}

/// One command for each type that ClickHouse knows; none if it does not answer in time. A type that
/// has a history here takes nothing.
pub(crate) async fn remembered(config: &ClickHouse) -> Vec<Command> {
    let asked = async { Ok(tokio::time::timeout(WITHIN, ask(config)).await??) };
    match asked.await {
        Ok(rows) => commands(rows),
        Err::<_, Forgotten>(error) => {
            tracing::warn!(%error, "predictions start without the history in ClickHouse");
            Vec::new()
        }
    }
}

async fn ask(config: &ClickHouse) -> Result<Vec<Remembered>, clickhouse::error::Error> {
    let client = super::client(config).with_database(&config.database);
    let tables = "SELECT count() FROM system.tables WHERE name = 'executions' AND database = ";
    let tables = format!("{tables}'{}'", config.database);
    if super::client(config).query_raw(&tables).fetch_one::<u64>().await? == 0 {
        return Ok(Vec::new());
    }
    let query = format!(
        "SELECT stream, position, type, sender, input_bytes, cpu, worker_class, started_us, \
         duration_us FROM executions WHERE outcome = 'completed' AND at > now() - {DAYS} * 86400 \
         ORDER BY ended_us DESC LIMIT {ROWS_EACH} BY type, worker_class LIMIT {ROWS_MAX}"
    );
    client.query_raw(&query).fetch_all::<Remembered>().await
}

fn commands(rows: Vec<Remembered>) -> Vec<Command> {
    let mut seen = BTreeSet::new();
    let mut types: BTreeMap<Name, Vec<Sample>> = BTreeMap::new();
    for row in rows {
        let Some((kind, sample)) = sample(&row) else { continue };
        if seen.insert((row.stream, row.position)) {
            types.entry(kind).or_default().push(sample);
        }
    }
    types.into_iter().map(|(kind, samples)| Command::Warm { kind, samples }).collect()
}

/// None if somebody else wrote names there that are none here.
fn sample(row: &Remembered) -> Option<(Name, Sample)> {
    let sample = Sample {
        sender: Name::new(&row.sender).ok(),
        input_bytes: row.input_bytes,
        cpu: row.cpu,
        class: Name::new(&row.worker_class).ok()?,
        started: Timestamp(row.started_us),
        took: Micros(row.duration_us),
    };
    Some((Name::new(&row.kind).ok()?, sample))
}
