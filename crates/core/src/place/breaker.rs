//! The circuit breaker in front of the predictor: a failing predictor is left alone for a while,
//! and round-robin stands in, so no job ever waits for a prediction.

use crate::model::Timestamp;

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

    pub fn name(&self, now: Timestamp) -> &'static str {
        match self.open_until {
            None => "closed",
            Some(until) if now >= until => "half_open",
            Some(_) => "open",
        }
    }
}
