//! Single fields of an object that somebody wrote by hand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bellwether_core::model::Micros;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::nearest::nearest;
use crate::malformed::{Malformed, Problem, SPAN_MAX};

/// Longest piece of a wrong value that is shown.
const SHOWN_CHARS: usize = 40;

/// The fields of an object, each still as it was written. They are few, so looking through them all
/// is quicker than keeping them in order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    /// Takes an object apart.
    pub(super) fn of(raw: &'a RawValue) -> Result<Self, Malformed> {
        serde_json::from_str(raw.get())
            .map_err(|_| wrong("it", raw, "it must be an object with named fields"))
    }

    /// Refuses fields that are not known.
    pub(super) fn only(mut self, known: &[&str]) -> Result<Self, Malformed> {
        if let Some((unknown, _)) = self.0.iter().find(|(name, _)| !known.contains(&&**name)) {
            let nearest = nearest(unknown, known.iter().copied()).map(|(name, _)| name.to_owned());
            return Err(Malformed::new(unknown.to_string(), Problem::Unknown { nearest }));
        }
        // Null says nothing, as leaving a field out does; only a payload may be null.
        self.0.retain(|(name, value)| name == "payload" || value.get() != "null");
        Ok(self)
    }

    /// Of several with the same name the last one.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rfind(|(known, _)| known == name).map(|(_, value)| *value)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<&'a RawValue> {
        let value = self.get(name)?;
        self.0.retain(|(known, _)| known != name);
        Some(value)
    }

    pub(super) fn insert(&mut self, name: &'static str, value: &'a RawValue) {
        self.0.push((name.into(), value));
    }

    /// In the order of their names.
    pub(super) fn into_sorted(self) -> BTreeMap<Cow<'a, str>, &'a RawValue> {
        self.0.into_iter().collect()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some((Name(name), value)) = map.next_entry()? {
                    fields.push((name, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Object)
    }
}

/// Copied only if something in it is escaped.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Takes an object apart, and refuses fields that are not known.
pub(super) fn fields<'a>(raw: &'a RawValue, known: &[&str]) -> Result<Fields<'a>, Malformed> {
    Fields::of(raw)?.only(known)
}

pub(super) fn take<T: DeserializeOwned>(
    fields: &mut Fields<'_>,
    name: &str,
    wanted: &'static str,
) -> Result<Option<T>, Malformed> {
    let Some(raw) = fields.remove(name) else { return Ok(None) };
    match serde_json::from_str(raw.get()) {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(wrong(name, raw, wanted)),
    }
}

pub(super) fn text(fields: &mut Fields<'_>, name: &str) -> Result<String, Malformed> {
    Ok(take(fields, name, "it must be a text")?.unwrap_or_default())
}

pub(super) fn texts(fields: &mut Fields<'_>, name: &str) -> Result<Vec<String>, Malformed> {
    Ok(take(fields, name, "it must be a list of texts")?.unwrap_or_default())
}

/// Seconds, whole or not.
pub(super) fn seconds(fields: &mut Fields<'_>, name: &str) -> Result<Option<Micros>, Malformed> {
    const WANTED: &str = "it must be a number of seconds, at most 100 years";
    let Some(raw) = fields.remove(name) else { return Ok(None) };
    let seconds: f64 = serde_json::from_str(raw.get()).map_err(|_| wrong(name, raw, WANTED))?;
    let micros = (seconds * 1e6).round();
    if (0.0..=SPAN_MAX.0 as f64).contains(&micros) {
        Ok(Some(Micros(micros as u64)))
    } else {
        Err(wrong(name, raw, WANTED))
    }
}

/// One of several words. `choose` sees the word, or a number as it was written.
pub(super) fn choice<T>(
    fields: &mut Fields<'_>,
    name: &str,
    wanted: &'static str,
    choose: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Malformed> {
    let Some(raw) = fields.remove(name) else { return Ok(None) };
    let word = match serde_json::from_str(raw.get()) {
        Ok(Value::String(word)) => word,
        Ok(Value::Number(number)) => number.to_string(),
        _ => return Err(wrong(name, raw, wanted)),
    };
    choose(&word).map(Some).ok_or_else(|| wrong(name, raw, wanted))
}

pub(super) fn wrong(name: &str, raw: &RawValue, wanted: &'static str) -> Malformed {
    let mut given: String = raw.get().chars().take(SHOWN_CHARS).collect();
    if given.len() < raw.get().len() {
        given.push_str("...");
    }
    Malformed::not_allowed(name, given, wanted)
}
