//! Files of jobs: one job, several, or runs; JSON, JSON lines or YAML.

use std::collections::BTreeMap;

use bellwether_core::model::JobId;
use serde_json::value::RawValue;

use super::field::{Fields, text, wrong};
use super::job::{FIELDS, job_from_json, job_of};
use crate::malformed::Malformed;
use crate::v1;

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

/// Reads a text that is
/// - a job, or a list of jobs, or one job after the other: each is submitted by itself;
/// - a run: an object with `jobs`, which is a list, or a mapping from each job's node to the job.
///   Its dependencies may name nodes of the run. `run` is its id.
///
/// `generate` makes an id for a run that has none but needs one.
pub fn submissions(
    text: &str,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<Vec<v1::Submission>, ReadError> {
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
        let value: serde_json::Value =
            serde_saphyr::from_str(text).map_err(|error| ReadError::Yaml(error.to_string()))?;
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
) -> Result<v1::Submission, Malformed> {
    let fields = Fields::of(raw)?;
    if RUN_FIELDS.iter().any(|field| fields.get(field).is_some()) {
        return run_of(fields, generate);
    }
    Ok(v1::Submission { run_id: String::new(), jobs: vec![job_of(fields)?] })
}

/// A run, with an id if it has none, and with its nodes resolved.
pub fn run_from_json(
    raw: &RawValue,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<v1::Submission, Malformed> {
    run_of(Fields::of(raw)?, generate)
}

fn run_of(
    fields: Fields<'_>,
    generate: &mut dyn FnMut() -> JobId,
) -> Result<v1::Submission, Malformed> {
    let mut fields = fields.only(&RUN_FIELDS)?;
    let mut run_id = text(&mut fields, "run")?;
    if run_id.is_empty() {
        run_id = generate().to_string();
    }
    let jobs = fields.remove("jobs").ok_or_else(|| Malformed::missing("jobs"))?;
    let mut jobs = if jobs.get().starts_with('[') { listed(jobs)? } else { by_node(jobs)? };
    resolve_nodes(&run_id, &mut jobs);
    Ok(v1::Submission { run_id, jobs })
}

fn listed(raw: &RawValue) -> Result<Vec<v1::NewJob>, Malformed> {
    let jobs: Vec<Box<RawValue>> = serde_json::from_str(raw.get())
        .map_err(|_| wrong("jobs", raw, "it must be a list of jobs"))?;
    jobs.iter()
        .enumerate()
        .map(|(index, job)| {
            job_from_json(job).map_err(|error| error.within(format_args!("jobs[{index}]")))
        })
        .collect()
}

fn by_node(raw: &RawValue) -> Result<Vec<v1::NewJob>, Malformed> {
    let jobs: Fields<'_> = serde_json::from_str(raw.get())
        .map_err(|_| wrong("jobs", raw, "it must be a list of jobs, or jobs by their node"))?;
    jobs.into_sorted()
        .into_iter()
        .map(|(node, job)| {
            let mut job =
                job_from_json(job).map_err(|error| error.within(format_args!("jobs.{node}")))?;
            if job.node.is_empty() {
                job.node = node.into_owned();
            }
            Ok(job)
        })
        .collect()
}

/// Gives jobs that only have a node an id within the run, and dependencies that name a node the id
/// of its job. An id wins where a name is both.
fn resolve_nodes(run_id: &str, jobs: &mut [v1::NewJob]) {
    for job in jobs.iter_mut() {
        if job.id.is_empty() && !job.node.is_empty() {
            job.id = format!("{run_id}/{}", job.node);
        }
    }
    let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
    let by_node: BTreeMap<String, String> = jobs
        .iter()
        .filter(|job| !job.node.is_empty() && !ids.contains(&job.node.as_str()))
        .map(|job| (job.node.clone(), job.id.clone()))
        .collect();
    for dependency in jobs.iter_mut().flat_map(|job| &mut job.dependencies) {
        if let Some(id) = by_node.get(dependency) {
            dependency.clone_from(id);
        }
    }
}

/// Every field that a job or a run may have, for help texts.
pub fn known_fields() -> impl Iterator<Item = &'static str> {
    FIELDS.into_iter().chain(RUN_FIELDS)
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::Name;
    use expect_test::{Expect, expect};

    use super::*;

    fn read(text: &str) -> Result<Vec<v1::Submission>, ReadError> {
        submissions(text, &mut || Name::fixed("generated"))
    }

    fn refused(text: &str, message: Expect) {
        message.assert_eq(&read(text).unwrap_err().to_string());
    }

    #[test]
    fn the_documented_job_is_accepted_as_it_stands() {
        let text = r#"{"id":"task-123","type":"image_generation","priority":"high","payload":{},"dependencies":["preprocess-xyz"],"timeout":120,"retry":3,"sender":"agentA","receiver":"agentB"}"#;
        let read = read(text).unwrap();
        let expected = v1::NewJob {
            id: "task-123".into(),
            r#type: "image_generation".into(),
            priority: v1::Priority::High as i32,
            payload: "{}".into(),
            dependencies: vec!["preprocess-xyz".into()],
            timeout: Some(120_000_000),
            retry: Some(3),
            sender: "agentA".into(),
            receiver: "agentB".into(),
            ..Default::default()
        };
        let expected = v1::Submission { run_id: String::new(), jobs: vec![expected] };
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
        assert_eq!(run.run_id, "nightly");
        assert_eq!(run.jobs[0].id, "nightly/fetch");
        assert_eq!(run.jobs[0].payload, r#"{"argv":["curl"]}"#);
        assert_eq!(run.jobs[1].dependencies, ["nightly/fetch", "yesterday"]);
        assert_eq!(run.jobs[1].priority, v1::Priority::Critical as i32);
        assert_eq!(run.jobs[1].delay, 1_500_000);
        assert_eq!(run.jobs[1].not_before, 1_801_382_400_000_000);
    }

    #[test]
    fn errors_name_the_field_and_the_way_out() {
        refused(
            r#"{"type":"t","priorty":"high"}"#,
            expect!["priorty: is not known; did you mean priority?"],
        );
        refused(r#"{"type":"t","zzzzzz":1}"#, expect!["zzzzzz: is not known"]);
        refused(
            r#"{"type":"t","priority":"urgent"}"#,
            expect![[
                r#"priority: is "urgent"; it must be low, normal, high or critical (or 25, 50, 75 or 100)"#
            ]],
        );
        refused(
            r#"{"type":"t","timeout":-1}"#,
            expect!["timeout: is -1; it must be a number of seconds, at most 100 years"],
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
