//! Rows as they are sent, field by field in the order of the tables. Names are shared, not copied:
//! there may be a hundred thousand rows a second.

use bellwether_core::model::{Name, Seq};
use serde::{Serialize, Serializer};

#[derive(Debug)]
pub(crate) enum Row {
    Decision(DecisionRow),
    Execution(ExecutionRow),
}

impl Row {
    pub(super) fn position(&self) -> Seq {
        match self {
            Row::Decision(row) => Seq(row.position),
            Row::Execution(row) => Seq(row.position),
        }
    }
}

#[derive(Debug, clickhouse::Row, Serialize)]
pub(crate) struct DecisionRow {
    pub(super) stream: Name,
    /// The token of the attempt: where the decision is in the journal.
    pub(super) position: u64,
    /// Seconds.
    pub(super) at: u32,
    pub(super) at_us: u64,
    pub(super) job: u64,
    pub(super) job_id: Name,
    #[serde(rename = "type")]
    pub(super) kind: Name,
    #[serde(serialize_with = "or_empty")]
    pub(super) run_id: Option<Name>,
    pub(super) attempt: u32,
    #[serde(serialize_with = "or_empty")]
    pub(super) worker: Option<Name>,
    pub(super) hedge: bool,
    pub(super) strategy: &'static str,
    pub(super) fallback: bool,
    pub(super) reason: &'static str,
    pub(super) score: i64,
    pub(super) predicted_wait_us: u64,
    pub(super) predicted_us: u64,
    pub(super) confidence_percent: u8,
    pub(super) load_model: bool,
    pub(super) queued_us: u64,
    pub(super) losers: Vec<Name>,
    pub(super) loser_scores: Vec<i64>,
    #[serde(serialize_with = "or_empty")]
    pub(super) shadow_worker: Option<Name>,
}

#[derive(Debug, clickhouse::Row, Serialize)]
pub(crate) struct ExecutionRow {
    pub(super) stream: Name,
    /// Where the end of the attempt is in the journal.
    pub(super) position: u64,
    /// Seconds: when it ended.
    pub(super) at: u32,
    /// Where its decision is in the journal.
    pub(super) token: u64,
    pub(super) job: u64,
    pub(super) job_id: Name,
    #[serde(rename = "type")]
    pub(super) kind: Name,
    #[serde(serialize_with = "or_empty")]
    pub(super) run_id: Option<Name>,
    #[serde(serialize_with = "or_empty")]
    pub(super) sender: Option<Name>,
    pub(super) attempt: u32,
    #[serde(serialize_with = "or_empty")]
    pub(super) worker: Option<Name>,
    #[serde(serialize_with = "or_empty")]
    pub(super) worker_class: Option<Name>,
    pub(super) hedge: bool,
    pub(super) outcome: &'static str,
    pub(super) cause: &'static str,
    pub(super) error: String,
    pub(super) submitted_us: u64,
    pub(super) offered_us: u64,
    /// 0 if it never started.
    pub(super) started_us: u64,
    pub(super) ended_us: u64,
    pub(super) duration_us: u64,
    pub(super) predicted_us: u64,
    pub(super) input_bytes: u64,
    pub(super) cpu: u32,
    pub(super) result_hash: String,
    pub(super) trace_id: String,
}

fn or_empty<S: Serializer>(name: &Option<Name>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name.as_ref().map_or("", Name::as_str))
}
