//! What can be submitted, for the document. It is read by the same code that reads files of jobs,
//! which keeps payloads as they were written and names a field that it does not know.

use std::collections::BTreeMap;

use serde_json::Value;
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, ObjectBuilder, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// A job. What is left out or null has its default.
#[derive(ToSchema)]
#[schema(example = json!({
    "id": "task-123", "type": "image_generation", "priority": "high", "payload": {},
    "dependencies": ["preprocess-xyz"], "timeout": 120, "retry": 3,
    "sender": "agentA", "receiver": "agentB"
}))]
#[expect(dead_code, reason = "it stands for its schema")]
pub(in crate::edges::rest) struct NewJob {
    /// Generated if it is left out.
    id: Option<MaybeName>,
    /// Its name in the run; the id if it is left out.
    node: Option<MaybeName>,
    r#type: Name,
    priority: Option<Priority>,
    /// Anything; kept as it was written.
    #[schema(value_type = Option<Value>)]
    payload: Option<Value>,
    /// Ids of jobs that must complete first.
    #[schema(max_items = 10_000)]
    dependencies: Option<Vec<Name>>,
    /// Seconds that an attempt may take.
    #[schema(minimum = 0)]
    timeout: Option<f64>,
    #[schema(minimum = 0)]
    retry: Option<u32>,
    sender: Option<MaybeName>,
    /// The one worker that may run it; excludes `role`.
    receiver: Option<MaybeName>,
    /// Any worker with this role.
    role: Option<MaybeName>,
    /// Millicores.
    cpu: Option<u32>,
    /// Bytes.
    memory: Option<u64>,
    /// The same, together.
    resources: Option<NewResources>,
    #[schema(max_items = 64)]
    capabilities: Option<Vec<Name>>,
    /// It must be warm, or be loaded first.
    model: Option<MaybeName>,
    guarantee: Option<Guarantee>,
    /// The same key again is the same job again.
    idempotency_key: Option<MaybeName>,
    /// Seconds to wait before it is ready.
    #[schema(minimum = 0)]
    delay: Option<f64>,
    /// A time as 2027-01-31T08:00:00Z, or seconds since 1970.
    not_before: Option<Moment>,
    #[schema(max_items = 64)]
    tags: Option<Vec<Name>>,
    on_failure: Option<OnFailure>,
    escalation: Option<NewEscalation>,
    /// How much data it works on, where that is not its payload: a hint for predictions.
    input_bytes: Option<u64>,
    /// The W3C trace context that it belongs to; that of the request's header if it is left out.
    #[schema(pattern = "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")]
    trace_parent: Option<String>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it stands for its schema")]
struct NewResources {
    /// Millicores.
    cpu: Option<u32>,
    /// Bytes.
    memory: Option<u64>,
}

/// What it asks for once its retries are used up.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it stands for its schema")]
struct NewEscalation {
    priority: Option<Priority>,
    role: Option<MaybeName>,
}

/// Jobs that are taken together or not at all.
#[derive(ToSchema)]
#[expect(dead_code, reason = "it stands for its schema")]
pub(in crate::edges::rest) struct NewRun {
    /// Generated if it is left out.
    run: Option<MaybeName>,
    jobs: NewJobs,
}

/// A name: not empty, at most 256 bytes, no control characters.
pub(in crate::edges::rest) struct Name;

impl ToSchema for Name {}

impl PartialSchema for Name {
    fn schema() -> RefOr<Schema> {
        name(1).into()
    }
}

/// A name, or an empty text for none.
struct MaybeName;

impl ToSchema for MaybeName {}

impl PartialSchema for MaybeName {
    fn schema() -> RefOr<Schema> {
        name(0).into()
    }
}

fn name(min_length: usize) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length(Some(min_length))
        .max_length(Some(bellwether_core::model::limits::NAME_BYTES_MAX))
        .pattern(Some("^[^\\x00-\\x1f\\x7f-\\x9f]*$"))
}

struct Guarantee;

impl ToSchema for Guarantee {}

impl PartialSchema for Guarantee {
    fn schema() -> RefOr<Schema> {
        words(["at_most_once", "at_least_once", "exactly_once"]).into()
    }
}

/// What to do when a dependency did not complete.
struct OnFailure;

impl ToSchema for OnFailure {}

impl PartialSchema for OnFailure {
    fn schema() -> RefOr<Schema> {
        words(["skip", "run"]).into()
    }
}

fn words<const N: usize>(words: [&str; N]) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}

struct Priority;

impl ToSchema for Priority {}

impl PartialSchema for Priority {
    fn schema() -> RefOr<Schema> {
        let words = words(["low", "normal", "high", "critical"]);
        let points =
            ObjectBuilder::new().schema_type(Type::Integer).enum_values(Some([25, 50, 75, 100]));
        AnyOfBuilder::new().item(words).item(points).into()
    }
}

struct Moment;

impl ToSchema for Moment {}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        use utoipa::openapi::schema::{KnownFormat, SchemaFormat};
        let time = ObjectBuilder::new()
            .schema_type(Type::String)
            .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
        let seconds = ObjectBuilder::new().schema_type(Type::Number).minimum(Some(0.0));
        AnyOfBuilder::new().item(time).item(seconds).into()
    }
}

/// A list of jobs, or jobs by their node.
struct NewJobs;

impl ToSchema for NewJobs {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        <BTreeMap<String, NewJob> as ToSchema>::schemas(schemas);
    }
}

impl PartialSchema for NewJobs {
    fn schema() -> RefOr<Schema> {
        let job = || Ref::from_schema_name("NewJob");
        let list = ArrayBuilder::new().items(job()).min_items(Some(1));
        let by_node =
            ObjectBuilder::new().schema_type(Type::Object).additional_properties(Some(job()));
        AnyOfBuilder::new().item(list).item(by_node).into()
    }
}

/// A job, or a run.
pub(in crate::edges::rest) struct NewSubmission;

impl ToSchema for NewSubmission {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        <NewRun as ToSchema>::schemas(schemas);
        schemas.push(("NewJob".to_owned(), NewJob::schema()));
        schemas.push(("NewRun".to_owned(), NewRun::schema()));
        <NewJob as ToSchema>::schemas(schemas);
    }
}

impl PartialSchema for NewSubmission {
    fn schema() -> RefOr<Schema> {
        let job = Ref::from_schema_name("NewJob");
        let run = Ref::from_schema_name("NewRun");
        AnyOfBuilder::new().item(job).item(run).into()
    }
}
