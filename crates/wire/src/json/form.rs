//! What the fields of a job look like, as JSON Schema.

use bellwether_core::model::limits::{KEYS_MAX, NAME_BYTES_MAX};
use serde_json::{Map, Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::{OneOfBuilder, RefOr, Schema};

use super::array::ARRAY_MAX;
use super::job::FIELDS;
use crate::concurrency::WEIGHT_MAX;

/// What may stand in a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// An empty one is none.
    Name,
    RequiredName,
    Names {
        max: usize,
    },
    Word(Words),
    /// A word, or its points.
    Priority(Words),
    Whole {
        max: u64,
    },
    Seconds,
    Moment,
    Trace,
    Resources,
    Escalation(Words),
    /// Keys, each alone or with how it is used.
    Keys(Words),
    /// A range, a list, or a file of lines.
    Array,
    Anything,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Words(pub(super) &'static [&'static str]);

/// Who the schema is for: what is written is told more narrowly than what is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Reads,
    Writes,
}

impl Form {
    fn schema(self, side: Side) -> Value {
        let reads = side == Side::Reads;
        match self {
            Form::Name => name(usize::from(!reads)),
            Form::RequiredName => name(1),
            Form::Names { max } => json!({ "type": "array", "items": name(1), "maxItems": max }),
            Form::Word(words) => words.schema(),
            Form::Priority(words) if reads => {
                json!({ "anyOf": [words.schema(), { "type": "integer", "enum": [25, 50, 75, 100] }] })
            }
            Form::Priority(words) => words.schema(),
            // JSON numbers are exact only so far.
            Form::Whole { max: u64::MAX } => json!({ "type": "integer", "minimum": 0 }),
            Form::Whole { max } => json!({ "type": "integer", "minimum": 0, "maximum": max }),
            Form::Seconds if reads => {
                let unit = "^[0-9]{1,4}(\\.[0-9]{1,6})?(us|ms|s|m|h|d)$";
                let number = json!({ "type": "number", "minimum": 0 });
                json!({ "anyOf": [number, { "type": "string", "pattern": unit }] })
            }
            Form::Seconds => json!({ "type": "number", "minimum": 0 }),
            Form::Moment if reads => {
                let seconds = json!({ "type": "number", "minimum": 0 });
                json!({ "anyOf": [{ "type": "string", "format": "date-time" }, seconds] })
            }
            Form::Moment => json!({ "type": "string", "format": "date-time" }),
            Form::Trace => {
                let pattern = "^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$";
                json!({ "type": "string", "pattern": pattern })
            }
            Form::Resources => object([
                ("cpu", Form::Whole { max: u32::MAX.into() }.on(side)),
                ("memory", Form::Whole { max: u64::MAX }.on(side)),
            ]),
            Form::Escalation(words) => object([
                ("priority", Form::Priority(words).on(side)),
                ("role", Form::Name.on(side)),
            ]),
            Form::Keys(words) => {
                let share = || json!({ "type": "integer", "minimum": 1, "maximum": WEIGHT_MAX });
                let mut used = object([
                    ("key", name(1)),
                    ("weight", share()),
                    ("limit", share()),
                    ("on_limit", words.schema()),
                ]);
                used["required"] = json!(["key"]);
                let items = if reads { json!({ "anyOf": [name(1), used] }) } else { used };
                json!({ "type": "array", "items": items, "maxItems": KEYS_MAX })
            }
            Form::Array => {
                let items = json!({ "type": ["string", "number", "boolean"] });
                let list = json!({ "type": "array", "items": items, "maxItems": ARRAY_MAX });
                json!({ "anyOf": [{ "type": "string" }, list] })
            }
            Form::Anything => json!({}),
        }
    }

    /// Null says nothing, as leaving a field out does.
    fn on(self, side: Side) -> Value {
        let mut schema = self.schema(side);
        let exempt = matches!(self, Form::Anything | Form::RequiredName);
        if side == Side::Writes || exempt {
            return schema;
        }
        if let Some(Value::Array(choices)) = schema.get_mut("anyOf") {
            choices.push(json!({ "type": "null" }));
            return schema;
        }
        if let Some(Value::Array(words)) = schema.get_mut("enum") {
            words.push(Value::Null);
        }
        schema["type"] = json!([schema["type"], "null"]);
        schema
    }
}

impl Words {
    fn schema(self) -> Value {
        json!({ "type": "string", "enum": self.0 })
    }
}

fn object<const N: usize>(properties: [(&str, Value); N]) -> Value {
    let properties: Map<_, _> =
        properties.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// The schema of a name.
pub fn name(bytes_min: usize) -> Value {
    json!({
        "type": "string",
        "minLength": bytes_min,
        "maxLength": NAME_BYTES_MAX,
        "pattern": "^[^\\x00-\\x1f\\x7f-\\x9f]*$",
    })
}

/// Every field of a job by its name, with what it is for people.
pub fn properties(side: Side) -> Map<String, Value> {
    let shown = FIELDS.iter().filter(|field| {
        // It is only another way to write others.
        side == Side::Reads || !matches!(field.form, Form::Resources | Form::Array)
    });
    shown
        .map(|field| {
            let mut schema = field.form.on(side);
            schema["description"] = json!(field.doc);
            (field.name.to_owned(), schema)
        })
        .collect()
}

/// The schema of a job that is submitted.
pub fn job_schema() -> Value {
    json!({
        "type": "object",
        "description": "A job. What is left out or null has its default.",
        "properties": properties(Side::Reads),
        "required": ["type"],
        "additionalProperties": false,
    })
}

/// Marks a schema of ours in a document.
const OURS: &str = "x-ours";

/// A schema of ours on its way through utoipa, whose types can't hold all that a schema may say. It
/// stands in the document once [`unwrap`] has been there.
pub fn wrap(schema: Value) -> RefOr<Schema> {
    let ours: Extensions = [(OURS, schema)].into_iter().collect();
    Schema::from(OneOfBuilder::new().extensions(Some(ours)).build()).into()
}

/// Puts the schemas that were wrapped into their places.
pub fn unwrap(document: &mut Value) {
    match document {
        Value::Object(object) => {
            if let Some(ours) = object.remove(OURS) {
                *document = ours;
                return unwrap(document);
            }
            object.values_mut().for_each(unwrap);
        }
        Value::Array(list) => list.iter_mut().for_each(unwrap),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The schema of a run; `job` is a reference to that of a job.
pub fn run_schema(job: &Value) -> Value {
    let mut run = Form::Name.on(Side::Reads);
    run["description"] = json!("What its id begins with.");
    let mut key = Form::Name.on(Side::Reads);
    key["description"] =
        json!("The same key again is the same run again; without one it is a new run.");
    json!({
        "type": "object",
        "description": "Jobs that are taken together or not at all.",
        "properties": {
            "run": run,
            "idempotency_key": key,
            "parameters": {
                "description": "Names that stand for values in all texts of the run, as {{name}}, with their defaults; null if a value must be given.",
                "type": ["object", "null"],
            },
            "set": {
                "description": "Values of parameters.",
                "type": ["object", "null"],
            },
            "jobs": {
                "description": "A list of jobs, or jobs by their node.",
                "anyOf": [
                    { "type": "array", "items": job, "minItems": 1 },
                    { "type": "object", "additionalProperties": job },
                ],
            },
        },
        "required": ["jobs"],
        "additionalProperties": false,
    })
}
