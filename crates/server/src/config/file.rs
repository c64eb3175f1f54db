//! The YAML file, flattened to keys with dots.

use std::path::Path;

use bellwether_wire::json::from_yaml;
use serde_json::Value;

use super::LoadError;

/// What may be a list.
const WEBHOOKS: &str = "webhooks";
const ALLOWED_HOSTS: &str = "allowed_hosts";

pub(super) fn read(path: &Path) -> Result<Vec<(String, String)>, LoadError> {
    let read = std::fs::read_to_string(path);
    let text = read.map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    let invalid = |reason: String| LoadError::Yaml { path: path.to_owned(), reason };
    // A file of nothing but comments is an empty configuration.
    let mut flat = Vec::new();
    match from_yaml(&text).map_err(invalid)? {
        Value::Null => {}
        tree @ Value::Object(_) => flatten("", &tree, &mut flat).map_err(invalid)?,
        _ => return Err(invalid("it must be keys with values".to_owned())),
    }
    Ok(flat)
}

pub(super) fn flatten(
    key: &str,
    value: &Value,
    flat: &mut Vec<(String, String)>,
) -> Result<(), String> {
    let text = match value {
        Value::Object(children) => {
            for (name, child) in children {
                let key = if key.is_empty() { name.clone() } else { format!("{key}.{name}") };
                flatten(&key, child, flat)?;
            }
            return Ok(());
        }
        Value::Null => return Ok(()),
        Value::String(text) => text.clone(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number.to_string(),
        Value::Array(items) if key == WEBHOOKS => {
            for (index, item) in items.iter().enumerate() {
                flatten(&format!("{key}.{index}"), item, flat)?;
            }
            return Ok(());
        }
        Value::Array(words) if key.starts_with(WEBHOOKS) || key == ALLOWED_HOSTS => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            words.join(",")
        }
        Value::Array(_) => return Err(format!("{key} is a list; it must be one value")),
    };
    flat.push((key.to_owned(), text));
    Ok(())
}
