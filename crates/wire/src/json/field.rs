//! Single fields of an object that somebody wrote by hand.

use std::collections::BTreeMap;

use bellwether_core::model::Micros;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::malformed::{Malformed, Problem, SPAN_MAX};

/// Longest piece of a wrong value that is shown.
const SHOWN_CHARS: usize = 40;

/// The fields of an object, each still as it was written.
pub(super) type Fields = BTreeMap<String, Box<RawValue>>;

/// Takes objects apart, and refuses fields that are not known.
pub(super) fn fields(raw: &RawValue, known: &[&str]) -> Result<Fields, Malformed> {
    let mut fields: Fields = serde_json::from_str(raw.get())
        .map_err(|_| wrong("it", raw, "it must be an object with named fields"))?;
    if let Some(unknown) = fields.keys().find(|name| !known.contains(&name.as_str())) {
        let nearest = nearest(unknown, known).map(str::to_owned);
        return Err(Malformed::new(unknown.clone(), Problem::Unknown { nearest }));
    }
    // Null says nothing, as leaving a field out does; only a payload may be null.
    fields.retain(|name, value| name == "payload" || value.get() != "null");
    Ok(fields)
}

pub(super) fn take<T: DeserializeOwned>(
    fields: &mut Fields,
    name: &str,
    wanted: &'static str,
) -> Result<Option<T>, Malformed> {
    let Some(raw) = fields.remove(name) else { return Ok(None) };
    match serde_json::from_str(raw.get()) {
        Ok(value) => Ok(Some(value)),
        Err(_) => Err(wrong(name, &raw, wanted)),
    }
}

pub(super) fn text(fields: &mut Fields, name: &str) -> Result<String, Malformed> {
    Ok(take(fields, name, "it must be a text")?.unwrap_or_default())
}

pub(super) fn texts(fields: &mut Fields, name: &str) -> Result<Vec<String>, Malformed> {
    Ok(take(fields, name, "it must be a list of texts")?.unwrap_or_default())
}

/// Seconds, whole or not.
pub(super) fn seconds(fields: &mut Fields, name: &str) -> Result<Option<Micros>, Malformed> {
    const WANTED: &str = "it must be a number of seconds, at most 100 years";
    let Some(raw) = fields.remove(name) else { return Ok(None) };
    let seconds: f64 = serde_json::from_str(raw.get()).map_err(|_| wrong(name, &raw, WANTED))?;
    let micros = (seconds * 1e6).round();
    if (0.0..=SPAN_MAX.0 as f64).contains(&micros) {
        Ok(Some(Micros(micros as u64)))
    } else {
        Err(wrong(name, &raw, WANTED))
    }
}

/// One of several words. `choose` sees the word, or a number as it was written.
pub(super) fn choice<T>(
    fields: &mut Fields,
    name: &str,
    wanted: &'static str,
    choose: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Malformed> {
    let Some(raw) = fields.remove(name) else { return Ok(None) };
    let word = match serde_json::from_str(raw.get()) {
        Ok(Value::String(word)) => word,
        Ok(Value::Number(number)) => number.to_string(),
        _ => return Err(wrong(name, &raw, wanted)),
    };
    choose(&word).map(Some).ok_or_else(|| wrong(name, &raw, wanted))
}

pub(super) fn wrong(name: &str, raw: &RawValue, wanted: &'static str) -> Malformed {
    let mut given: String = raw.get().chars().take(SHOWN_CHARS).collect();
    if given.len() < raw.get().len() {
        given.push_str("...");
    }
    Malformed::not_allowed(name, given, wanted)
}

/// The known name that a mistyped one was most likely meant to be.
fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let (distance, nearest) =
        known.iter().map(|candidate| (distance(name, candidate), *candidate)).min()?;
    (distance <= 1 + nearest.len() / 3).then_some(nearest)
}

/// Letters to insert, delete, replace or swap to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows = vec![vec![0; to.len() + 1]; from.len() + 1];
    for i in 0..=from.len() {
        for j in 0..=to.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
                let swapped =
                    i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
                let swapped = if swapped { rows[i - 2][j - 2] + 1 } else { usize::MAX };
                replaced.min(swapped).min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1)
            };
        }
    }
    rows[from.len()][to.len()]
}
