//! How a job uses its keys, as people write it.

use bellwether_core::model::limits::KEYS_MAX;
use bellwether_core::model::{KeyUse, OnLimit};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::bounded::{Bounded, items};
use super::field::{Given, fields};
use crate::concurrency::weight;
use crate::malformed::{Malformed, at_most};

const LIST: &str = "it must be a list of keys, each a text or an object with `key`";
const SHARE: &str = "it must be a whole number from 1 to 1000000";

/// A list of keys.
pub(super) fn read_keys(given: Given<'_>) -> Result<Vec<KeyUse>, Malformed> {
    let Bounded { kept, count } =
        items::<&RawValue>(given.raw, KEYS_MAX).ok_or_else(|| given.wrong(LIST))?;
    at_most(given.name, count, KEYS_MAX)?;
    let read = |(index, raw): (usize, &RawValue)| {
        let within = |error: Malformed| error.within(format_args!("{}[{index}]", given.name));
        read_key(raw).map_err(within)
    };
    kept.into_iter().enumerate().map(read).collect()
}

fn read_key(raw: &RawValue) -> Result<KeyUse, Malformed> {
    if raw.get().starts_with('"') {
        let key = Given { name: "key", raw }.name()?;
        return key.map(KeyUse::plain).ok_or_else(|| Malformed::missing("key"));
    }
    let given = fields(raw, &["key", "weight", "limit", "on_limit"])?;
    let field = |name| given.get(name).map(|raw| Given { name, raw });
    let key = field("key").map(Given::name).transpose()?.flatten();
    let mut each = KeyUse::plain(key.ok_or_else(|| Malformed::missing("key"))?);
    if let Some(given) = field("weight") {
        each.weight = weight("weight", given.parse(SHARE)?)?;
    }
    if let Some(given) = field("limit") {
        each.limit = Some(weight("limit", given.parse(SHARE)?)?);
    }
    if let Some(given) = field("on_limit") {
        let word = given.choice("it must be queue, skip or replace", OnLimit::parse)?;
        each.on_limit = Some(word);
    }
    Ok(each)
}

/// One key, with what is said of it.
pub(super) struct WrittenKey<'a>(pub(super) &'a KeyUse);

impl Serialize for WrittenKey<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let KeyUse { key, weight, limit, on_limit } = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("key", key)?;
        if weight.get() > 1 {
            map.serialize_entry("weight", weight)?;
        }
        if let Some(limit) = limit {
            map.serialize_entry("limit", limit)?;
        }
        if let Some(on_limit) = on_limit {
            map.serialize_entry("on_limit", on_limit.as_str())?;
        }
        map.end()
    }
}
