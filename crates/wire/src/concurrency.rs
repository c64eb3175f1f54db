//! Concurrency keys between the schema and the core.

use std::num::NonZeroU32;
use std::sync::Arc;

use bellwether_core::model::limits::{KEY_LIMITS_MAX, KEYS_MAX};
use bellwether_core::model::{KeyLimit, KeySet, KeyUse, Name, OnLimit};

use crate::malformed::{Malformed, Problem, at_most, name, optional_name};
use crate::{Mirror, v1};

/// Heaviest weight, and highest limit that a job may have.
pub const WEIGHT_MAX: u32 = 1_000_000;
const WEIGHT: &str = "it must be from 1 to 1000000";

/// The first key has a field of its own, if nothing more is said of it.
pub fn first_plain(keys: &[KeyUse]) -> (Option<&Name>, &[KeyUse]) {
    match keys.split_first() {
        Some((first, others)) if first.is_plain() => (Some(&first.key), others),
        Some(_) | None => (None, keys),
    }
}

/// One is what is meant where nothing is said.
pub fn weight_to_wire(weight: NonZeroU32) -> u32 {
    if weight == NonZeroU32::MIN { 0 } else { weight.get() }
}

pub(crate) fn key_to_wire(each: &KeyUse) -> v1::ConcurrencyKey {
    v1::ConcurrencyKey {
        key: each.key.to_string(),
        weight: weight_to_wire(each.weight),
        limit: each.limit.map_or(0, NonZeroU32::get),
        on_limit: each.on_limit.map_or(0, Mirror::to_wire),
    }
}

pub(crate) fn keys_from_wire(wire: &v1::JobSpec) -> Result<Option<Arc<KeySet>>, Malformed> {
    at_most("concurrency", wire.concurrency.len(), KEYS_MAX)?;
    let first = optional_name("concurrency_key", &wire.concurrency_key)?.map(KeyUse::plain);
    let mut keys: Vec<KeyUse> = first.into_iter().collect();
    for (index, each) in wire.concurrency.iter().enumerate() {
        let read = key_from_wire(each);
        keys.push(read.map_err(|error| error.within(format_args!("concurrency[{index}]")))?);
    }
    distinct(keys)
}

/// No key twice, and not too many.
pub(crate) fn distinct(keys: Vec<KeyUse>) -> Result<Option<Arc<KeySet>>, Malformed> {
    at_most("concurrency", keys.len(), KEYS_MAX)?;
    let repeated = |index: &usize| keys[..*index].iter().any(|key| key.key == keys[*index].key);
    if let Some(index) = (1..keys.len()).find(repeated) {
        let field = format!("concurrency: the key {}", keys[index].key);
        return Err(Malformed::new(&field, Problem::Twice));
    }
    Ok(KeySet::of(keys))
}

fn key_from_wire(wire: &v1::ConcurrencyKey) -> Result<KeyUse, Malformed> {
    Ok(KeyUse {
        key: name("key", &wire.key)?,
        weight: weight("weight", u64::from(wire.weight.max(1)))?,
        limit: match wire.limit {
            0 => None,
            limit => Some(weight("limit", limit.into())?),
        },
        on_limit: OnLimit::optional("on_limit", wire.on_limit)?,
    })
}

pub(crate) fn weight(field: &str, given: u64) -> Result<NonZeroU32, Malformed> {
    let allowed = u32::try_from(given).ok().filter(|weight| *weight <= WEIGHT_MAX);
    let weight = allowed.and_then(NonZeroU32::new);
    weight.ok_or_else(|| Malformed::not_allowed(field, given, WEIGHT))
}

pub(crate) fn limits_to_wire(limits: &[KeyLimit]) -> Vec<v1::KeyLimit> {
    let limit = |limit: &KeyLimit| v1::KeyLimit {
        pattern: limit.pattern.to_string(),
        max: limit.max,
        on_limit: limit.on_limit.to_wire(),
    };
    limits.iter().map(limit).collect()
}

pub(crate) fn limits_from_wire(wire: &[v1::KeyLimit]) -> Result<Vec<KeyLimit>, Malformed> {
    at_most("limits", wire.len(), KEY_LIMITS_MAX)?;
    let limit = |limit: &v1::KeyLimit| {
        Ok(KeyLimit {
            pattern: name("limits.pattern", &limit.pattern)?,
            max: limit.max,
            on_limit: OnLimit::optional("limits.on_limit", limit.on_limit)?.unwrap_or_default(),
        })
    };
    wire.iter().map(limit).collect()
}
