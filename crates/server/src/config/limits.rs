//! Limits on concurrency keys: `limits.KEY` is how much of it may be taken, and `limits.KEY.on_limit` what
//! becomes of jobs that come when it is.

use bellwether_core::model::{KeyLimit, Name, OnLimit};

use super::value::{Parsed, number};

const MAX: &str = ".max";
const ON_LIMIT: &str = ".on_limit";

pub(super) fn set(limits: &mut Vec<KeyLimit>, key: &str, value: &str) -> Parsed<()> {
    if let Some(pattern) = key.strip_suffix(ON_LIMIT) {
        let on_limit = OnLimit::parse(value).ok_or("queue, skip or replace")?;
        limit_of(limits, pattern)?.on_limit = on_limit;
        return Ok(());
    }
    limit_of(limits, key.strip_suffix(MAX).unwrap_or(key))?.max = number(value)?;
    Ok(())
}

/// In the order of their patterns. One that is new lets one at a time through until its `max` is set.
fn limit_of<'a>(limits: &'a mut Vec<KeyLimit>, pattern: &str) -> Parsed<&'a mut KeyLimit> {
    let pattern = Name::new(pattern).map_err(|_| "a key, or the start of keys with a *")?;
    let place = limits.binary_search_by(|known| known.pattern.cmp(&pattern));
    let index = place.unwrap_or_else(|index| {
        limits.insert(index, KeyLimit { pattern, max: 1, on_limit: OnLimit::Queue });
        index
    });
    Ok(&mut limits[index])
}
