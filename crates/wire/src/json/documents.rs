//! What a file of jobs consists of: documents of JSON, one after the other or in a list, or one of YAML.

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;

use super::run::ReadError;
use super::yaml::from_yaml;

type Read = Result<Vec<Box<RawValue>>, serde_json::Error>;

fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// Whether a file of jobs is JSON; else it is YAML, in which words may not be the text that was written.
#[must_use]
pub fn is_json(text: &str) -> bool {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    looks_like_json(text) && documents.all(|document| document.is_ok())
}

pub(super) fn documents(text: &str) -> Result<Vec<Box<RawValue>>, ReadError> {
    let as_yaml = |value: &Value| -> Read { Ok(vec![serde_json::value::to_raw_value(value)?]) };
    let documents = if looks_like_json(text) {
        let read: Read = serde_json::Deserializer::from_str(text).into_iter().collect();
        // Lists and objects of YAML may begin like those of JSON.
        read.or_else(|error| from_yaml(text).map_err(|_| error).and_then(|value| as_yaml(&value)))
    } else {
        as_yaml(&from_yaml(text).map_err(ReadError::Yaml)?)
    };
    let documents = documents.map_err(ReadError::Json)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_may_begin_like_json() {
        for text in ["{type: t, id: a}", "[{type: t, id: a}]"] {
            assert!(!is_json(text));
            let read = documents(text).expect("it is YAML");
            let read: Value = serde_json::from_str(read[0].get()).expect("it is JSON now");
            assert_eq!(read, serde_json::json!({"type": "t", "id": "a"}), "{text}");
        }
        assert!(is_json(r#"{"type":"t"} {"type":"t"}"#) && !is_json("type: t"));
        let torn = documents("{type: t").expect_err("it is neither");
        assert!(torn.to_string().contains("no JSON"), "{torn}");
    }
}
