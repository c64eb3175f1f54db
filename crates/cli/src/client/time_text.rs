//! Times for people.

use bellwether_wire::json::unit::moment;

/// As 2027-01-31T08:00:00.5Z; none if it has not happened.
pub(super) fn time_text(micros: u64) -> Option<String> {
    moment(micros).map(|moment| moment.to_string())
}
