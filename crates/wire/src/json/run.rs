//! Files of jobs: one job, several, or runs; JSON, JSON lines or YAML.

use std::collections::BTreeMap;
use std::fmt;

use bellwether_core::model::limits::RUN_JOBS_MAX;
use bellwether_core::model::{JobId, Name, RunId, Submission, excerpt};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::array::{Items, ReadFile, no_files};
use super::bounded::{Bounded, entries, items};
use super::documents::documents;
use super::field::{Fields, Given, wrong};
use super::hex;
use super::job::Draft;
use super::plan::{Array, INDEX, ITEM, Part, Plan, What};
use super::template::{Texts, Values, fill, values};
use super::unique::Unique;
use crate::malformed::{Malformed, at_most, optional_name};

const RUN_FIELDS: [&str; 3] = ["run", "jobs", "idempotency_key"];
/// What a document says of its parameters, whatever it is.
const PARAMETERS: [&str; 2] = ["parameters", "set"];
/// What a job says if it is an array.
const ARRAY: &str = "array";
/// Bytes of the hash by which a key is known in the id of its run.
const KEY_BYTES: usize = 6;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("this is no JSON: {}", super::fault(.0))]
    Json(serde_json::Error),
    #[error("this is no YAML: {0}")]
    Yaml(String),
    #[error("there is no job in it")]
    Empty,
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// Jobs that belong together as somebody wrote them: they may still be given what they do not say.
#[derive(Debug, Clone)]
pub struct SubmissionDraft {
    /// None if it is a job by itself.
    pub run: Option<RunId>,
    pub jobs: Vec<Draft>,
    /// They belong to the run even if there are others of it already.
    pub extends: bool,
}

impl SubmissionDraft {
    /// `generate` gives an id to each job that has none.
    pub fn complete(self, generate: &mut dyn FnMut() -> JobId) -> Submission {
        let jobs = self.jobs.into_iter().map(|job| job.complete(generate)).collect();
        Submission { extends: self.extends, ..Submission::of(self.run, jobs) }
    }
}

/// What a document does not say itself.
pub struct Context<'a> {
    /// Makes an id that nobody else makes.
    pub generate: &'a mut dyn FnMut() -> JobId,
    /// Values for parameters.
    pub set: &'a Texts,
    pub files: ReadFile<'a>,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("set", self.set).finish_non_exhaustive()
    }
}

/// Reads a text that is
/// - a job, or a list of jobs, or one job after the other: each is submitted by itself;
/// - a run: an object with `jobs`, which is a list, or a mapping from each job's node to the job.
///   Its dependencies may name nodes of the run. `run` is what its id begins with.
pub fn plans(text: &str, context: &mut Context<'_>) -> Result<Vec<Plan>, ReadError> {
    let documents = documents(text)?;
    let several = documents.len() > 1;
    let mut plans = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let read = plan(document, context);
        let named = |error: Malformed| {
            if several { error.within(format_args!("[{index}]")) } else { error }
        };
        plans.push(read.map_err(named)?);
    }
    if plans.is_empty() {
        return Err(ReadError::Empty);
    }
    Ok(plans)
}

/// The same from elsewhere, each whole.
pub fn submissions(
    text: &str,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Vec<SubmissionDraft>, ReadError> {
    let mut context = Context { generate, set: &Texts::new(), files: &mut no_files };
    plans(text, &mut context)?.into_iter().map(|plan| Ok(plan.whole()?)).collect()
}

/// One job, or one run, from elsewhere.
pub fn plan_from_json(
    raw: &RawValue,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Plan, Malformed> {
    plan(raw, &mut Context { generate, set: &Texts::new(), files: &mut no_files })
}

/// One job, or one run, all of it.
pub fn submission_from_json(
    raw: &RawValue,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<SubmissionDraft, Malformed> {
    plan_from_json(raw, generate)?.whole()
}

fn plan(raw: &RawValue, context: &mut Context<'_>) -> Result<Plan, Malformed> {
    let fields = Fields::of(raw)?;
    let has = |names: &[&str]| names.iter().any(|name| fields.get(name).is_some());
    let (is_run, is_array) = (has(&RUN_FIELDS[..2]), has(&[ARRAY]));
    if !has(&PARAMETERS) && context.set.is_empty() {
        return match (is_run, is_array) {
            (true, _) => run_of(fields, None, context),
            (false, true) => array_alone(raw, &Values::new(), context),
            (false, false) => Ok(Plan::single(Draft::of(fields)?)),
        };
    }
    let declared = fields.get("parameters").map_or(Ok(json!({})), value)?;
    let set = fields.get("set").map(value).transpose()?;
    let values = values(&declared, set.as_ref(), context.set)?;
    if let Some(reserved) = [ITEM, INDEX].into_iter().find(|name| values.contains_key(*name)) {
        const WANTED: &str = "that is a name of elements of arrays; choose another";
        return Err(Malformed::not_allowed("parameters", reserved, WANTED));
    }
    if is_run {
        return run_of(fields, Some(&values), context);
    }
    let mut job = value(raw)?;
    if let Value::Object(job) = &mut job {
        PARAMETERS.iter().for_each(|name| drop(job.remove(*name)));
    }
    if is_array {
        return array_alone(&written(&job), &values, context);
    }
    Ok(Plan::single(Draft::from_json(&written(&fill(&job, &values)?))?))
}

/// What is to be filled in is taken apart; what is not stays as it was written.
fn value(raw: &RawValue) -> Result<Value, Malformed> {
    let Unique(value) = serde_json::from_str(raw.get()).map_err(|why| {
        Malformed::not_allowed("it", why, "it must be JSON without repeated keys")
    })?;
    Ok(value)
}

fn written(value: &Value) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("a value can be written")
}

/// A single job that is an array is a run with nothing else in it.
fn array_alone(
    raw: &RawValue,
    values: &Values,
    context: &mut Context<'_>,
) -> Result<Plan, Malformed> {
    let mut job = value(raw)?;
    let fields = job.as_object_mut().expect("it has a field");
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => optional_name(name, &text),
        Some(Value::Null) | None => Ok(None),
        Some(other) => Err(Malformed::not_allowed(name, other, "it must be a text")),
    };
    let (id, node, key) = (text("id")?, text("node")?, text("idempotency_key")?);
    let name = node.or(id);
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or("job").to_owned();
    let run = run_id(name.as_ref(), key.as_ref(), context.generate)?;
    let name = name.map_or(kind, |name| name.to_string());
    let part = array(name, job, values, context)?;
    Plan::of_run(run, key, vec![part])
}

/// A list of jobs and runs, each still as it was written.
pub fn listed_from_json(raw: &RawValue) -> Result<Vec<&RawValue>, Malformed> {
    bounded("it", items(raw, RUN_JOBS_MAX), raw, "it must be a list of jobs and runs")
}

/// One job by itself.
pub fn job_from_json(raw: &RawValue) -> Result<SubmissionDraft, Malformed> {
    Ok(SubmissionDraft { run: None, jobs: vec![Draft::from_json(raw)?], extends: false })
}

/// A run, and nothing else.
pub fn run_from_json(
    raw: &RawValue,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Plan, Malformed> {
    if Fields::of(raw)?.get("jobs").is_none() {
        // It has no jobs, or is none: either way that is what it lacks.
        return Err(Malformed::missing("jobs"));
    }
    plan_from_json(raw, generate)
}

fn run_of(
    fields: Fields<'_>,
    values: Option<&Values>,
    context: &mut Context<'_>,
) -> Result<Plan, Malformed> {
    let known: Vec<&str> = RUN_FIELDS.into_iter().chain(PARAMETERS).collect();
    let fields = fields.only(&known)?;
    let named = |name: &'static str| {
        let Some(raw) = fields.get(name) else { return Ok(None) };
        match values {
            Some(values) => {
                let raw = written(&fill(&value(raw)?, values).map_err(|why| why.within(name))?);
                Given { name, raw: &raw }.name()
            }
            None => Given { name, raw }.name(),
        }
    };
    let (name, key) = (named("run")?, named("idempotency_key")?);
    let run = run_id(name.as_ref(), key.as_ref(), context.generate)?;
    let jobs = fields.get("jobs").ok_or_else(|| Malformed::missing("jobs"))?;
    let jobs = if jobs.get().starts_with('[') { listed(jobs)? } else { by_node(jobs)? };
    if jobs.is_empty() {
        return Err(Malformed::missing("jobs"));
    }
    let mut parts = Vec::with_capacity(jobs.len());
    for (index, (node, raw)) in jobs.into_iter().enumerate() {
        let place = || match &node {
            Some(node) => format!("jobs.{}", excerpt(node)),
            None => format!("jobs[{index}]"),
        };
        let part = part(index, node.as_deref(), raw, values, context);
        parts.push(part.map_err(|why| why.within(place()))?);
    }
    Plan::of_run(run, key, parts)
}

/// A run with a key has an id that follows from it, so the same again is the same again; any other is
/// a new one.
fn run_id(
    name: Option<&Name>,
    key: Option<&Name>,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<RunId, Malformed> {
    let unique = match key {
        Some(key) => hex(&Sha256::digest(key.as_str().as_bytes())[..KEY_BYTES]),
        None => generate().to_string(),
    };
    let id = match name {
        Some(name) => format!("{name}-{unique}"),
        None if key.is_some() => format!("run-{unique}"),
        None => unique,
    };
    RunId::new(&id).map_err(|why| Malformed::new("run", why))
}

/// A job of a run: what it is called there, and what it is.
fn part(
    index: usize,
    node: Option<&str>,
    raw: &RawValue,
    values: Option<&Values>,
    context: &mut Context<'_>,
) -> Result<Part, Malformed> {
    let fields = Fields::of(raw)?;
    let numbered = || (index + 1).to_string();
    if fields.get(ARRAY).is_some() {
        let mut job = value(raw)?;
        let fields = job.as_object_mut().expect("it has a field");
        let given = [fields.remove("node"), fields.remove("id")].into_iter().flatten();
        let given = given.filter_map(|name| name.as_str().map(str::to_owned)).next();
        let name = given.or(node.map(str::to_owned)).unwrap_or_else(numbered);
        return array(name, job, values.unwrap_or(&Values::new()), context);
    }
    let mut job = match values {
        Some(values) => Draft::from_json(&written(&fill(&value(raw)?, values)?))?,
        None => Draft::of(fields)?,
    };
    let own = job.spec.node.take().or_else(|| job.id.take().map(|id| id.as_name().clone()));
    job.spec.node = match own {
        Some(name) => Some(name),
        None => node.map(|node| optional_name("node", node)).transpose()?.flatten(),
    };
    let name = job.spec.node.as_ref().map_or_else(numbered, Name::to_string);
    Ok(Part { name, what: What::One(Box::new(job)) })
}

fn array(
    name: String,
    mut job: Value,
    values: &Values,
    context: &mut Context<'_>,
) -> Result<Part, Malformed> {
    let given = job.as_object_mut().and_then(|job| job.remove(ARRAY)).unwrap_or_default();
    let items = Items::read(&fill(&given, values)?, context.files)?;
    let array = Array { template: job, values: values.clone(), items };
    Ok(Part { name, what: What::Many(Box::new(array)) })
}

/// Jobs, each with the name that it stands under.
type Listed<'a> = Vec<(Option<String>, &'a RawValue)>;

fn listed(raw: &RawValue) -> Result<Listed<'_>, Malformed> {
    let jobs = bounded("jobs", items(raw, RUN_JOBS_MAX), raw, "it must be a list of jobs")?;
    Ok(jobs.into_iter().map(|job| (None, job)).collect())
}

fn by_node(raw: &RawValue) -> Result<Listed<'_>, Malformed> {
    const WANTED: &str = "it must be a list of jobs, or jobs by their node";
    let jobs = bounded("jobs", entries(raw, RUN_JOBS_MAX), raw, WANTED)?;
    // Of several with the same name the last one.
    let jobs: BTreeMap<_, _> = jobs.into_iter().collect();
    Ok(jobs.into_iter().map(|(node, raw)| (Some(node.into_owned()), raw)).collect())
}

/// What was kept, if that is all there is.
fn bounded<T>(
    field: &str,
    read: Option<Bounded<T>>,
    raw: &RawValue,
    wanted: &'static str,
) -> Result<Vec<T>, Malformed> {
    let Bounded { kept, count } = read.ok_or_else(|| wrong(field, raw, wanted))?;
    at_most(field, count, RUN_JOBS_MAX)?;
    Ok(kept)
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{JobSpec, Micros, Priority, Target, Timestamp, WorkerId};
    use expect_test::{Expect, expect};

    use super::*;

    fn read(text: &str) -> Result<Vec<Submission>, ReadError> {
        read_with(text, &[])
    }

    fn read_with(text: &str, set: &[(&str, &str)]) -> Result<Vec<Submission>, ReadError> {
        let set = set.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let set = set.collect();
        let generate = &mut || JobId::fixed("generated");
        let mut context = Context { generate, set: &set, files: &mut no_files };
        let plans = plans(text, &mut context)?;
        let generate = &mut || JobId::fixed("generated");
        let whole = |plan: Plan| Ok(plan.whole()?.complete(generate));
        plans.into_iter().map(whole).collect()
    }

    fn refused(text: &str, message: Expect) {
        message.assert_eq(&read(text).unwrap_err().to_string());
    }

    #[test]
    fn the_documented_job_is_accepted_as_it_stands() {
        let text = r#"{"id":"task-123","type":"image_generation","priority":"high","payload":{},"dependencies":["preprocess-xyz"],"timeout":120,"retry":3,"sender":"agentA","receiver":"agentB"}"#;
        let read = read(text).unwrap();
        let mut expected = JobSpec::new(JobId::fixed("task-123"), Name::fixed("image_generation"));
        expected.priority = Priority::High;
        expected.payload = "{}".into();
        expected.dependencies = Box::new([JobId::fixed("preprocess-xyz")]);
        expected.timeout = Some(Micros::from_secs(120));
        expected.retry = Some(3);
        expected.sender = Some(Name::fixed("agentA"));
        expected.requirements_mut().target = Target::Receiver(WorkerId::fixed("agentB"));
        let expected = Submission::one(expected);
        assert_eq!(read, [expected]);
    }

    #[test]
    fn payload_is_kept_byte_for_byte() {
        let text = r#"{"type":"t","payload":{"z": 1e400,  "a":[0.10, null]}}"#;
        let job = &read(text).unwrap()[0].jobs[0];
        assert_eq!(job.payload, r#"{"z": 1e400,  "a":[0.10, null]}"#);
    }

    #[test]
    fn lines_and_lists_are_jobs_of_their_own() {
        assert_eq!(read("{\"type\":\"a\"}\n{\"type\":\"b\"}\n").unwrap().len(), 2);
        assert_eq!(read("[{\"type\":\"a\"},{\"type\":\"b\"}]").unwrap().len(), 2);
    }

    #[test]
    fn run_in_yaml_resolves_its_nodes() {
        let text = "
run: nightly
jobs:
  fetch: { type: exec, payload: { argv: [curl] } }
  train:
    type: train
    priority: 100
    dependencies: [fetch, yesterday]
    delay: 1.5
    not_before: 2027-01-31T08:00:00Z
";
        let run = &read(text).unwrap()[0];
        assert_eq!(run.run, Some(RunId::fixed("nightly-generated")));
        assert_eq!(run.jobs[0].id.as_str(), "nightly-generated/fetch");
        assert_eq!(run.jobs[0].payload, r#"{"argv":["curl"]}"#);
        let expected = ["nightly-generated/fetch", "yesterday"].map(JobId::fixed);
        assert_eq!(*run.jobs[1].dependencies, expected);
        assert_eq!(run.jobs[1].priority, Priority::Critical);
        assert_eq!(run.jobs[1].extras().delay, Micros(1_500_000));
        assert_eq!(run.jobs[1].extras().not_before, Timestamp(1_801_382_400_000_000));
    }

    #[test]
    fn ids_are_names_in_the_run_and_a_key_makes_it_the_same_run_again() {
        let text = r#"{"jobs":[{"id":"a","type":"t"},{"type":"t","dependencies":["a"]}]}"#;
        let run = &read(text).unwrap()[0];
        let ids: Vec<&str> = run.jobs.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(ids, ["generated/a", "generated/2"]);
        assert_eq!(run.jobs[0].node, Some(Name::fixed("a")));
        assert_eq!(*run.jobs[1].dependencies, [JobId::fixed("generated/a")]);

        let text = r#"{"run":"r","idempotency_key":"k","jobs":{"a":{"type":"t"}}}"#;
        let run = &read(text).unwrap()[0];
        assert_eq!(run.run, Some(RunId::fixed("r-8254c329a928")));
        assert_eq!(run.jobs[0].idempotency_key, Some(Name::fixed("k/a")));
        refused(
            r#"{"jobs":[{"id":"a","type":"t"},{"node":"a","type":"t"}]}"#,
            expect!["jobs.a: stands twice; say it once"],
        );
    }

    #[test]
    fn parameters_are_filled_in_everywhere() {
        let text = r#"
run: "etl-{{date}}"
parameters: {date: null, width: 100, deep: false}
jobs:
  fetch: {type: exec, tags: ["{{date}}"], payload: {argv: [fetch, "--date={{date}}"], w: "{{width}}"}}
"#;
        let run = &read_with(text, &[("date", "2026-11-15"), ("width", "7")]).unwrap()[0];
        assert_eq!(run.run, Some(RunId::fixed("etl-2026-11-15-generated")));
        let payload = r#"{"argv":["fetch","--date=2026-11-15"],"w":7}"#;
        assert_eq!(run.jobs[0].payload, payload);
        assert_eq!(*run.jobs[0].tags, [Name::fixed("2026-11-15")]);
        refused(
            text,
            expect!["parameters.date: has no value; give it one, as --set date=VALUE or in `set`"],
        );
        let other = read_with("{\"type\":\"t\"}", &[("date", "x")]).unwrap_err().to_string();
        assert_eq!(other, "set.date: is not known");
        // Without parameters braces are braces.
        let job = &read(r#"{"type":"t","payload":"{{x}}"}"#).unwrap()[0].jobs[0];
        assert_eq!(job.payload, r#""{{x}}""#);
        let job = r#"{"type":"t","parameters":{"n":1},"set":{"n":2},"payload":["{{n}}"]}"#;
        assert_eq!(read(job).unwrap()[0].jobs[0].payload, "[2]");
    }

    #[test]
    fn an_array_is_a_job_for_each_item() {
        let text = r#"
run: thumbs
jobs:
  list: {type: t}
  resize: {type: t, array: 10-30:10, dependencies: [list], payload: {w: "{{item}}", n: "at {{index}}"}}
  each: {type: t, array: [x, y], dependencies: ["resize[{{index}}0]"], payload: "{{item}}"}
  all: {type: t, dependencies: [resize]}
"#;
        let run = &read(text).unwrap()[0];
        let shown = run.jobs.iter().map(|job| {
            let id = job.id.as_str().strip_prefix("thumbs-generated/").unwrap();
            let after: Vec<&str> =
                job.dependencies.iter().map(|id| id.as_str().split_once('/').unwrap().1).collect();
            let payload = String::from_utf8_lossy(&job.payload);
            format!("{id} {payload} {}", after.join("+")).trim_end().to_owned() + "\n"
        });
        expect![[r#"
            all  resize[10]+resize[20]+resize[30]
            each[1] "x" resize[10]
            each[2] "y" resize[20]
            list
            resize[10] {"n":"at 10","w":10} list
            resize[20] {"n":"at 20","w":20} list
            resize[30] {"n":"at 30","w":30} list
        "#]]
        .assert_eq(&shown.collect::<String>());

        let alone = &read(r#"{"type":"t","array":"1-3","payload":"{{item}}"}"#).unwrap()[0];
        assert_eq!((alone.jobs.len(), alone.jobs[2].id.as_str()), (3, "generated/t[3]"));
        refused(
            r#"{"type":"t","array":"1-3","payload":"{{itme}}"}"#,
            expect!["jobs.t.payload.{{itme}}: is not known; did you mean item?"],
        );
        refused(
            r#"{"jobs":{"a":{"type":"t","array":"1-20000"},"b":{"type":"t","dependencies":["a"]}}}"#,
            expect!["jobs.b.dependencies.a: has 20000 jobs; at most 10000 can depend on it"],
        );
    }

    #[test]
    fn a_large_array_comes_in_steps_that_are_always_the_same() {
        let text = r#"{"jobs":{"last":{"type":"t","array":"1-2500","dependencies":["first"]},"first":{"type":"t"},
            "big":{"type":"t","array":"1-9000"}}}"#;
        let mut made = 0;
        let generate = &mut || {
            made += 1;
            JobId::fixed(&format!("run-{made}"))
        };
        let raw: Box<RawValue> = serde_json::from_str(text).unwrap();
        let plan = plan_from_json(&raw, generate).unwrap();
        assert_eq!((plan.jobs(), plan.is_large()), (11_501, true));
        let steps: Vec<SubmissionDraft> = plan.steps().unwrap().map(Result::unwrap).collect();
        assert_eq!(steps.len(), 12);
        assert!(steps.iter().all(|step| step.extends && step.jobs.len() <= 1_000));
        let id = |job: &Draft| job.id.clone().unwrap().to_string();
        let jobs: Vec<&Draft> = steps.iter().flat_map(|step| &step.jobs).collect();
        let place = |name: &str| jobs.iter().position(|job| id(job) == name).unwrap();
        assert!(place("run-1/first") < place("run-1/last[1]"));
        let key = jobs[place("run-1/last[7]")].spec.idempotency_key.clone();
        assert_eq!(key, Some(Name::fixed("auto-run-1/last[7]")));
        let text = r#"{"jobs":{"a":{"type":"t","array":"1-20000","dependencies":["b"]},
            "b":{"type":"t","dependencies":["c"]},"c":{"type":"t","dependencies":["b"]}}}"#;
        let circular: Box<RawValue> = serde_json::from_str(text).unwrap();
        let plan = plan_from_json(&circular, generate).unwrap();
        let refused = plan.steps().err().map(|error| error.to_string());
        expect![[r#"
            jobs.a.dependencies: waits for itself, by way of what it depends on
        "#]]
        .assert_eq(&format!("{}\n", refused.unwrap_or_default()));
    }

    #[test]
    fn errors_name_the_field_and_the_way_out() {
        refused(
            r#"{"type":"t","priorty":"high"}"#,
            expect!["priorty: is not known; did you mean priority?"],
        );
        refused(r#"{"id":"a"}"#, expect!["type: is missing"]);
        refused(
            r#"{"type":"t","role":"r","receiver":"w"}"#,
            expect!["receiver: excludes role; give one of them"],
        );
        refused(r#"{"type":"t","tags":["x",""]}"#, expect!["tags[1]: a name is empty"]);
        refused(r#"{"type":"t","zzzzzz":1}"#, expect!["zzzzzz: is not known"]);
        refused(
            r#"{"type":"t","priority":"urgent"}"#,
            expect![[
                r#"priority: is "urgent"; it must be low, normal, high or critical (or 25, 50, 75 or 100)"#
            ]],
        );
        refused(
            r#"{"type":"t","timeout":-1}"#,
            expect![[
                r#"timeout: is -1; it must be a number of seconds, or a text with a unit as "5m", at most 100 years"#
            ]],
        );
        refused(
            r#"{"jobs":[{"type":"t"},{"type":"t","tags":"x"}]}"#,
            expect![[r#"jobs[1].tags: is "x"; it must be a list of texts"#]],
        );
        refused(
            r#"{"type":"t","escalation":{"rol":"x"}}"#,
            expect!["escalation.rol: is not known; did you mean role?"],
        );
        refused("", expect!["there is no job in it"]);
        refused("{\"type\":", expect!["this is no JSON: it ends too early, at line 1 column 8"]);
    }
}
