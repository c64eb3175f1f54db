//! What can be submitted, for the document. The schemas come from the table by which jobs are read.

use bellwether_wire::json::form::{self, wrap};
use serde_json::json;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

pub(in crate::edges::rest) struct NewJob;

impl ToSchema for NewJob {}

impl PartialSchema for NewJob {
    fn schema() -> RefOr<Schema> {
        let mut schema = form::job_schema();
        schema["example"] = json!({
            "id": "task-123", "type": "image_generation", "priority": "high", "payload": {},
            "dependencies": ["preprocess-xyz"], "timeout": 120, "retry": 3,
            "sender": "agentA", "receiver": "agentB",
        });
        wrap(schema)
    }
}

pub(in crate::edges::rest) struct NewRun;

impl ToSchema for NewRun {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push(("NewJob".to_owned(), NewJob::schema()));
    }
}

impl PartialSchema for NewRun {
    fn schema() -> RefOr<Schema> {
        wrap(form::run_schema(&json!({ "$ref": "#/components/schemas/NewJob" })))
    }
}

/// A job, or a run.
pub(in crate::edges::rest) struct NewSubmission;

impl ToSchema for NewSubmission {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        NewRun::schemas(schemas);
        schemas.push(("NewRun".to_owned(), NewRun::schema()));
    }
}

impl PartialSchema for NewSubmission {
    fn schema() -> RefOr<Schema> {
        let of = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        wrap(json!({ "anyOf": [of("NewJob"), of("NewRun")] }))
    }
}

/// A name: not empty, at most 256 bytes, no control characters.
pub(in crate::edges::rest) struct Name;

impl ToSchema for Name {}

impl PartialSchema for Name {
    fn schema() -> RefOr<Schema> {
        wrap(form::name(1))
    }
}
