//! What a job of type `exec` says.

use std::collections::BTreeMap;

use bellwether_wire::json::fault;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

pub(crate) const TYPE: &str = "exec";
const FORM: &str = r#"{"argv":[..],"env":{},"cwd":"..","stdin":".."}"#;

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Payload {
    pub(crate) argv: Vec<Word>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, Setting>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cwd: Option<String>,
    /// What the command reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) stdin: Option<String>,
}

/// A text; a number, true or false stands for the text that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// It was written without quotes.
    bare: bool,
}

/// What a variable of the environment is set to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    Text(Word),
    /// What the worker knows by this name.
    Secret(String),
}

/// Why a payload can't be run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PayloadError {
    #[error("the payload is not {FORM}: {}", fault(.0))]
    Form(serde_json::Error),
    #[error("argv is empty; name a command")]
    NoCommand,
    #[error(
        "{place} is {text} without quotes, which YAML may read as another text than was written; put it in quotes"
    )]
    Bare { place: String, text: String },
}

impl Payload {
    pub(crate) fn parse(bytes: &[u8]) -> Result<Payload, PayloadError> {
        let payload: Payload = serde_json::from_slice(bytes).map_err(PayloadError::Form)?;
        if payload.argv.is_empty() {
            return Err(PayloadError::NoCommand);
        }
        Ok(payload)
    }

    /// For what was written in YAML, where 1.10 is 1.1 and 0x10 is 16 by the time that it is here.
    pub(crate) fn quoted(&self) -> Result<(), PayloadError> {
        let argv = self.argv.iter().enumerate();
        let argv = argv.map(|(index, word)| (format!("argv[{index}]"), word));
        let env = self.env.iter().filter_map(|(name, setting)| match setting {
            Setting::Text(word) => Some((format!("env.{name}"), word)),
            Setting::Secret(_) => None,
        });
        match argv.chain(env).find(|(_, word)| word.bare) {
            Some((place, word)) => Err(PayloadError::Bare { place, text: word.text.clone() }),
            None => Ok(()),
        }
    }
}

/// Whether jobs of this type are commands.
pub(crate) fn is_exec(kind: &str) -> bool {
    kind == TYPE || kind.strip_prefix(TYPE).is_some_and(|rest| rest.starts_with('/'))
}

impl From<String> for Word {
    fn from(text: String) -> Word {
        Word { text, bare: false }
    }
}

impl Word {
    fn of(raw: &RawValue) -> Option<Word> {
        let written = raw.get();
        match written.as_bytes().first()? {
            b'"' => serde_json::from_str(written).ok().map(|text| Word { text, bare: false }),
            b'{' | b'[' | b'n' => None,
            _ => Some(Word { text: written.to_owned(), bare: true }),
        }
    }
}

impl Serialize for Word {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Word, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        Word::of(&raw).ok_or_else(|| D::Error::custom("an argument must be a text"))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecretName {
    secret: String,
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Setting::Text(word) => word.serialize(serializer),
            Setting::Secret(name) => SecretName { secret: name.clone() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Setting, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        if let Some(word) = Word::of(&raw) {
            return Ok(Setting::Text(word));
        }
        let named: Result<SecretName, _> = serde_json::from_str(raw.get());
        let wanted = "a variable must be a text, or {\"secret\":\"NAME\"}";
        named.map(|named| Setting::Secret(named.secret)).map_err(|_| D::Error::custom(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Payload, PayloadError> {
        Payload::parse(text.as_bytes())
    }

    #[test]
    fn numbers_and_booleans_are_the_text_that_was_written() {
        let payload = parse(r#"{"argv":["sleep",1.10,true],"env":{"N":0.50}}"#).unwrap();
        let texts: Vec<&str> = payload.argv.iter().map(|word| word.text.as_str()).collect();
        assert_eq!(texts, ["sleep", "1.10", "true"]);
        assert_eq!(payload.env["N"], Setting::Text(Word { text: "0.50".to_owned(), bare: true }));
        let told = payload.quoted().unwrap_err().to_string();
        assert!(told.starts_with("argv[1] is 1.10 without quotes"), "{told}");
    }

    #[test]
    fn what_is_no_command_is_refused_with_a_word() {
        for (text, wanted) in [
            (r#"{"argv":[]}"#, "name a command"),
            (r#"{"argv":["a",null]}"#, "an argument must be a text"),
            (r#"{"argv":["a"],"env":{"A":{"secrets":"x"}}}"#, "{\"secret\":\"NAME\"}"),
            (r#"{"argv":["a"],"evn":{}}"#, "`evn` is not known"),
        ] {
            let told = parse(text).unwrap_err().to_string();
            assert!(told.contains(wanted), "{told}");
        }
    }

    #[test]
    fn a_secret_is_named_and_not_told() {
        let payload = parse(r#"{"argv":["a"],"env":{"A":{"secret":"db"}}}"#).unwrap();
        assert_eq!(payload.env["A"], Setting::Secret("db".to_owned()));
        let again = serde_json::to_string(&payload).unwrap();
        assert_eq!(parse(&again).unwrap(), payload);
    }

    #[test]
    fn only_exec_and_its_kinds_are_commands() {
        assert!(is_exec("exec") && is_exec("exec/make"));
        assert!(!is_exec("executor") && !is_exec("resize"));
    }
}
