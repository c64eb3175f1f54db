//! Times and spans: inside they are microseconds, outside RFC 3339 and seconds.

use super::super::problem::Problem;

/// None if it has not happened.
pub(in crate::edges::rest) fn moment(micros: u64) -> Option<String> {
    let micros = i64::try_from(micros).ok().filter(|micros| *micros > 0)?;
    Some(jiff::Timestamp::from_microsecond(micros).ok()?.to_string())
}

pub(in crate::edges::rest) fn micros_of(field: &str, text: &str) -> Result<u64, Problem> {
    let time: Option<jiff::Timestamp> = text.parse().ok();
    let micros = time.and_then(|time| u64::try_from(time.as_microsecond()).ok());
    micros.ok_or_else(|| {
        let wanted = "it must be a time as 2027-01-31T08:00:00Z";
        Problem::malformed(format!("{field}: is {text:?}; {wanted}"))
    })
}

pub(in crate::edges::rest) fn seconds(micros: u64) -> f64 {
    micros as f64 / 1e6
}
