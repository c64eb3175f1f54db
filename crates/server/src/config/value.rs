//! Values as people write them.

use bellwether_core::model::Micros;
use bellwether_wire::json::unit::seconds_of;

pub type Parsed<T> = Result<T, &'static str>;

pub(super) const SECONDS: &str = "seconds, as 90 or 0.5, or with a unit, as 500ms, 90s, 5m, 2h, 7d";
const BYTES: &str = "bytes, as 1048576, or with a unit, as 64KiB, 16MiB, 4GiB";

/// Longer than any sensible span, and far from overflow.
const SECONDS_MAX: f64 = 100.0 * 366.0 * 86_400.0;

/// Microseconds.
pub fn span(text: &str) -> Parsed<Micros> {
    let seconds = seconds_of(text).ok_or(SECONDS)?;
    if !(0.0..=SECONDS_MAX).contains(&seconds) {
        return Err(SECONDS);
    }
    Ok(Micros((seconds * 1e6).round() as u64))
}

pub fn bytes(text: &str) -> Parsed<u64> {
    let units = [("KiB", 1_u64 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];
    let (number, unit) = units
        .iter()
        .find_map(|(suffix, bytes)| Some((text.strip_suffix(suffix)?, *bytes)))
        .unwrap_or((text, 1));
    let number: u64 = number.trim().parse().map_err(|_| BYTES)?;
    number.checked_mul(unit).ok_or(BYTES)
}

pub(super) fn number<T: std::str::FromStr>(text: &str) -> Parsed<T> {
    text.trim().parse().map_err(|_| "a whole number")
}

pub(super) fn switch(text: &str) -> Parsed<bool> {
    match text {
        "true" | "yes" | "on" => Ok(true),
        "false" | "no" | "off" => Ok(false),
        _ => Err("true or false"),
    }
}

/// A share such as 0.4, in thousandths.
pub(super) fn share(text: &str) -> Parsed<u32> {
    const WANTED: &str = "a share, as 0.4";
    let share: f64 = text.trim().parse().map_err(|_| WANTED)?;
    if !(0.0..=10.0).contains(&share) {
        return Err(WANTED);
    }
    Ok((share * 1_000.0).round() as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_units() {
        assert_eq!(span("90"), Ok(Micros::from_secs(90)));
        assert_eq!(span("0.5"), Ok(Micros::from_millis(500)));
        assert_eq!(span("250ms"), Ok(Micros::from_millis(250)));
        assert_eq!(span("2h"), Ok(Micros::from_secs(7_200)));
        assert_eq!(span("-1"), Err(SECONDS));
        assert_eq!(span("soon"), Err(SECONDS));
    }

    #[test]
    fn bytes_have_units() {
        assert_eq!(bytes("16MiB"), Ok(16 << 20));
        assert_eq!(bytes("7"), Ok(7));
        assert_eq!(bytes("99999999TiB"), Err(BYTES));
    }
}
