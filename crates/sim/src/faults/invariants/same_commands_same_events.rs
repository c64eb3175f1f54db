//! The same commands at the same times give the same events.

use super::Invariant;
use crate::faults::court::{Observation, View};

#[derive(Debug, Default)]
pub(crate) struct SameCommandsSameEvents;

impl Invariant for SameCommandsSameEvents {
    fn name(&self) -> &'static str {
        "same_commands_same_events"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Twins { one, other } = seen else {
            return Ok(());
        };
        if one == other {
            return Ok(());
        }
        let differs = one.iter().zip(*other).find(|(a, b)| a != b);
        Err(match differs {
            Some((a, b)) => format!("{a:?} here, {b:?} there"),
            None => format!("{} events here, {} there", one.len(), other.len()),
        })
    }
}
