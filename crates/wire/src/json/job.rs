//! The one table of a job's fields: what each is called, what it is for people, how it is read and
//! written, and what it looks like. Everything that reads or writes a job as JSON goes by it: REST,
//! files, queues and the command line, events and dispatches, and the schema of them all.

use std::sync::{Arc, LazyLock};

use bellwether_core::Word as _;
use bellwether_core::model::limits::{DEPENDENCIES_MAX, LABELS_MAX};
use bellwether_core::model::{
    Aside, Escalation, Extras, Guarantee, JobId, JobSpec, KeySet, KeyUse, Micros, Name, OnFailure,
    OnLimit, Priority, Requirements, Target, Timestamp, TraceParent,
};
use bytes::Bytes;
use serde_json::value::RawValue;

use super::concurrency::read_keys;
use super::field::{Fields, Given, fields};
use super::form::{Form, Words};
use super::legible::Legibility;
use super::written::Written;
use crate::concurrency::{distinct, first_plain};
use crate::malformed::{Malformed, Problem, chosen_id, label_set, names};

/// A field of a job.
#[derive(Debug)]
pub struct Field {
    pub name: &'static str,
    /// What it is, for people.
    pub doc: &'static str,
    pub(super) form: Form,
    read: fn(Given<'_>, &mut Draft) -> Result<(), Malformed>,
    /// None if it has its default, or stands for other fields.
    pub(super) write: for<'a> fn(&'a JobSpec) -> Option<Written<'a>>,
}

const PRIORITIES: Words = Words(Priority::WORDS);
const GUARANTEES: Words = Words(Guarantee::WORDS);
const ON_LIMIT: Words = Words(OnLimit::WORDS);
const ON_FAILURE: Words = Words(OnFailure::WORDS);

/// In the order in which they are written.
pub static FIELDS: &[Field] = &[
    Field {
        name: "id",
        doc: "Generated if it is left out.",
        form: Form::Name,
        read: |given, job| {
            job.id = chosen_id("id", given.name()?)?;
            Ok(())
        },
        write: |job| Some(Written::Name(job.id.as_name())),
    },
    Field {
        name: "type",
        doc: "What kind of work it is: workers say which types they run.",
        form: Form::RequiredName,
        read: |given, job| {
            job.kind = given.name()?;
            Ok(())
        },
        write: |job| Some(Written::Name(job.kind())),
    },
    Field {
        name: "node",
        doc: "Its name in the run; the id if it is left out.",
        form: Form::Name,
        read: |given, job| {
            job.spec.node = given.name()?;
            Ok(())
        },
        write: |job| job.node.as_ref().map(Written::Name),
    },
    Field {
        name: "array",
        doc: "Makes a job for each item, in a run or a file: a range as 1-1000 or 1-1000:10, a list, or \
              a file of lines as @names.txt. In its texts {{item}} is the item and {{index}} its number.",
        form: Form::Array,
        read: |given, _| Err(given.wrong("an array is many jobs; submit it in a run")),
        write: |_| None,
    },
    Field {
        name: "priority",
        doc: "How urgent it is.",
        form: Form::Priority(PRIORITIES),
        read: |given, job| {
            job.priority = Some(priority(given)?);
            Ok(())
        },
        write: |job| Some(Written::Word(job.priority.as_str())),
    },
    Field {
        name: "payload",
        doc: "Anything, nested at most 100 deep; kept as it was written.",
        form: Form::Anything,
        read: |given, job| {
            if !Legibility::of(given.raw.get()).is_shallow() {
                return Err(given.wrong("it must be nested at most 100 deep"));
            }
            job.spec.payload = Bytes::copy_from_slice(given.raw.get().as_bytes());
            Ok(())
        },
        write: |job| Some(Written::Payload(&job.payload)),
    },
    Field {
        name: "dependencies",
        doc: "Ids of jobs that must complete first.",
        form: Form::Names { max: DEPENDENCIES_MAX },
        read: |given, job| {
            job.spec.dependencies =
                names(given.name, &given.texts(DEPENDENCIES_MAX)?, DEPENDENCIES_MAX)?.into();
            Ok(())
        },
        write: |job| (!job.dependencies.is_empty()).then_some(Written::Ids(&job.dependencies)),
    },
    Field {
        name: "timeout",
        doc: "How long an attempt may take; as configured if it is left out.",
        form: Form::Seconds,
        read: |given, job| {
            job.spec.timeout = Some(given.seconds()?);
            Ok(())
        },
        write: |job| job.timeout.map(Written::Seconds),
    },
    Field {
        name: "retry",
        doc: "How often it is tried again; as configured if it is left out.",
        form: Form::Whole { max: u32::MAX as u64 },
        read: |given, job| {
            job.spec.retry = Some(given.parse(COUNT)?);
            Ok(())
        },
        write: |job| job.retry.map(|retry| Written::Whole(retry.into())),
    },
    Field {
        name: "guarantee",
        doc: "How often it may run.",
        form: Form::Word(GUARANTEES),
        read: |given, job| {
            const WANTED: &str = "it must be at_most_once, at_least_once or exactly_once";
            job.spec.guarantee = given.choice(WANTED, Guarantee::parse)?;
            Ok(())
        },
        write: |job| Some(Written::Word(job.guarantee.as_str())),
    },
    Field {
        name: "sender",
        doc: "Who it comes from: jobs of one sender are expected to take alike.",
        form: Form::Name,
        read: |given, job| {
            job.spec.sender = given.name()?;
            Ok(())
        },
        write: |job| job.sender.as_ref().map(Written::Name),
    },
    Field {
        name: "role",
        doc: "Any worker with this role may run it; excludes `receiver`.",
        form: Form::Name,
        read: |given, job| job.target(given.name()?.map(Target::Role)),
        write: |job| match &job.requirements.target {
            Target::Role(role) => Some(Written::Name(role)),
            Target::Any | Target::Receiver(_) => None,
        },
    },
    Field {
        name: "receiver",
        doc: "The one worker that may run it; excludes `role`.",
        form: Form::Name,
        read: |given, job| job.target(given.name()?.map(Target::Receiver)),
        write: |job| match &job.requirements.target {
            Target::Receiver(worker) => Some(Written::Name(worker.as_name())),
            Target::Any | Target::Role(_) => None,
        },
    },
    Field {
        name: "resources",
        doc: "`cpu` and `memory`, together.",
        form: Form::Resources,
        read: |given, job| read_resources(given, job).map_err(|e| e.within("resources")),
        write: |_| None,
    },
    Field {
        name: "cpu",
        doc: "Millicores that it needs.",
        form: Form::Whole { max: u32::MAX as u64 },
        read: read_cpu,
        write: |job| positive(job.requirements.resources.cpu.into()),
    },
    Field {
        name: "memory",
        doc: "Bytes that it needs.",
        form: Form::Whole { max: u64::MAX },
        read: read_memory,
        write: |job| positive(job.requirements.resources.memory),
    },
    Field {
        name: "capabilities",
        doc: "What the worker must be able to do.",
        form: Form::Names { max: LABELS_MAX },
        read: |given, job| {
            let capabilities = label_set(given.name, &given.texts(LABELS_MAX)?, LABELS_MAX)?;
            job.requirements.capabilities = capabilities;
            Ok(())
        },
        write: |job| listed(&job.requirements.capabilities),
    },
    Field {
        name: "model",
        doc: "It must be warm at the worker, or be loaded first.",
        form: Form::Name,
        read: |given, job| {
            job.requirements.model = given.name()?;
            Ok(())
        },
        write: |job| job.requirements.model.as_ref().map(Written::Name),
    },
    Field {
        name: "idempotency_key",
        doc: "The same key again is the same job again.",
        form: Form::Name,
        read: |given, job| {
            job.spec.idempotency_key = given.name()?;
            Ok(())
        },
        write: |job| job.idempotency_key.as_ref().map(Written::Name),
    },
    Field {
        name: "concurrency_key",
        doc: "What it shares with other jobs, as a tenant or a machine: no more of them run at a time \
              than the limit of the key allows. {type}, {sender}, {tags} and {payload.FIELD} in it \
              stand for what the job says there.",
        form: Form::Name,
        read: |given, job| {
            if let Some(key) = given.name()? {
                job.keys.insert(0, KeyUse::plain(key));
            }
            Ok(())
        },
        write: |job| first_plain(job.keys()).0.map(Written::Name),
    },
    Field {
        name: "concurrency",
        doc: "Other keys, each as a text or with a `weight` (how much of the limit it takes), a `limit` \
              of its own, and what to do `on_limit`.",
        form: Form::Keys(ON_LIMIT),
        read: |given, job| {
            job.keys.append(&mut read_keys(given)?);
            Ok(())
        },
        write: |job| {
            let others = first_plain(job.keys()).1;
            (!others.is_empty()).then_some(Written::Keys(others))
        },
    },
    Field {
        name: "delay",
        doc: "How long to wait before it is ready.",
        form: Form::Seconds,
        read: |given, job| {
            job.extras.delay = given.seconds()?;
            Ok(())
        },
        write: |job| {
            let delay = job.extras().delay;
            (delay > Micros::ZERO).then_some(Written::Seconds(delay))
        },
    },
    Field {
        name: "not_before",
        doc: "When it may start: a time as 2027-01-31T08:00:00Z, or seconds since 1970.",
        form: Form::Moment,
        read: |given, job| {
            job.extras.not_before = given.moment()?;
            Ok(())
        },
        write: |job| {
            let not_before = job.extras().not_before;
            (not_before > Timestamp(0)).then_some(Written::Time(not_before))
        },
    },
    Field {
        name: "tags",
        doc: "To find it by.",
        form: Form::Names { max: LABELS_MAX },
        read: |given, job| {
            job.spec.tags = names(given.name, &given.texts(LABELS_MAX)?, LABELS_MAX)?.into();
            Ok(())
        },
        write: |job| listed(&job.tags),
    },
    Field {
        name: "on_failure",
        doc: "What it does when a dependency did not complete.",
        form: Form::Word(ON_FAILURE),
        read: |given, job| {
            job.spec.on_failure = given.choice("it must be skip or run", OnFailure::parse)?;
            Ok(())
        },
        write: |job| {
            (job.on_failure == OnFailure::Run).then(|| Written::Word(job.on_failure.as_str()))
        },
    },
    Field {
        name: "escalation",
        doc: "What it asks for once its retries are used up.",
        form: Form::Escalation(PRIORITIES),
        read: |given, job| {
            let escalation = escalation(given).map_err(|error| error.within("escalation"))?;
            job.extras.escalation = Some(escalation);
            Ok(())
        },
        write: |job| job.extras().escalation.as_ref().map(Written::Escalation),
    },
    Field {
        name: "input_bytes",
        doc: "How much data it works on, where that is not its payload: a hint for predictions.",
        form: Form::Whole { max: u64::MAX },
        read: |given, job| {
            job.extras.input_bytes = Some(given.parse(BYTES)?);
            Ok(())
        },
        write: |job| job.extras().input_bytes.map(Written::Whole),
    },
    Field {
        name: "trace_parent",
        doc: "The W3C trace context that it belongs to; that of the request's header if it is left \
              out.",
        form: Form::Trace,
        read: |given, job| {
            const WANTED: &str = "it must be as 00-<32 hex digits>-<16 hex digits>-<2 hex digits>";
            let text: String = given.parse(WANTED)?;
            if !text.is_empty() {
                let trace = TraceParent::parse(&text).map_err(|_| given.wrong(WANTED))?;
                job.extras.trace_parent = Some(trace);
            }
            Ok(())
        },
        write: |job| job.extras().trace_parent.map(Written::Trace),
    },
];

const COUNT: &str = "it must be a whole number, 0 or more";
const BYTES: &str = "it must be a whole number of bytes";

fn listed(names: &[Name]) -> Option<Written<'_>> {
    (!names.is_empty()).then_some(Written::Names(names))
}

fn positive(number: u64) -> Option<Written<'static>> {
    (number > 0).then_some(Written::Whole(number))
}

fn read_resources(given: Given<'_>, job: &mut Draft) -> Result<(), Malformed> {
    for (name, raw) in fields(given.raw, &["cpu", "memory"])?.into_sorted() {
        let read = if name == "cpu" { read_cpu } else { read_memory };
        read(Given { name: &name, raw }, job)?;
    }
    Ok(())
}

fn read_cpu(given: Given<'_>, job: &mut Draft) -> Result<(), Malformed> {
    job.requirements.resources.cpu = given.parse("it must be a whole number of millicores")?;
    Ok(())
}

fn read_memory(given: Given<'_>, job: &mut Draft) -> Result<(), Malformed> {
    job.requirements.resources.memory = given.parse(BYTES)?;
    Ok(())
}

fn priority(given: Given<'_>) -> Result<Priority, Malformed> {
    const WANTED: &str = "it must be low, normal, high or critical (or 25, 50, 75 or 100)";
    given.choice(WANTED, |word| {
        let is_it = |one: &Priority| one.as_str() == word || one.points().to_string() == word;
        Priority::ALL.into_iter().find(is_it)
    })
}

fn escalation(given: Given<'_>) -> Result<Escalation, Malformed> {
    let mut escalation = Escalation { priority: None, role: None };
    for (name, raw) in fields(given.raw, &["priority", "role"])?.into_sorted() {
        let given = Given { name: &name, raw };
        match &*name {
            "priority" => escalation.priority = Some(priority(given)?),
            _ => escalation.role = given.name()?,
        }
    }
    Ok(escalation)
}

/// A job as somebody wrote it: it may still be given what it does not say.
#[derive(Debug, Clone)]
pub struct Draft {
    pub id: Option<JobId>,
    pub priority: Option<Priority>,
    /// All of it that is neither beside it nor private; its id, type and requirements are not yet
    /// its own.
    pub spec: JobSpec,
    kind: Option<Name>,
    requirements: Requirements,
    extras: Extras,
    keys: Vec<KeyUse>,
    key_set: Option<Arc<KeySet>>,
}

static NAMES: LazyLock<Vec<&str>> =
    LazyLock::new(|| FIELDS.iter().map(|field| field.name).collect());

/// What a draft begins with, so that it costs no memory of its own.
static BLANK: LazyLock<JobSpec> =
    LazyLock::new(|| JobSpec::new(JobId::fixed("blank"), Name::fixed("blank")));

impl Draft {
    /// Reads a job. Its own fields are valid then; nothing is checked against the state.
    pub(super) fn of(given: Fields<'_>) -> Result<Draft, Malformed> {
        let given = given.only(&NAMES)?;
        let mut draft = Draft {
            id: None,
            priority: None,
            spec: BLANK.clone(),
            kind: None,
            requirements: (*BLANK.requirements).clone(),
            extras: Extras::default(),
            keys: Vec::new(),
            key_set: None,
        };
        for field in FIELDS {
            if let Some(raw) = given.get(field.name) {
                (field.read)(Given { name: field.name, raw }, &mut draft)?;
            }
        }
        draft.key_set = distinct(std::mem::take(&mut draft.keys))?;
        draft.requirements.kind = draft.kind.take().ok_or_else(|| Malformed::missing("type"))?;
        Ok(draft)
    }

    pub(super) fn from_json(raw: &RawValue) -> Result<Draft, Malformed> {
        Draft::of(Fields::of(raw)?)
    }

    /// `generate` gives the job an id if it has none.
    pub(super) fn complete(self, generate: &mut dyn FnMut() -> JobId) -> JobSpec {
        JobSpec {
            id: self.id.unwrap_or_else(generate),
            priority: self.priority.unwrap_or_default(),
            requirements: Arc::new(self.requirements),
            aside: Aside::boxed(self.key_set, self.extras),
            ..self.spec
        }
    }

    fn target(&mut self, target: Option<Target>) -> Result<(), Malformed> {
        match target {
            None => Ok(()),
            Some(_) if self.requirements.target != Target::Any => {
                Err(Malformed::new("receiver", Problem::Excludes { other: "role" }))
            }
            Some(target) => {
                self.requirements.target = target;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::form::{job_schema, run_schema};
    use super::super::{job_from_json, job_spec_to_json};
    use super::*;
    use crate::job::{job_to_wire, taken_job_from_wire};

    fn read(job: &Value) -> JobSpec {
        let raw = serde_json::value::to_raw_value(job).unwrap();
        let draft = job_from_json(&raw).unwrap();
        draft.complete(&mut || JobId::fixed("generated")).jobs.remove(0)
    }

    fn with_every_field() -> Value {
        json!({
            "id": "a", "type": "t", "node": "n", "priority": "high", "payload": { "z": [1, 2] },
            "dependencies": ["b", "c"], "timeout": 1.5, "retry": 2, "guarantee": "exactly_once",
            "sender": "s", "receiver": "w", "cpu": 500, "memory": 1024, "capabilities": ["gpu"],
            "model": "m", "idempotency_key": "k", "concurrency_key": "tenant",
            "concurrency": [{ "key": "gpu", "weight": 2, "limit": 3, "on_limit": "skip" }, { "key": "b" }], "delay": 2.0,
            "not_before": "2027-01-31T08:00:00Z", "tags": ["x", "y"], "on_failure": "run",
            "escalation": { "priority": "critical", "role": "experts" }, "input_bytes": 7,
            "trace_parent": "00-07070707070707070707070707070707-0808080808080808-01",
        })
    }

    #[test]
    fn every_field_is_read_and_written_the_same_and_survives_the_wire() {
        let given = with_every_field();
        // Role and receiver exclude each other; resources is another way to write two others, and an
        // array is many jobs.
        let elsewhere = ["role", "resources", "array"];
        let named = |field: &&Field| !elsewhere.contains(&field.name);
        for field in FIELDS.iter().filter(named) {
            assert!(given.get(field.name).is_some(), "{} is not in the test", field.name);
        }
        let spec = read(&given);
        assert_eq!(job_spec_to_json(&spec), given);
        assert_eq!(taken_job_from_wire(&job_to_wire(&spec)), Ok(spec));
    }

    #[test]
    fn spans_may_have_units() {
        let spec = read(&json!({ "type": "t", "timeout": "5m", "delay": "250ms" }));
        assert_eq!(spec.timeout, Some(Micros::from_secs(300)));
        assert_eq!(spec.extras().delay, Micros::from_millis(250));
    }

    #[test]
    fn of_a_job_that_says_little_little_is_written() {
        let spec = read(&json!({ "type": "t", "role": "r", "resources": { "cpu": 5 }, "cpu": 7 }));
        let expected = json!({
            "id": "generated", "type": "t", "priority": "normal", "guarantee": "at_least_once",
            "role": "r", "cpu": 7,
        });
        assert_eq!(job_spec_to_json(&spec), expected);
    }

    #[test]
    fn the_published_schema_is_what_the_table_says() {
        let text = include_str!("../../../../docs/schema/queue-message.schema.json");
        let published: Value = serde_json::from_str(text).unwrap();
        let expected =
            [("job", job_schema()), ("run", run_schema(&json!({ "$ref": "#/$defs/job" })))];
        for (name, schema) in expected {
            assert_eq!(published["$defs"][name], schema, "$defs.{name} should be {schema:#}");
        }
    }
}
