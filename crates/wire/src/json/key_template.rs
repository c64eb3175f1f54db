//! Keys that say what of the job they are made of, as `customer:{payload.customer}`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bellwether_core::model::{JobSpec, KeyUse, Name, Submission, excerpt};
use serde_json::value::RawValue;

use super::field::Text;
use crate::concurrency::distinct;
use crate::malformed::{Malformed, name};

const WANTED: &str = "what stands in braces must be type, sender, tags or payload.FIELD";
const OPEN: &str = "every { must have its }";
const SENDER: &str = "the job must have a sender";
const TAGS: &str = "the job must have tags";
const PAYLOAD: &str = "the payload must be an object of JSON with that field";
const PLAIN: &str = "the field must be a text, a number or a truth value";

/// Puts what the jobs say in place of the braces in their keys.
pub fn expand_keys(submission: &mut Submission) -> Result<(), Malformed> {
    for (index, job) in submission.jobs.iter_mut().enumerate() {
        if job.keys().iter().any(is_template) {
            expand(job).map_err(|error| error.within(format_args!("jobs[{index}]")))?;
        }
    }
    Ok(())
}

fn is_template(each: &KeyUse) -> bool {
    each.key.as_str().contains('{')
}

fn expand(job: &mut JobSpec) -> Result<(), Malformed> {
    let mut keys = Vec::with_capacity(job.keys().len());
    for each in job.keys() {
        let key = if is_template(each) { filled(&each.key, job)? } else { each.key.clone() };
        keys.push(KeyUse { key, ..each.clone() });
    }
    let keys = distinct(keys)?;
    job.set_keys(keys);
    Ok(())
}

fn filled(template: &Name, job: &JobSpec) -> Result<Name, Malformed> {
    let wrong =
        |wanted| Malformed::not_allowed("concurrency key", excerpt(template.as_str()), wanted);
    let mut text = String::new();
    let mut rest = template.as_str();
    while let Some((before, after)) = rest.split_once('{') {
        let (inside, behind) = after.split_once('}').ok_or_else(|| wrong(OPEN))?;
        text.push_str(before);
        text.push_str(&value(inside, job).map_err(wrong)?);
        rest = behind;
    }
    text.push_str(rest);
    name("concurrency key", &text)
}

fn value<'a>(of: &str, job: &'a JobSpec) -> Result<Cow<'a, str>, &'static str> {
    match of {
        "type" => Ok(job.kind().as_str().into()),
        "sender" => job.sender.as_ref().map(|name| name.as_str().into()).ok_or(SENDER),
        "tags" => {
            let mut tags: Vec<&str> = job.tags.iter().map(Name::as_str).collect();
            tags.sort_unstable();
            if tags.is_empty() { Err(TAGS) } else { Ok(tags.join(",").into()) }
        }
        _ => payload_field(&job.payload, of.strip_prefix("payload.").ok_or(WANTED)?),
    }
}

fn payload_field<'a>(payload: &'a [u8], field: &str) -> Result<Cow<'a, str>, &'static str> {
    let fields: BTreeMap<Text<'_>, &RawValue> =
        serde_json::from_slice(payload).map_err(|_| PAYLOAD)?;
    let raw = fields.get(field).ok_or(PAYLOAD)?.get();
    match raw.as_bytes().first() {
        Some(b'"') => {
            let Text(text) = serde_json::from_str(raw).map_err(|_| PAYLOAD)?;
            Ok(text)
        }
        Some(b'{' | b'[' | b'n') | None => Err(PLAIN),
        Some(_) => Ok(raw.into()),
    }
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::JobId;

    use super::*;
    use crate::json::job::Draft;

    fn expanded(job: &str) -> Result<Vec<String>, String> {
        let raw: &RawValue = serde_json::from_str(job).unwrap();
        let spec = Draft::from_json(raw).unwrap().complete(&mut || JobId::fixed("made"));
        let mut submission = Submission::one(spec);
        expand_keys(&mut submission).map_err(|error| error.to_string())?;
        Ok(submission.jobs[0].keys().iter().map(|each| each.key.to_string()).collect())
    }

    #[test]
    fn keys_are_made_of_what_the_job_says() {
        let keys = expanded(
            r#"{"type":"mail","sender":"shop","tags":["b","a"],
                "payload":{"customer":"c\u00e9","region":7,"deep":{"x":1}},
                "concurrency_key":"customer:{payload.customer}",
                "concurrency":["{type}/{sender}","{tags}",{"key":"r{payload.region}","limit":2},"plain"]}"#,
        );
        assert_eq!(keys.unwrap(), ["customer:cé", "mail/shop", "a,b", "r7", "plain"]);
    }

    #[test]
    fn what_the_job_does_not_say_is_named() {
        let cases = [
            (r#"{"type":"t","concurrency_key":"{sender}"}"#, SENDER),
            (r#"{"type":"t","concurrency_key":"{tags}"}"#, TAGS),
            (r#"{"type":"t","concurrency_key":"{payload.a}"}"#, PAYLOAD),
            (r#"{"type":"t","payload":{"b":1},"concurrency_key":"{payload.a}"}"#, PAYLOAD),
            (r#"{"type":"t","payload":{"a":[1]},"concurrency_key":"{payload.a}"}"#, PLAIN),
            (r#"{"type":"t","concurrency_key":"{worker}"}"#, WANTED),
            (r#"{"type":"t","concurrency_key":"x{type"}"#, OPEN),
        ];
        for (job, wanted) in cases {
            let error = expanded(job).unwrap_err();
            assert!(error.starts_with("jobs[0].concurrency key: is "), "{error}");
            assert!(error.ends_with(wanted), "{error}");
        }
        let twice = r#"{"type":"t","concurrency":["t","{type}"]}"#;
        assert!(expanded(twice).unwrap_err().contains("the key t"));
    }
}
