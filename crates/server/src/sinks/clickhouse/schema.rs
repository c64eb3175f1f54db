//! The tables, and how they came to be what they are.

use clickhouse::Client;
use clickhouse::error::Error;

/// One step from one version of the tables to the next. Steps that have been released never change.
enum Step {
    Run(&'static str),
    /// Old servers do not know `ADD COLUMN IF NOT EXISTS`.
    AddColumn {
        table: &'static str,
        column: &'static str,
        kind: &'static str,
    },
}

/// Rows with the same key are the same row: of those that were sent twice one remains.
const DECISIONS: &str = "CREATE TABLE IF NOT EXISTS decisions (
    stream String, position UInt64, at DateTime, at_us UInt64, job UInt64, job_id String,
    type String, run_id String, attempt UInt32, worker String, hedge UInt8, strategy String,
    fallback UInt8, reason String, score Int64, predicted_wait_us UInt64, predicted_us UInt64,
    confidence_percent UInt8, load_model UInt8, queued_us UInt64, losers Array(String),
    loser_scores Array(Int64), shadow_worker String
) ENGINE = ReplacingMergeTree() PARTITION BY toYYYYMM(at) ORDER BY (stream, position)";

const EXECUTIONS: &str = "CREATE TABLE IF NOT EXISTS executions (
    stream String, position UInt64, at DateTime, token UInt64, job UInt64, job_id String,
    type String, run_id String, sender String, attempt UInt32, worker String, worker_class String,
    hedge UInt8, outcome String, cause String, error String, submitted_us UInt64,
    offered_us UInt64, started_us UInt64, ended_us UInt64, duration_us UInt64,
    predicted_us UInt64, input_bytes UInt64, cpu UInt32, result_hash String
) ENGINE = ReplacingMergeTree() PARTITION BY toYYYYMM(at) ORDER BY (stream, position)";

/// Version 1 is the first, and so on.
const MIGRATIONS: &[&[Step]] = &[
    &[Step::Run(DECISIONS), Step::Run(EXECUTIONS)],
    &[Step::AddColumn { table: "executions", column: "trace_id", kind: "String" }],
];

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS schema_versions (
    version UInt32, applied_at DateTime DEFAULT now()
) ENGINE = MergeTree() ORDER BY version";

/// Brings the database up to date. Two schedulers may do so at once: every step can be repeated.
pub(super) async fn migrate(base: &Client, database: &str) -> Result<(), Error> {
    base.query_raw(&format!("CREATE DATABASE IF NOT EXISTS `{database}`")).execute().await?;
    let client = base.clone().with_database(database);
    client.query_raw(VERSIONS).execute().await?;
    let query = client.query_raw("SELECT max(version) FROM schema_versions");
    let known = query.fetch_one::<u32>().await? as usize;
    if known > MIGRATIONS.len() {
        tracing::warn!(known, "the tables in ClickHouse are of a later version");
    }
    for (version, steps) in (1_u32..).zip(MIGRATIONS).skip(known) {
        for step in *steps {
            apply(&client, database, step).await?;
        }
        let insert = format!("INSERT INTO schema_versions (version) VALUES ({version})");
        client.query_raw(&insert).execute().await?;
        tracing::info!(version, "the tables in ClickHouse were brought up to date");
    }
    Ok(())
}

async fn apply(client: &Client, database: &str, step: &Step) -> Result<(), Error> {
    match step {
        Step::Run(statement) => client.query_raw(statement).execute().await,
        Step::AddColumn { table, column, kind } => {
            let known = format!(
                "SELECT count() FROM system.columns \
                 WHERE database = '{database}' AND table = '{table}' AND name = '{column}'"
            );
            if client.query_raw(&known).fetch_one::<u64>().await? > 0 {
                return Ok(());
            }
            let add = format!("ALTER TABLE {table} ADD COLUMN {column} {kind}");
            client.query_raw(&add).execute().await
        }
    }
}
