//! One thing done to many jobs: how far it is.

use bellwether_wire::json::unit::{Moment, moment};
use bellwether_wire::v1;
use serde::Serialize;
use utoipa::ToSchema;

use crate::edges::desk::{Action, Operation};

/// One thing done to many jobs.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Operation)]
pub(in crate::edges::rest) struct OperationView {
    id: String,
    /// cancel or retry.
    action: &'static str,
    /// running, done or failed.
    state: &'static str,
    /// Jobs that it is about; absent while they are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    done: u64,
    refused: u64,
    /// The first of the refusals.
    refusals: Vec<RefusedJob>,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Moment>,
    /// Why it ended before its time.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

#[derive(Debug, Serialize, ToSchema)]
struct RefusedJob {
    id: String,
    code: String,
    detail: String,
}

#[derive(Debug, Serialize, ToSchema)]
pub(in crate::edges::rest) struct Operations {
    pub(in crate::edges::rest) operations: Vec<OperationView>,
}

impl From<&Operation> for OperationView {
    fn from(operation: &Operation) -> OperationView {
        let progress = operation.progress();
        let refused = |refused: v1::Refused| {
            let rejection = refused.rejection.unwrap_or_default();
            RefusedJob { id: refused.id, code: rejection.code, detail: rejection.message }
        };
        OperationView {
            id: operation.id.clone(),
            action: match operation.action {
                Action::Cancel { .. } => "cancel",
                Action::Retry { .. } => "retry",
            },
            state: match (&progress.failure, progress.ended_at) {
                (Some(_), _) => "failed",
                (None, 0) => "running",
                (None, _) => "done",
            },
            total: progress.total,
            done: progress.done,
            refused: progress.refused,
            refusals: progress.refusals.into_iter().map(refused).collect(),
            started_at: moment(operation.started_at),
            ended_at: moment(progress.ended_at),
            failure: progress.failure,
        }
    }
}
