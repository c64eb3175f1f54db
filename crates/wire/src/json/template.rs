//! Parameters: in every text of a document, `{{name}}` stands for a value.
//!
//! A text that is nothing but `{{name}}` becomes the value itself, a number if that is one; elsewhere
//! the value's text is put in. `{{{{` stands for two braces.

use std::collections::BTreeMap;

use bellwether_core::model::excerpt;
use serde_json::{Map, Value};

use super::nearest::nearest;
use crate::malformed::{Malformed, Problem, at_most};

/// Parameters of one document.
const PARAMETERS_MAX: usize = 1_000;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
/// Stands for what opens a name.
const LITERAL: &str = "{{{{";

/// What names stand for.
pub(super) type Values = BTreeMap<String, Value>;

/// Values that are given on a command line: what each is follows from its default.
pub type Texts = BTreeMap<String, String>;

/// The values of the declared parameters: what is given, else the default.
pub(super) fn values(
    declared: &Value,
    set: Option<&Value>,
    texts: &Texts,
) -> Result<Values, Malformed> {
    const WANTED: &str = "it must be an object of names and defaults";
    let declared = declared
        .as_object()
        .ok_or_else(|| Malformed::not_allowed("parameters", declared, WANTED))?;
    at_most("parameters", declared.len(), PARAMETERS_MAX)?;
    let mut values = Values::new();
    for (name, default) in declared {
        if !is_name(name) {
            const WANTED: &str = "it must be of letters, digits, _ and -";
            return Err(Malformed::not_allowed("parameters", excerpt(name), WANTED));
        }
        if !default.is_null() {
            values.insert(name.clone(), scalar(name, default)?);
        }
    }
    for (name, value) in given(set)? {
        let default = known(declared, name)?;
        values.insert(name.clone(), like(name, default, scalar(name, value)?)?);
    }
    for (name, text) in texts {
        let default = known(declared, name)?;
        values.insert(name.clone(), like(name, default, read(text, default))?);
    }
    match declared.keys().find(|name| !values.contains_key(*name)) {
        Some(name) => {
            let problem = Problem::Unset { name: name.clone() };
            Err(Malformed::new(format!("parameters.{name}"), problem))
        }
        None => Ok(values),
    }
}

fn given(set: Option<&Value>) -> Result<impl Iterator<Item = (&String, &Value)>, Malformed> {
    const WANTED: &str = "it must be an object of names and values";
    let set = set.filter(|set| !set.is_null());
    let map =
        set.map(|set| set.as_object().ok_or_else(|| Malformed::not_allowed("set", set, WANTED)));
    Ok(map.transpose()?.into_iter().flatten())
}

fn known<'a>(declared: &'a Map<String, Value>, name: &str) -> Result<&'a Value, Malformed> {
    declared.get(name).ok_or_else(|| unknown(&format!("set.{name}"), name, declared.keys()))
}

fn unknown<'a>(field: &str, name: &str, known: impl Iterator<Item = &'a String>) -> Malformed {
    let nearest = nearest(name, known.map(String::as_str)).map(|(name, _)| name.to_owned());
    Malformed::new(field, Problem::Unknown { nearest })
}

fn scalar(name: &str, value: &Value) -> Result<Value, Malformed> {
    match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Ok(value.clone()),
        Value::Null | Value::Array(_) | Value::Object(_) => {
            const WANTED: &str = "it must be a text, a number, true or false";
            Err(Malformed::not_allowed(&format!("parameters.{name}"), value, WANTED))
        }
    }
}

/// A value of the same kind as the default, if there is one.
fn like(name: &str, default: &Value, value: Value) -> Result<Value, Malformed> {
    let wanted = match (default, &value) {
        (Value::Number(_), Value::Number(_))
        | (Value::Bool(_), Value::Bool(_))
        | (Value::String(_), Value::String(_))
        | (Value::Null | Value::Array(_) | Value::Object(_), _) => return Ok(value),
        (Value::Number(_), _) => "it must be a number, as its default is",
        (Value::Bool(_), _) => "it must be true or false, as its default is",
        (Value::String(_), _) => "it must be a text, as its default is",
    };
    Err(Malformed::not_allowed(&format!("set.{name}"), value, wanted))
}

/// A text of a command line as what it looks like, unless its default is a text. A number that would
/// be written otherwise, as 007 or 1.10, is a text.
fn read(text: &str, default: &Value) -> Value {
    let as_text = || Value::String(text.to_owned());
    if default.is_string() {
        return as_text();
    }
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Bool(_)) => value,
        Ok(value @ Value::Number(_)) if default.is_number() || is_written(&value, text) => value,
        _ => as_text(),
    }
}

fn is_written(value: &Value, text: &str) -> bool {
    let written = value.to_string();
    written == text
}

fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.chars().all(fits)
}

/// Puts values in for their names, in every text but the keys of objects.
pub(super) fn fill(value: &Value, values: &Values) -> Result<Value, Malformed> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        Value::String(text) => fill_text(text, values),
        Value::Array(list) => {
            let filled = list.iter().enumerate().map(|(index, item)| {
                fill(item, values).map_err(|why| why.within(format_args!("[{index}]")))
            });
            filled.collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        Value::Object(map) => {
            let filled = map.iter().map(|(name, item)| {
                let filled = fill(item, values).map_err(|why| why.within(excerpt(name)));
                Ok((name.clone(), filled?))
            });
            filled.collect::<Result<Map<_, _>, Malformed>>().map(Value::Object)
        }
    }
}

fn fill_text(text: &str, values: &Values) -> Result<Value, Malformed> {
    if !text.contains(OPEN) {
        return Ok(Value::String(text.to_owned()));
    }
    if let Some(name) = only_a_name(text) {
        return value_of(name, values).cloned();
    }
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = rest.find(OPEN) {
        filled.push_str(&rest[..place]);
        rest = &rest[place..];
        if let Some(after) = rest.strip_prefix(LITERAL) {
            filled.push_str(OPEN);
            rest = after;
            continue;
        }
        let end = rest.find(CLOSE).ok_or_else(|| {
            Malformed::not_allowed(
                "it",
                excerpt(rest),
                "a name must end with }}; {{{{ stands for {{",
            )
        })?;
        match value_of(rest[OPEN.len()..end].trim(), values)? {
            Value::String(text) => filled.push_str(text),
            other => filled.push_str(&other.to_string()),
        }
        rest = &rest[end + CLOSE.len()..];
    }
    filled.push_str(rest);
    Ok(Value::String(filled))
}

fn only_a_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix(OPEN)?.strip_suffix(CLOSE)?.trim();
    is_name(name).then_some(name)
}

fn value_of<'a>(name: &str, values: &'a Values) -> Result<&'a Value, Malformed> {
    values.get(name).ok_or_else(|| unknown(&format!("{{{{{name}}}}}"), name, values.keys()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn filled(declared: Value, texts: &[(&str, &str)], value: Value) -> Result<Value, String> {
        let texts = texts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        let values = values(&declared, None, &texts.collect()).map_err(|why| why.to_string())?;
        fill(&value, &values).map_err(|why| why.to_string())
    }

    #[test]
    fn what_is_nothing_but_a_name_keeps_its_kind() {
        let declared = json!({ "n": 3, "date": "2026-11-14", "on": false, "free": null });
        let given = json!({ "n": "{{n}}", "at": "on {{date}}, {{ n }} times", "l": ["{{on}}", "{{free}}"] });
        let texts = [("n", "5"), ("date", "2026-11-15"), ("on", "true"), ("free", "1.10")];
        let expected = json!({ "n": 5, "at": "on 2026-11-15, 5 times", "l": [true, "1.10"] });
        assert_eq!(filled(declared, &texts, given), Ok(expected));
    }

    #[test]
    fn braces_and_keys_are_left_alone() {
        let filled = filled(json!({ "a": "x" }), &[], json!({ "{{a}}": "{{{{a}} {a} {{a}}" }));
        assert_eq!(filled, Ok(json!({ "{{a}}": "{{a}} {a} x" })));
    }

    #[test]
    fn what_is_missing_or_unknown_is_named() {
        let declared = json!({ "date": null, "n": 1 });
        let refused = |texts, value| filled(declared.clone(), texts, value).unwrap_err();
        assert_eq!(
            refused(&[], json!("")),
            "parameters.date: has no value; give it one, as --set date=VALUE or in `set`"
        );
        assert_eq!(
            refused(&[("date", "x"), ("dat", "y")], json!("")),
            "set.dat: is not known; did you mean date?"
        );
        assert_eq!(
            refused(&[("date", "x")], json!({ "payload": ["{{dade}}"] })),
            "payload.[0].{{dade}}: is not known; did you mean date?"
        );
        assert_eq!(
            refused(&[("date", "x"), ("n", "many")], json!("")),
            "set.n: is \"many\"; it must be a number, as its default is"
        );
    }
}
