//! Times and spans: inside they are microseconds, outside RFC 3339 and seconds. What has not happened
//! or is not known is left out.

use bellwether_core::model::{Micros, Timestamp, WallAhead};
use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};

/// As 2027-01-31T08:00:00.5Z.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = i64::try_from(self.0.0).unwrap_or(i64::MAX);
        let time = jiff::Timestamp::from_microsecond(micros).unwrap_or(jiff::Timestamp::MAX);
        time.fmt(f)
    }
}

impl Serialize for Moment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl PartialSchema for Moment {
    fn schema() -> RefOr<Schema> {
        let format = SchemaFormat::KnownFormat(KnownFormat::DateTime);
        ObjectBuilder::new().schema_type(Type::String).format(Some(format)).into()
    }
}

impl ToSchema for Moment {}

/// None if it has not happened.
pub fn moment(micros: u64) -> Option<Moment> {
    (micros > 0).then_some(Moment(Timestamp(micros)))
}

pub fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}

/// A span as people write it: seconds, or a number with one of these units.
pub fn seconds_of(text: &str) -> Option<f64> {
    let units = [
        ("us", 0.000_001),
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3_600.0),
        ("d", 86_400.0),
    ];
    let (number, unit) = units
        .iter()
        .find_map(|(suffix, seconds)| Some((text.strip_suffix(suffix)?, *seconds)))
        .unwrap_or((text, 1.0));
    number.trim().parse::<f64>().ok().map(|number| number * unit)
}

pub(super) fn span(span: Micros) -> f64 {
    seconds(span.0)
}

/// Negative is behind.
pub(super) fn offset(ahead: WallAhead) -> f64 {
    ahead.0 as f64 / 1e6
}

/// None for the empty text, which stands for none.
pub fn text(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Scores are millionths inside.
pub(super) fn share(millionths: i64) -> f64 {
    millionths as f64 / 1e6
}
