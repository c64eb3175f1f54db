//! A job as JSON, written without a tree of values in between.

use bellwether_core::model::{
    Escalation, JobId, JobSpec, KeyUse, Micros, Name, Timestamp, TraceParent,
};
use serde::ser::{Error as _, Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::concurrency::WrittenKey;
use super::hex;
use super::job::FIELDS;
use super::legible::{Legibility, breaks_lines, on_one_line};
use super::unit::{Moment, span};

/// The value of one field.
#[derive(Debug)]
pub enum Written<'a> {
    Name(&'a Name),
    Names(&'a [Name]),
    Ids(&'a [JobId]),
    Word(&'static str),
    Whole(u64),
    Seconds(Micros),
    Time(Timestamp),
    Trace(TraceParent),
    Escalation(&'a Escalation),
    Keys(&'a [KeyUse]),
    Payload(&'a [u8]),
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Written::Name(name) => serializer.serialize_str(name.as_str()),
            Written::Names(names) => names.serialize(serializer),
            Written::Ids(ids) => ids.serialize(serializer),
            Written::Word(word) => serializer.serialize_str(word),
            Written::Whole(number) => serializer.serialize_u64(number),
            Written::Seconds(given) => serializer.serialize_f64(span(given)),
            Written::Time(at) => Moment(at).serialize(serializer),
            Written::Trace(trace) => serializer.collect_str(&trace),
            Written::Escalation(Escalation { priority, role }) => {
                let mut map = serializer.serialize_map(None)?;
                if let Some(priority) = priority {
                    map.serialize_entry("priority", priority.as_str())?;
                }
                if let Some(role) = role {
                    map.serialize_entry("role", role)?;
                }
                map.end()
            }
            Written::Keys(keys) => serializer.collect_seq(keys.iter().map(WrittenKey)),
            Written::Payload(bytes) => Carried::shown(bytes).serialize(serializer),
        }
    }
}

/// A job with the names that it was submitted with. What is left out has its default.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenJob<'a> {
    pub(super) spec: &'a JobSpec,
    pub(super) payload: Payload,
}

/// How the payload is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    /// For people; none is left out.
    Shown,
    /// On one line, because events may be told apart by lines. A long one is left out, and says so.
    InEvent { bytes_max: usize },
    /// As it was written, for the worker.
    AsGiven,
}

impl WrittenJob<'_> {
    /// As fields of an object that may have others.
    pub(super) fn write_fields<M: SerializeMap>(self, map: &mut M) -> Result<(), M::Error> {
        for field in FIELDS {
            match (field.write)(self.spec) {
                None => {}
                Some(Written::Payload(bytes)) => match self.payload {
                    Payload::Shown if bytes.is_empty() => {}
                    Payload::Shown => carry(map, field.name, bytes, usize::MAX)?,
                    Payload::InEvent { bytes_max } => carry(map, field.name, bytes, bytes_max)?,
                    Payload::AsGiven => {
                        map.serialize_entry(field.name, &Carried { bytes, way: Way::AsGiven })?;
                    }
                },
                Some(value) => map.serialize_entry(field.name, &value)?,
            }
        }
        Ok(())
    }
}

impl Serialize for WrittenJob<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.write_fields(&mut map)?;
        map.end()
    }
}

/// The job as it was taken, with the names that it was written with.
pub fn job_spec_to_json(spec: &JobSpec) -> Value {
    let job = WrittenJob { spec, payload: Payload::Shown };
    serde_json::to_value(job).expect("what is shown is legible")
}

/// A payload or a result, unless it is too long; then how long it was.
pub(super) fn carry<M: SerializeMap>(
    map: &mut M,
    name: &str,
    bytes: &[u8],
    max: usize,
) -> Result<(), M::Error> {
    if bytes.len() <= max {
        return map.serialize_entry(name, &Carried::shown(bytes));
    }
    map.serialize_entry(name, &())?;
    map.serialize_entry(&format!("{name}_left_out_bytes"), &bytes.len())
}

/// A payload or a result. JSON that everybody can read is written as such, all other text as text, and
/// what is no text in hexadecimal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Carried<'a> {
    bytes: &'a [u8],
    way: Way,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// JSON that was written on several lines is written on one.
    OneLine,
    /// As it was written, even if not everybody could read it.
    AsGiven,
}

impl<'a> Carried<'a> {
    /// For those who look on.
    pub(super) fn shown(bytes: &'a [u8]) -> Carried<'a> {
        Carried { bytes, way: Way::OneLine }
    }
}

impl Serialize for Carried<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = self.bytes;
        if bytes.is_empty() {
            return serializer.serialize_unit();
        }
        if let Ok(raw) = serde_json::from_slice::<&RawValue>(bytes) {
            let legibility = Legibility::of(raw.get());
            match self.way {
                Way::AsGiven if legibility.is_shallow() => return raw.serialize(serializer),
                Way::OneLine if legibility.is_for_everybody() => {
                    if !breaks_lines(raw.get()) {
                        return raw.serialize(serializer);
                    }
                    let line = RawValue::from_string(on_one_line(raw.get()));
                    return line.map_err(S::Error::custom)?.serialize(serializer);
                }
                Way::AsGiven | Way::OneLine => {}
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => json!({ "hex": hex(bytes) }).serialize(serializer),
        }
    }
}
