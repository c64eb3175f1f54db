//! Webhooks: a list in the file, so their keys are numbered: `webhooks.0.url`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use bellwether_core::Event;
use bellwether_wire::json::nearest;

use super::secret::Keeper;
use super::value::{Parsed, number, switch};
use super::{LoadError, Secret};

pub(super) const PREFIX: &str = "webhooks.";
const KEYS: [&str; 6] =
    ["url", "kinds", "secret_env", "secret_file", "allow_private", "attempts_max"];
const ATTEMPTS_DEFAULT: u32 = 10;

/// Somebody who is told of events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub url: String,
    /// None of them: all.
    pub kinds: Vec<String>,
    /// What messages are signed with.
    pub secret: Secret,
    /// Loopback, link-local and private addresses may be reached.
    pub allow_private: bool,
    /// How often an event is sent before it is dropped.
    pub attempts_max: u32,
}

#[derive(Debug, Default)]
pub(super) struct WebhookDraft {
    url: Option<String>,
    kinds: Vec<String>,
    keeper: Option<Keeper>,
    allow_private: bool,
    attempts_max: Option<u32>,
}

pub(super) type WebhookDrafts = BTreeMap<usize, WebhookDraft>;

impl WebhookDraft {
    /// None if the key is not known.
    fn set(&mut self, key: &str, value: &str) -> Option<Parsed<()>> {
        let mut set = || {
            match key {
                "url" => self.url = Some(url(value)?),
                "kinds" => {
                    let kinds = value.split(',').map(|kind| kind.trim().to_owned());
                    self.kinds = kinds.filter(|kind| !kind.is_empty()).collect();
                    if self.kinds.iter().any(|kind| !Event::NAMES.contains(&kind.as_str())) {
                        return Err("kinds of events, as job_completed, with commas between them");
                    }
                }
                "secret_env" => self.keeper = Some(Keeper::Variable(value.to_owned())),
                "secret_file" => self.keeper = Some(Keeper::File(PathBuf::from(value))),
                "allow_private" => self.allow_private = switch(value)?,
                "attempts_max" => self.attempts_max = Some(attempts(value)?),
                _ => return Ok(false),
            }
            Ok(true)
        };
        match set() {
            Ok(true) => Some(Ok(())),
            Ok(false) => None,
            Err(wanted) => Some(Err(wanted)),
        }
    }

    fn finish(self, index: usize) -> Result<Webhook, LoadError> {
        let missing = |key| LoadError::Missing { key: format!("{PREFIX}{index}.{key}") };
        let keeper = self.keeper.ok_or_else(|| missing("secret_env or secret_file"))?;
        Ok(Webhook {
            url: self.url.ok_or_else(|| missing("url"))?,
            kinds: self.kinds,
            secret: keeper.ask("a webhook")?,
            allow_private: self.allow_private,
            attempts_max: self.attempts_max.unwrap_or(ATTEMPTS_DEFAULT),
        })
    }
}

/// `key` is what follows [`PREFIX`], as `0.url`.
pub(super) fn set(
    drafts: &mut WebhookDrafts,
    origin: &str,
    key: &str,
    value: &str,
) -> Result<(), LoadError> {
    let unknown = |nearest| {
        let key = format!("{PREFIX}{key}");
        LoadError::Unknown { origin: origin.to_owned(), key, nearest }
    };
    let Some((index, field)) = key.split_once('.') else { return Err(unknown(None)) };
    let Ok(index) = index.parse::<usize>() else { return Err(unknown(None)) };
    match drafts.entry(index).or_default().set(field, value) {
        Some(Ok(())) => Ok(()),
        Some(Err(wanted)) => Err(LoadError::Value {
            origin: origin.to_owned(),
            key: format!("{PREFIX}{key}"),
            given: value.to_owned(),
            wanted,
        }),
        None => Err(unknown(nearest(field, KEYS).map(|(key, _)| key))),
    }
}

pub(super) fn finish(drafts: WebhookDrafts) -> Result<Vec<Webhook>, LoadError> {
    drafts.into_iter().map(|(index, draft)| draft.finish(index)).collect()
}

fn url(text: &str) -> Parsed<String> {
    const WANTED: &str = "an address as https://example.org/hook";
    let uri: http::Uri = text.parse().map_err(|_| WANTED)?;
    let web = matches!(uri.scheme_str(), Some("http" | "https"));
    if web && uri.host().is_some() { Ok(text.to_owned()) } else { Err(WANTED) }
}

fn attempts(text: &str) -> Parsed<u32> {
    match number(text)? {
        given @ 1..=100 => Ok(given),
        _ => Err("from 1 to 100"),
    }
}
