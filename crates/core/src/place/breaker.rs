//! The circuit breaker in front of the predictor: a failing predictor is left alone for a while,
//! and round-robin stands in, so no job ever waits for a prediction.

use crate::model::Timestamp;
use crate::words;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Breaker {
    /// Failures in a row.
    pub failures: u32,
    /// Set while it is open; once that moment has passed, one prediction is tried.
    pub open_until: Option<Timestamp>,
}

impl Breaker {
    pub fn allows(&self, now: Timestamp) -> bool {
        self.open_until.is_none_or(|until| now >= until)
    }

    pub fn state(&self, now: Timestamp) -> BreakerState {
        match self.open_until {
            None => BreakerState::Closed,
            Some(until) if now >= until => BreakerState::HalfOpen,
            Some(_) => BreakerState::Open,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    Closed,
    /// The next prediction decides.
    HalfOpen,
    Open,
}

words!(BreakerState: Closed => "closed", HalfOpen => "half_open", Open => "open");
