//! A journal of which one byte has changed is refused, never read as something else.

use super::Invariant;
use crate::faults::court::{Observation, View};

/// Bytes flipped at the end of a run, one at a time.
const FLIPS: u64 = 4;

#[derive(Debug, Default)]
pub(crate) struct DamageIsNeverSilent;

impl Invariant for DamageIsNeverSilent {
    fn name(&self) -> &'static str {
        "damage_is_never_silent"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Finished { disk: Some(disk), .. } = seen else {
            return Ok(());
        };
        (0..FLIPS).try_for_each(|flip| disk.notices_flip(flip))
    }
}
