//! Which of several keys to believe.

use super::cell::Belief;

/// How much better, in each step to a coarser key, the coarser one must have been to be preferred.
pub(super) const COARSENESS: f32 = 1.25;
/// Errors much smaller than this are equally good.
const ERROR_FLOOR: f32 = 0.02;

/// Takes the finest key that has a history, unless a coarser one has proved clearly better: a
/// feature that means nothing would only thin the history out.
#[derive(Debug)]
pub(super) struct Choice {
    best: Option<Belief>,
    best_error: f32,
    handicap: f32,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice { best: None, best_error: f32::INFINITY, handicap: 1.0 }
    }
}

impl Choice {
    /// What the next coarser key says, if it has a history; its estimate counts `scale` times.
    pub(super) fn consider(&mut self, belief: Option<Belief>, scale: f32) {
        if let Some(belief) = belief {
            let error = (belief.error + ERROR_FLOOR) * self.handicap;
            if error < self.best_error {
                self.best_error = error;
                self.best = Some(Belief { estimate: belief.estimate * scale, ..belief });
            }
        }
        self.handicap *= COARSENESS;
    }

    pub(super) fn best(&self) -> Option<Belief> {
        self.best
    }
}
