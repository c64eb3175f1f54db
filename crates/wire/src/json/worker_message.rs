//! What a worker that speaks only a queue says: one JSON object a message.
//!
//! It becomes the same message that a worker sends over gRPC, so that there is one way to take it.

use bellwether_core::model::limits::{LABELS_MAX, SPEED_PERMILLE_MAX, TYPES_MAX};
use bellwether_core::model::{FailureCause, WorkerId};
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::field::{Fields, choice, seconds, take, text, texts, wrong};
use super::handoff::bytes_from_hex;
use crate::malformed::{Malformed, name};
use crate::v1::Attempt;
use crate::{Mirror, v1};

/// A message with what an answer to it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Said {
    /// What kind of message it is, as its `type` says.
    pub kind: &'static str,
    /// The id of the worker that says it.
    pub worker: String,
    /// The worker's name for this message; one that has it wants to know what became of it.
    pub id: Option<String>,
    pub message: v1::WorkerMessage,
}

impl Said {
    /// The attempt that it is about; zeros if it is about none.
    pub fn attempt(&self) -> Attempt {
        let report =
            self.message.reports.first().map(|it| Attempt { job: it.job, token: it.token });
        let log = || self.message.logs.first().map(|it| Attempt { job: it.job, token: it.token });
        report.or_else(log).unwrap_or_default()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SaidError {
    #[error("this is no JSON: {}", super::fault(.0))]
    Json(serde_json::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

/// A worker wants to register, and asks what to sign.
pub const HELLO: &str = "hello";

type Read = fn(&mut Fields<'_>, &mut v1::WorkerMessage) -> Result<(), Malformed>;

/// Every kind with the fields that it may have besides those that all have, and how it is read.
const KINDS: [(&str, &[&str], Read); 12] = [
    (HELLO, &[], |_, _| Ok(())),
    ("register", &REGISTER, register),
    ("heartbeat", &["cpu", "memory", "load", "queue_depth", "overloaded"], heartbeat),
    ("acknowledge", &["job", "token"], |fields, message| {
        report(fields, message, v1::report::Report::Acknowledge(v1::Acknowledge {}))
    }),
    ("claim", &["job", "token"], |fields, message| {
        report(fields, message, v1::report::Report::Claim(v1::Claim {}))
    }),
    ("progress", &["job", "token", "progress", "note"], progress),
    ("log", &["job", "token", "text", "stream", "position", "at"], log),
    ("complete", &["job", "token", "result"], complete),
    ("fail", &["job", "token", "error", "cause", "retry_after"], fail),
    ("model_loaded", &["model", "took"], model_loaded),
    ("drain", &[], |_, message| {
        message.drain = true;
        Ok(())
    }),
    ("goodbye", &[], |_, message| {
        message.leave = true;
        Ok(())
    }),
];
const COMMON: [&str; 3] = ["type", "worker", "id"];
const REGISTER: [&str; 16] = [
    "instance", "slots", "types", "roles", "capabilities", "models", "loads_models", "cpu",
    "memory", "zone", "class", "endpoint", "public_key", "held", "join_token", "speed",
];
const KIND_WANTED: &str = "it must be hello, register, heartbeat, acknowledge, claim, progress, log, \
                           complete, fail, model_loaded, drain or goodbye";
const COUNT: &str = "it must be a whole number, 0 or more";
const SPEED: &str = "it must be a number from 0.001 to 1000";
const SHARE: &str = "it must be a number from 0 to 1";
const CAUSES: [FailureCause; 4] = [
    FailureCause::Failed,
    FailureCause::Permanent,
    FailureCause::Returned,
    FailureCause::NoHandler,
];

/// Reads one message. Names and bounds are checked where it is taken.
pub fn worker_message_from_json(body: &[u8]) -> Result<Said, SaidError> {
    let raw: &RawValue = serde_json::from_slice(body).map_err(SaidError::Json)?;
    let mut fields = Fields::of(raw)?;
    let kind = choice(&mut fields, "type", KIND_WANTED, |word| {
        KINDS.iter().find(|(kind, ..)| *kind == word)
    })?;
    let (kind, own, read) = kind.ok_or_else(|| Malformed::missing("type"))?;
    let known: Vec<&str> = COMMON.iter().chain(*own).copied().collect();
    let mut fields = fields.only(&known)?;
    // Remembered by its name before it is known.
    let worker: WorkerId = name("worker", &text(&mut fields, "worker")?)?;
    let worker = worker.to_string();
    let id = Some(text(&mut fields, "id")?).filter(|id| !id.is_empty());
    let mut message = v1::WorkerMessage::default();
    let registered = (*kind == "register").then(|| raw_text(&worker));
    if let Some(name) = &registered {
        fields.insert("id", name);
    }
    read(&mut fields, &mut message)?;
    Ok(Said { kind, worker, id, message })
}

fn raw_text(text: &str) -> Box<RawValue> {
    serde_json::value::to_raw_value(text).expect("a text can be written as JSON")
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Held {
    job: u64,
    token: u64,
}

fn register(fields: &mut Fields<'_>, message: &mut v1::WorkerMessage) -> Result<(), Malformed> {
    let held: Option<Vec<Held>> =
        take(fields, "held", "it must be a list of objects with job and token")?;
    let held = held.unwrap_or_default().into_iter();
    let spec = v1::WorkerSpec {
        id: text(fields, "id")?,
        endpoint: text(fields, "endpoint")?,
        zone: text(fields, "zone")?,
        class: text(fields, "class")?,
        roles: texts(fields, "roles", LABELS_MAX)?,
        capabilities: texts(fields, "capabilities", LABELS_MAX)?,
        models: texts(fields, "models", LABELS_MAX)?,
        loads_models: take(fields, "loads_models", "it must be true or false")?.unwrap_or(false),
        cpu: take(fields, "cpu", "it must be a whole number of millicores")?.unwrap_or_default(),
        memory: take(fields, "memory", "it must be a whole number of bytes")?.unwrap_or_default(),
        slots: take(fields, "slots", COUNT)?.unwrap_or(1),
        public_key: public_key(fields)?,
        instance: take(fields, "instance", COUNT)?.unwrap_or_default(),
        types: texts(fields, "types", TYPES_MAX)?,
        speed_permille: speed_permille(fields)?,
    };
    message.register = Some(v1::Register {
        spec: Some(spec),
        held: held.map(|held| v1::Attempt { job: held.job, token: held.token }).collect(),
        join_token: text(fields, "join_token")?,
        // A queue keeps the order.
        connection: 0,
        ..Default::default()
    });
    Ok(())
}

fn public_key(fields: &mut Fields<'_>) -> Result<Bytes, Malformed> {
    let hex = text(fields, "public_key")?;
    bytes_from_hex(&hex).map(Bytes::from).ok_or_else(|| {
        Malformed::not_allowed("public_key", hex, "it must be 64 hexadecimal digits")
    })
}

fn speed_permille(fields: &mut Fields<'_>) -> Result<u32, Malformed> {
    let speed: Option<f64> = take(fields, "speed", SPEED)?;
    let Some(speed) = speed else { return Ok(0) };
    if !(0.001..=f64::from(SPEED_PERMILLE_MAX) / 1_000.0).contains(&speed) {
        return Err(Malformed::not_allowed("speed", speed, SPEED));
    }
    Ok((speed * 1_000.0).round() as u32)
}

fn heartbeat(fields: &mut Fields<'_>, message: &mut v1::WorkerMessage) -> Result<(), Malformed> {
    message.heartbeat = Some(v1::Heartbeat {
        cpu_permille: permille(fields, "cpu")?,
        memory_permille: permille(fields, "memory")?,
        load_permille: permille(fields, "load")?,
        queue_depth: take(fields, "queue_depth", COUNT)?.unwrap_or_default(),
        overloaded: take(fields, "overloaded", "it must be true or false")?.unwrap_or(false),
    });
    Ok(())
}

fn progress(fields: &mut Fields<'_>, message: &mut v1::WorkerMessage) -> Result<(), Malformed> {
    let (permille, note) = (permille(fields, "progress")?, text(fields, "note")?);
    let progress = v1::Progress { permille, note };
    report(fields, message, v1::report::Report::Progress(progress))
}

/// Whole lines, or pieces of them.
fn log(fields: &mut Fields<'_>, message: &mut v1::WorkerMessage) -> Result<(), Malformed> {
    const STREAMS: &str = "it must be stdout, stderr or log";
    let stream = choice(fields, "stream", STREAMS, v1::LogStream::parse)?;
    let at = take::<f64>(fields, "at", "it must be seconds since 1970")?.unwrap_or_default();
    let Attempt { job, token } = attempt(fields)?;
    message.logs.push(v1::LogChunk {
        job,
        token,
        position: take(fields, "position", COUNT)?,
        stream: stream.unwrap_or(v1::LogStream::Log).into(),
        at: (at.max(0.0) * 1e6) as u64,
        data: text(fields, "text")?.into(),
    });
    Ok(())
}

/// The result is kept byte for byte as it was written.
fn complete(fields: &mut Fields<'_>, message: &mut v1::WorkerMessage) -> Result<(), Malformed> {
    let result = fields.remove("result");
    let result = result.map_or_else(Bytes::new, |raw| Bytes::copy_from_slice(raw.get().as_bytes()));
    report(fields, message, v1::report::Report::Complete(v1::Complete { result }))
}

fn fail(fields: &mut Fields<'_>, message: &mut v1::WorkerMessage) -> Result<(), Malformed> {
    let cause = choice(fields, "cause", "it must be failed, permanent or returned", |word| {
        CAUSES.into_iter().find(|cause| cause.as_str() == word)
    })?;
    let fail = v1::Fail {
        cause: cause.unwrap_or(FailureCause::Failed).to_wire(),
        error: text(fields, "error")?,
        retry_after: seconds(fields, "retry_after")?.map(|span| span.0),
    };
    report(fields, message, v1::report::Report::Fail(fail))
}

fn model_loaded(fields: &mut Fields<'_>, message: &mut v1::WorkerMessage) -> Result<(), Malformed> {
    let model = text(fields, "model")?;
    let took = seconds(fields, "took")?.unwrap_or_default().0;
    message.models_loaded.push(v1::ModelLoaded { model, took });
    Ok(())
}

fn report(
    fields: &mut Fields<'_>,
    message: &mut v1::WorkerMessage,
    report: v1::report::Report,
) -> Result<(), Malformed> {
    let Attempt { job, token } = attempt(fields)?;
    message.reports.push(v1::Report { job, token, report: Some(report) });
    Ok(())
}

fn attempt(fields: &mut Fields<'_>) -> Result<Attempt, Malformed> {
    let job = take(fields, "job", COUNT)?.ok_or_else(|| Malformed::missing("job"))?;
    let token = take(fields, "token", COUNT)?.ok_or_else(|| Malformed::missing("token"))?;
    Ok(Attempt { job, token })
}

fn permille(fields: &mut Fields<'_>, name: &str) -> Result<u32, Malformed> {
    let Some(raw) = fields.remove(name) else { return Ok(0) };
    let share: f64 = serde_json::from_str(raw.get()).map_err(|_| wrong(name, raw, SHARE))?;
    if !(0.0..=1.0).contains(&share) {
        return Err(wrong(name, raw, SHARE));
    }
    Ok((share * 1_000.0).round() as u32)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn read(text: &str) -> Said {
        worker_message_from_json(text.as_bytes()).unwrap()
    }

    fn refused(text: &str, message: Expect) {
        message.assert_eq(&worker_message_from_json(text.as_bytes()).unwrap_err().to_string());
    }

    #[test]
    fn a_registration_says_who_and_what_it_holds() {
        let said = read(
            r#"{"type":"register","worker":"w1","instance":7,"slots":2,"roles":["gpu"],"held":[{"job":3,"token":9}]}"#,
        );
        assert_eq!(said.worker, "w1");
        let register = said.message.register.unwrap();
        assert_eq!(register.held, [v1::Attempt { job: 3, token: 9 }]);
        let spec = register.spec.unwrap();
        assert_eq!((spec.id.as_str(), spec.slots, spec.instance), ("w1", 2, 7));
    }

    #[test]
    fn a_result_is_kept_byte_for_byte() {
        let said = read(
            r#"{"type":"complete","worker":"w1","id":"m-1","job":3,"token":9,"result":{"b": 1e400}}"#,
        );
        assert_eq!(said.id.as_deref(), Some("m-1"));
        let Some(v1::report::Report::Complete(complete)) = &said.message.reports[0].report else {
            panic!("{said:?}");
        };
        assert_eq!(complete.result, r#"{"b": 1e400}"#);
    }

    #[test]
    fn a_log_line_says_whose_it_is() {
        let said = read(r#"{"type":"log","worker":"w1","job":3,"token":9,"text":"half\n"}"#);
        let chunk = &said.message.logs[0];
        assert_eq!((chunk.job, chunk.token, chunk.position), (3, 9, None));
        assert_eq!((chunk.stream(), &chunk.data[..]), (v1::LogStream::Log, &b"half\n"[..]));
    }

    #[test]
    fn errors_name_the_field_and_the_way_out() {
        refused(
            r#"{"type":"completed","worker":"w"}"#,
            expect![[
                r#"type: is "completed"; it must be hello, register, heartbeat, acknowledge, claim, progress, log, complete, fail, model_loaded, drain or goodbye"#
            ]],
        );
        refused(
            r#"{"type":"complete","worker":"w","jobs":3,"token":1}"#,
            expect!["jobs: is not known; did you mean job?"],
        );
        refused(r#"{"type":"complete","worker":"w","token":1}"#, expect!["job: is missing"]);
        refused(r#"{"type":"heartbeat"}"#, expect!["worker: is missing"]);
        refused(
            r#"{"type":"heartbeat","worker":"w","load":50}"#,
            expect!["load: is 50; it must be a number from 0 to 1"],
        );
        refused(
            r#"{"type":"fail","worker":"w","job":1,"token":1,"cause":"lost"}"#,
            expect![[r#"cause: is "lost"; it must be failed, permanent or returned"#]],
        );
    }
}
