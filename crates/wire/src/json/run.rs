//! Files of jobs: one job, several, or runs; JSON, JSON lines or YAML.

use std::collections::{BTreeMap, BTreeSet};

use bellwether_core::model::limits::RUN_JOBS_MAX;
use bellwether_core::model::{JobId, Name, RunId, Submission, excerpt};
use serde_json::value::RawValue;

use super::bounded::{Bounded, entries, items};
use super::field::{Fields, Given, wrong};
use super::job::Draft;
use super::yaml::from_yaml;
use crate::malformed::{Malformed, at_most, optional_name};

const RUN_FIELDS: [&str; 2] = ["run", "jobs"];

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("this is no JSON: {0}")]
    Json(#[source] serde_json::Error),
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
}

impl SubmissionDraft {
    /// `generate` gives an id to each job that has none.
    pub fn complete(self, generate: &mut dyn FnMut() -> JobId) -> Submission {
        let jobs = self.jobs.into_iter().map(|job| job.complete(generate)).collect();
        Submission::of(self.run, jobs)
    }
}

/// Reads a text that is
/// - a job, or a list of jobs, or one job after the other: each is submitted by itself;
/// - a run: an object with `jobs`, which is a list, or a mapping from each job's node to the job.
///   Its dependencies may name nodes of the run. `run` is its id.
///
/// `generate` makes an id for a run that has none but needs one.
pub fn submissions(
    text: &str,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Vec<SubmissionDraft>, ReadError> {
    let documents = documents(text)?;
    let several = documents.len() > 1;
    let mut submissions = Vec::new();
    for (index, document) in documents.iter().enumerate() {
        let read = submission_from_json(document, generate);
        let named = |error: Malformed| {
            if several { error.within(format_args!("[{index}]")) } else { error }
        };
        submissions.push(read.map_err(named)?);
    }
    if submissions.is_empty() {
        return Err(ReadError::Empty);
    }
    Ok(submissions)
}

fn documents(text: &str) -> Result<Vec<Box<RawValue>>, ReadError> {
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    let documents: Vec<Box<RawValue>> = if looks_like_json {
        serde_json::Deserializer::from_str(text)
            .into_iter()
            .collect::<Result<_, _>>()
            .map_err(ReadError::Json)?
    } else {
        let value = from_yaml(text).map_err(ReadError::Yaml)?;
        vec![serde_json::value::to_raw_value(&value).map_err(ReadError::Json)?]
    };
    let mut flat = Vec::new();
    for document in documents {
        if document.get().starts_with('[') {
            let list: Vec<Box<RawValue>> =
                serde_json::from_str(document.get()).map_err(ReadError::Json)?;
            flat.extend(list);
        } else if document.get() != "null" {
            flat.push(document);
        }
    }
    Ok(flat)
}

/// One job, or one run.
pub fn submission_from_json(
    raw: &RawValue,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<SubmissionDraft, Malformed> {
    let fields = Fields::of(raw)?;
    if RUN_FIELDS.iter().any(|field| fields.get(field).is_some()) {
        return run_of(fields, generate);
    }
    Ok(SubmissionDraft { run: None, jobs: vec![Draft::of(fields)?] })
}

/// A list of jobs and runs, each still as it was written.
pub fn listed_from_json(raw: &RawValue) -> Result<Vec<&RawValue>, Malformed> {
    bounded("it", items(raw, RUN_JOBS_MAX), raw, "it must be a list of jobs and runs")
}

/// One job by itself.
pub fn job_from_json(raw: &RawValue) -> Result<SubmissionDraft, Malformed> {
    Ok(SubmissionDraft { run: None, jobs: vec![Draft::from_json(raw)?] })
}

/// A run, with an id if it has none, and with its nodes resolved.
pub fn run_from_json(
    raw: &RawValue,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<SubmissionDraft, Malformed> {
    run_of(Fields::of(raw)?, generate)
}

fn run_of(
    fields: Fields<'_>,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<SubmissionDraft, Malformed> {
    let fields = fields.only(&RUN_FIELDS)?;
    let given = fields.get("run").map(|raw| Given { name: "run", raw }.name()).transpose()?;
    let run = given.flatten().unwrap_or_else(generate);
    let jobs = fields.get("jobs").ok_or_else(|| Malformed::missing("jobs"))?;
    let mut jobs = if jobs.get().starts_with('[') { listed(jobs)? } else { by_node(jobs)? };
    if jobs.is_empty() {
        return Err(Malformed::missing("jobs"));
    }
    resolve_nodes(&run, &mut jobs)?;
    Ok(SubmissionDraft { run: Some(run), jobs })
}

fn listed(raw: &RawValue) -> Result<Vec<Draft>, Malformed> {
    let jobs = bounded("jobs", items(raw, RUN_JOBS_MAX), raw, "it must be a list of jobs")?;
    let jobs = jobs.into_iter().enumerate();
    jobs.map(|(index, job)| {
        Draft::from_json(job).map_err(|error| error.within(format_args!("jobs[{index}]")))
    })
    .collect()
}

fn by_node(raw: &RawValue) -> Result<Vec<Draft>, Malformed> {
    const WANTED: &str = "it must be a list of jobs, or jobs by their node";
    let jobs = bounded("jobs", entries(raw, RUN_JOBS_MAX), raw, WANTED)?;
    // Of several with the same name the last one.
    let jobs: BTreeMap<_, _> = jobs.into_iter().collect();
    jobs.into_iter()
        .map(|(node, raw)| {
            let read = || {
                let mut job = Draft::from_json(raw)?;
                if job.spec.node.is_none() {
                    job.spec.node = optional_name("node", &node)?;
                }
                Ok(job)
            };
            read().map_err(|error: Malformed| error.within(format_args!("jobs.{}", excerpt(&node))))
        })
        .collect()
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

/// Gives jobs that only have a node an id within the run, and dependencies that name a node the id
/// of its job. An id wins where a name is both.
fn resolve_nodes(run: &RunId, jobs: &mut [Draft]) -> Result<(), Malformed> {
    for (index, job) in jobs.iter_mut().enumerate() {
        if let (None, Some(node)) = (&job.id, &job.spec.node) {
            let id = Name::new(&format!("{run}/{node}"))
                .map_err(|error| Malformed::new(format!("jobs[{index}].id"), error))?;
            job.id = Some(id);
        }
    }
    let ids: BTreeSet<&JobId> = jobs.iter().filter_map(|job| job.id.as_ref()).collect();
    let by_node: BTreeMap<Name, JobId> = jobs
        .iter()
        .filter_map(|job| Some((job.spec.node.clone()?, job.id.clone()?)))
        .filter(|(node, _)| !ids.contains(node))
        .collect();
    for dependency in jobs.iter_mut().flat_map(|job| &mut job.spec.dependencies) {
        if let Some(id) = by_node.get(dependency) {
            dependency.clone_from(id);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{JobSpec, Micros, Priority, Target, Timestamp};
    use expect_test::{Expect, expect};

    use super::*;

    fn read(text: &str) -> Result<Vec<Submission>, ReadError> {
        let generate = &mut || Name::fixed("generated");
        let read = submissions(text, generate)?;
        Ok(read.into_iter().map(|draft| draft.complete(generate)).collect())
    }

    fn refused(text: &str, message: Expect) {
        message.assert_eq(&read(text).unwrap_err().to_string());
    }

    #[test]
    fn the_documented_job_is_accepted_as_it_stands() {
        let text = r#"{"id":"task-123","type":"image_generation","priority":"high","payload":{},"dependencies":["preprocess-xyz"],"timeout":120,"retry":3,"sender":"agentA","receiver":"agentB"}"#;
        let read = read(text).unwrap();
        let mut expected = JobSpec::new(Name::fixed("task-123"), Name::fixed("image_generation"));
        expected.priority = Priority::High;
        expected.payload = "{}".into();
        expected.dependencies = Box::new([Name::fixed("preprocess-xyz")]);
        expected.timeout = Some(Micros::from_secs(120));
        expected.retry = Some(3);
        expected.sender = Some(Name::fixed("agentA"));
        expected.requirements_mut().target = Target::Receiver(Name::fixed("agentB"));
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
        assert_eq!(run.run, Some(Name::fixed("nightly")));
        assert_eq!(run.jobs[0].id.as_str(), "nightly/fetch");
        assert_eq!(run.jobs[0].payload, r#"{"argv":["curl"]}"#);
        let expected = ["nightly/fetch", "yesterday"].map(Name::fixed);
        assert_eq!(*run.jobs[1].dependencies, expected);
        assert_eq!(run.jobs[1].priority, Priority::Critical);
        assert_eq!(run.jobs[1].extras().delay, Micros(1_500_000));
        assert_eq!(run.jobs[1].extras().not_before, Timestamp(1_801_382_400_000_000));
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
        refused(
            "{\"type\":",
            expect!["this is no JSON: EOF while parsing a value at line 1 column 8"],
        );
    }
}
