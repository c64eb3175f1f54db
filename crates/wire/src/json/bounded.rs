//! Lists and objects of which no more than so many entries are kept: what is too large is counted and
//! not read, so that a limit costs nothing to whoever checks it.

use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::field::{Entry, Text};

/// The first entries, and how many there are.
pub(super) struct Bounded<T> {
    pub(super) kept: Vec<T>,
    pub(super) count: usize,
}

/// Of a list. None if it is no list, or one of something else.
pub(super) fn items<'a, T: Deserialize<'a>>(raw: &'a RawValue, max: usize) -> Option<Bounded<T>> {
    let seed = Items { max, item: PhantomData };
    seed.deserialize(&mut serde_json::Deserializer::from_str(raw.get())).ok()
}

/// Of an object. None if it is no object.
pub(super) fn entries<'a>(raw: &'a RawValue, max: usize) -> Option<Bounded<Entry<'a>>> {
    Entries { max }.deserialize(&mut serde_json::Deserializer::from_str(raw.get())).ok()
}

struct Items<T> {
    max: usize,
    item: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for Items<T> {
    type Value = Bounded<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Bounded<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Items<T> {
    type Value = Bounded<T>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Bounded<T>, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < self.max {
            let Some(item) = list.next_element()? else { break };
            kept.push(item);
        }
        let mut count = kept.len();
        while list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Bounded { kept, count })
    }
}

struct Entries {
    max: usize,
}

impl<'de> DeserializeSeed<'de> for Entries {
    type Value = Bounded<Entry<'de>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Entries {
    type Value = Bounded<Entry<'de>>;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < self.max {
            let Some((Text(name), value)) = map.next_entry()? else { break };
            kept.push((name, value));
        }
        let mut count = kept.len();
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(Bounded { kept, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(text: &str) -> Box<RawValue> {
        RawValue::from_string(text.to_owned()).unwrap()
    }

    #[test]
    fn what_is_too_much_is_counted_and_not_kept() {
        let raw = raw("[1,2,3,4]");
        let Bounded { kept, count } = items::<u32>(&raw, 2).unwrap();
        assert_eq!((kept, count), (vec![1, 2], 4));
        assert!(items::<u32>(&self::raw("{}"), 2).is_none());
        assert!(items::<u32>(&self::raw("[1,\"a\"]"), 2).is_none());
        let raw = self::raw(r#"{"a":1,"b":2,"c":3}"#);
        let Bounded { kept, count } = entries(&raw, 2).unwrap();
        assert_eq!((kept.len(), count), (2, 3));
    }
}
