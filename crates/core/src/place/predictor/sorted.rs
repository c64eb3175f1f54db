//! Maps as sorted sequences, so that equal maps serialize to equal bytes.

use std::hash::Hash;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(super) fn serialize<K, V, S>(
    map: &HashMap<K, V, FxBuildHasher>,
    serializer: S,
) -> Result<S::Ok, S::Error>
where
    K: Ord + Serialize,
    V: Serialize,
    S: Serializer,
{
    let mut entries: Vec<(&K, &V)> = map.iter().collect();
    entries.sort_unstable_by_key(|(key, _)| *key);
    serializer.collect_seq(entries)
}

pub(super) fn deserialize<'de, K, V, D>(
    deserializer: D,
) -> Result<HashMap<K, V, FxBuildHasher>, D::Error>
where
    K: Eq + Hash + Deserialize<'de>,
    V: Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Vec::<(K, V)>::deserialize(deserializer)?.into_iter().collect())
}
