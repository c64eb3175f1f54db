//! Single fields of an object that somebody wrote by hand.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bellwether_core::model::{Micros, Name, Timestamp, excerpt};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::bounded::{Bounded, entries, items};
use super::nearest::nearest;
use super::unit;
use crate::malformed::{Malformed, Problem, SPAN_MAX, at_most, optional_name};

/// Fields that an object may have: more than there are, so that an unknown one is named.
const FIELDS_MAX: usize = 64;

/// A field of an object, still as it was written.
pub(super) type Entry<'a> = (Cow<'a, str>, &'a RawValue);

/// The fields of an object, each still as it was written. They are few, so looking through them all
/// is quicker than keeping them in order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<Entry<'a>>);

impl<'a> Fields<'a> {
    /// Takes an object apart.
    pub(super) fn of(raw: &'a RawValue) -> Result<Self, Malformed> {
        const WANTED: &str = "it must be an object with named fields";
        let Bounded { kept, count } =
            entries(raw, FIELDS_MAX).ok_or_else(|| wrong("it", raw, WANTED))?;
        if count > FIELDS_MAX {
            return Err(Malformed::new("it", Problem::TooMany { given: count, max: FIELDS_MAX }));
        }
        let repeated = |place: usize| kept[..place].iter().any(|(name, _)| *name == kept[place].0);
        if let Some(place) = (1..kept.len()).find(|place| repeated(*place)) {
            return Err(Malformed::new(&kept[place].0, Problem::Twice));
        }
        Ok(Fields(kept))
    }

    /// Refuses fields that are not known.
    pub(super) fn only(mut self, known: &[&str]) -> Result<Self, Malformed> {
        if let Some((unknown, _)) = self.0.iter().find(|(name, _)| !known.contains(&&**name)) {
            let nearest = nearest(unknown, known.iter().copied()).map(|(name, _)| name.to_owned());
            return Err(Malformed::new(unknown, Problem::Unknown { nearest }));
        }
        // Null says nothing, as leaving a field out does; only a payload may be null.
        self.0.retain(|(name, value)| name == "payload" || value.get() != "null");
        Ok(self)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().rfind(|(known, _)| known == name).map(|(_, value)| *value)
    }

    pub(super) fn remove(&mut self, name: &str) -> Option<&'a RawValue> {
        let value = self.get(name)?;
        self.0.retain(|(known, _)| known != name);
        Some(value)
    }

    pub(super) fn insert(&mut self, name: &'static str, value: &'a RawValue) {
        self.0.push((name.into(), value));
    }

    /// In the order of their names.
    pub(super) fn into_sorted(self) -> BTreeMap<Cow<'a, str>, &'a RawValue> {
        self.0.into_iter().collect()
    }
}

/// Takes an object apart, and refuses fields that are not known.
pub(super) fn fields<'a>(raw: &'a RawValue, known: &[&str]) -> Result<Fields<'a>, Malformed> {
    Fields::of(raw)?.only(known)
}

/// One field's value, still as it was written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) name: &'a str,
    pub(super) raw: &'a RawValue,
}

impl<'a> Given<'a> {
    pub(super) fn parse<T: Deserialize<'a>>(self, wanted: &'static str) -> Result<T, Malformed> {
        serde_json::from_str(self.raw.get()).map_err(|_| self.wrong(wanted))
    }

    pub(super) fn wrong(self, wanted: &'static str) -> Malformed {
        wrong(self.name, self.raw, wanted)
    }

    /// An empty text is none.
    pub(super) fn name<N: From<Name>>(self) -> Result<Option<N>, Malformed> {
        let Text(text) = self.parse("it must be a text")?;
        optional_name(self.name, &text)
    }

    pub(super) fn texts(self, max: usize) -> Result<Vec<Text<'a>>, Malformed> {
        let Bounded { kept, count } =
            items(self.raw, max).ok_or_else(|| self.wrong("it must be a list of texts"))?;
        at_most(self.name, count, max)?;
        Ok(kept)
    }

    /// Seconds, whole or not, or a text with a unit, as in settings.
    pub(super) fn seconds(self) -> Result<Micros, Malformed> {
        const WANTED: &str =
            "it must be a number of seconds, or a text with a unit as \"5m\", at most 100 years";
        let seconds: f64 = if self.raw.get().starts_with('"') {
            let Text(text) = self.parse(WANTED)?;
            unit::seconds_of(&text).ok_or_else(|| self.wrong(WANTED))?
        } else {
            self.parse(WANTED)?
        };
        let micros = (seconds * 1e6).round();
        let allowed = (0.0..=SPAN_MAX.0 as f64).contains(&micros);
        if allowed { Ok(Micros(micros as u64)) } else { Err(self.wrong(WANTED)) }
    }

    /// A time as `2027-01-31T08:00:00Z`, or seconds since the Unix epoch.
    pub(super) fn moment(self) -> Result<Timestamp, Malformed> {
        if !self.raw.get().starts_with('"') {
            return Ok(Timestamp(self.seconds()?.0));
        }
        const WANTED: &str = "it must be a time as 2027-01-31T08:00:00Z, or seconds since 1970";
        let Text(text) = self.parse(WANTED)?;
        let micros = text.parse::<jiff::Timestamp>().map(jiff::Timestamp::as_microsecond);
        let micros = micros.ok().and_then(|micros| u64::try_from(micros).ok());
        micros.map(Timestamp).ok_or_else(|| self.wrong(WANTED))
    }

    /// One of several words. `choose` sees the word, or a number as it was written.
    pub(super) fn choice<T>(
        self,
        wanted: &'static str,
        choose: impl FnOnce(&str) -> Option<T>,
    ) -> Result<T, Malformed> {
        let Text(word) = match self.raw.get() {
            text if text.starts_with('"') => self.parse(wanted)?,
            number => Text(Cow::Borrowed(number)),
        };
        choose(&word).ok_or_else(|| self.wrong(wanted))
    }
}

/// Copied only if something in it is escaped.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

impl std::borrow::Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Text<'_> {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

pub(super) fn take<'a, T: Deserialize<'a>>(
    fields: &mut Fields<'a>,
    name: &str,
    wanted: &'static str,
) -> Result<Option<T>, Malformed> {
    let Some(raw) = fields.remove(name) else { return Ok(None) };
    serde_json::from_str(raw.get()).map(Some).map_err(|_| wrong(name, raw, wanted))
}

pub(super) fn text(fields: &mut Fields<'_>, name: &str) -> Result<String, Malformed> {
    Ok(take(fields, name, "it must be a text")?.unwrap_or_default())
}

pub(super) fn texts(
    fields: &mut Fields<'_>,
    name: &str,
    max: usize,
) -> Result<Vec<String>, Malformed> {
    let Some(raw) = fields.remove(name) else { return Ok(Vec::new()) };
    let texts = Given { name, raw }.texts(max)?;
    Ok(texts.into_iter().map(|Text(text)| text.into_owned()).collect())
}

pub(super) fn seconds(fields: &mut Fields<'_>, name: &str) -> Result<Option<Micros>, Malformed> {
    fields.remove(name).map(|raw| Given { name, raw }.seconds()).transpose()
}

pub(super) fn choice<T>(
    fields: &mut Fields<'_>,
    name: &str,
    wanted: &'static str,
    choose: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Malformed> {
    fields.remove(name).map(|raw| Given { name, raw }.choice(wanted, choose)).transpose()
}

pub(super) fn wrong(name: &str, raw: &RawValue, wanted: &'static str) -> Malformed {
    Malformed::not_allowed(name, excerpt(raw.get()), wanted)
}
