//! Time as the core knows it: microseconds, handed in with every command.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

use serde::{Deserialize, Serialize};

/// A length of time.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Micros(pub u64);

/// A moment of the scheduler's own time: microseconds that only ever count up, near those since the
/// Unix epoch (or since the start of a simulation). Where people give or see a moment it is one of
/// the wall clock, and [`WallAhead`] is between the two.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub u64);

impl Micros {
    pub const ZERO: Micros = Micros(0);

    pub const fn from_millis(millis: u64) -> Micros {
        Micros(millis.saturating_mul(1_000))
    }

    pub const fn from_secs(secs: u64) -> Micros {
        Micros(secs.saturating_mul(1_000_000))
    }

    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000
    }

    #[must_use]
    pub const fn times(self, factor: u64) -> Micros {
        Micros(self.0.saturating_mul(factor))
    }

    #[must_use]
    pub const fn minus(self, other: Micros) -> Micros {
        Micros(self.0.saturating_sub(other.0))
    }
}

impl Timestamp {
    /// How long ago `earlier` was; zero if it lies ahead.
    pub const fn since(self, earlier: Timestamp) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

/// How many microseconds the wall clock is ahead of the scheduler's time; behind, if negative.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WallAhead(pub i64);

impl WallAhead {
    pub fn between(now: Timestamp, wall: Timestamp) -> WallAhead {
        let ahead = i128::from(wall.0) - i128::from(now.0);
        WallAhead(i64::try_from(ahead).unwrap_or(if ahead < 0 { i64::MIN } else { i64::MAX }))
    }

    /// What the wall clock shows at this moment.
    pub fn on_the_wall(self, at: Timestamp) -> Timestamp {
        Timestamp(at.0.saturating_add_signed(self.0))
    }

    /// The moment at which the wall clock shows this.
    pub fn from_the_wall(self, shown: Timestamp) -> Timestamp {
        Timestamp(shown.0.saturating_sub_signed(self.0))
    }

    /// How far apart two readings are, whichever way.
    pub fn distance(self, other: WallAhead) -> Micros {
        Micros(self.0.abs_diff(other.0))
    }
}

impl Add<Micros> for Timestamp {
    type Output = Timestamp;
    fn add(self, span: Micros) -> Timestamp {
        Timestamp(self.0.saturating_add(span.0))
    }
}

impl Sub<Micros> for Timestamp {
    type Output = Timestamp;
    fn sub(self, span: Micros) -> Timestamp {
        Timestamp(self.0.saturating_sub(span.0))
    }
}

impl Add for Micros {
    type Output = Micros;
    fn add(self, other: Micros) -> Micros {
        Micros(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Micros {
    fn add_assign(&mut self, other: Micros) {
        *self = *self + other;
    }
}

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            us if us < 1_000 => write!(f, "{us} us"),
            us if us < 1_000_000 => write!(f, "{}.{} ms", us / 1_000, us % 1_000 / 100),
            us => write!(f, "{}.{} s", us / 1_000_000, us % 1_000_000 / 100_000),
        }
    }
}
