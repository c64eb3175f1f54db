//! What jobs share and may use up together: concurrency keys, and the limits on them.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Name;
use crate::words;

/// What becomes of a new job whose key is at its limit.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum OnLimit {
    /// It waits until others of the key have ended.
    #[default]
    Queue,
    /// It ends at once.
    Skip,
    /// The oldest of the key are cancelled for it, whether they wait or run.
    Replace,
}

words!(OnLimit: Queue => "queue", Skip => "skip", Replace => "replace");

/// How a job uses a key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeyUse {
    pub key: Name,
    /// How much of the limit it takes while it is placed.
    pub weight: NonZeroU32,
    /// How much of the key may be taken for this job to start; the settings may say less.
    pub limit: Option<NonZeroU32>,
    /// As in the settings if none.
    pub on_limit: Option<OnLimit>,
}

impl KeyUse {
    /// Of a key without a word of how.
    pub fn plain(key: Name) -> KeyUse {
        KeyUse { key, weight: NonZeroU32::MIN, limit: None, on_limit: None }
    }

    pub fn is_plain(&self) -> bool {
        self.weight == NonZeroU32::MIN && self.limit.is_none() && self.on_limit.is_none()
    }
}

/// The keys of a job, in the order that they were given. Jobs that use the same share one copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct KeySet(Box<[KeyUse]>);

impl KeySet {
    /// None if there are no keys.
    pub fn of(keys: Vec<KeyUse>) -> Option<Arc<KeySet>> {
        (!keys.is_empty()).then(|| Arc::new(KeySet(keys.into())))
    }

    pub fn uses(&self) -> &[KeyUse] {
        &self.0
    }
}

/// A limit of the settings, for the keys that match its pattern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct KeyLimit {
    /// A key, or the start of keys with a `*` behind it.
    pub pattern: Name,
    /// How much of each such key may be taken at a time; none of it if 0.
    pub max: u32,
    pub on_limit: OnLimit,
}

impl KeyLimit {
    pub(crate) fn matches(&self, key: &Name) -> bool {
        match self.pattern.as_str().strip_suffix('*') {
            Some(start) => key.as_str().starts_with(start),
            None => self.pattern == *key,
        }
    }

    /// It is about one key and no other.
    pub(crate) fn is_exact(&self) -> bool {
        !self.pattern.as_str().ends_with('*')
    }

    /// The limit for this key: the key itself comes before patterns, longer ones before shorter.
    pub(crate) fn find<'a>(limits: &'a [KeyLimit], key: &Name) -> Option<&'a KeyLimit> {
        let matching = limits.iter().filter(|limit| limit.matches(key));
        matching.max_by_key(|limit| (limit.is_exact(), limit.pattern.as_str().len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(pattern: &str) -> KeyLimit {
        KeyLimit { pattern: Name::fixed(pattern), max: 1, on_limit: OnLimit::Queue }
    }

    #[test]
    fn the_nearest_pattern_holds() {
        let limits = ["*", "customer:*", "customer:a", "customer:ab*"].map(limit);
        let found = |key: &str| {
            let found = KeyLimit::find(&limits, &Name::fixed(key));
            found.expect("the star matches all").pattern.to_string()
        };
        assert_eq!(found("gpu"), "*");
        assert_eq!(found("customer:b"), "customer:*");
        assert_eq!(found("customer:a"), "customer:a");
        assert_eq!(found("customer:ab"), "customer:ab*");
        assert_eq!(KeyLimit::find(&limits[1..], &Name::fixed("gpu")), None);
    }
}
