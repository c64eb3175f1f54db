//! Submissions that were refused, remembered for a while: whoever asks after such a job is told why
//! there is none.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bellwether_core::model::Timestamp;
use bellwether_core::model::limits::NAME_BYTES_MAX;
use bellwether_wire::v1;

/// How many are remembered.
const REFUSALS_MAX: usize = 1_000;
/// Of one submission; a refused run may name a great many jobs.
const IDS_MAX: usize = 16;

#[derive(Debug, Clone, Default)]
pub(crate) struct Refusals {
    // Many tasks take submissions; it is held to add one, or to look through a thousand.
    ring: Arc<Mutex<VecDeque<Refused>>>,
}

#[derive(Debug)]
struct Refused {
    ids: Vec<String>,
    at: Timestamp,
    rejection: v1::Rejection,
}

impl Refusals {
    /// The ids that the submission came with, for the case that it is refused.
    pub(crate) fn ids<'a>(run: &'a str, jobs: impl Iterator<Item = &'a str>) -> Vec<String> {
        // Nobody can ask after what is no name.
        let is_name = |id: &&str| (1..=NAME_BYTES_MAX).contains(&id.len());
        let ids = std::iter::once(run).chain(jobs).filter(is_name);
        ids.take(IDS_MAX).map(str::to_owned).collect()
    }

    pub(crate) fn note(&self, ids: Vec<String>, rejection: v1::Rejection, at: Timestamp) {
        if ids.is_empty() {
            return;
        }
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        if ring.len() >= REFUSALS_MAX {
            ring.pop_front();
        }
        ring.push_back(Refused { ids, at, rejection });
    }

    /// The latest of this id.
    pub(super) fn of(&self, id: &str) -> Option<v1::RefusedSubmission> {
        let ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let found =
            ring.iter().rev().find(|refused| refused.ids.iter().any(|known| known == id))?;
        let rejection = Some(found.rejection.clone());
        Some(v1::RefusedSubmission { at: found.at.0, rejection })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_refusal_is_told_and_the_oldest_is_forgotten() {
        let refusals = Refusals::default();
        let refuse = |id: &str, message: String| {
            let rejection = v1::Rejection { message, ..Default::default() };
            refusals.note(vec![id.to_owned()], rejection, Timestamp(7));
        };
        refuse("old", "first".to_owned());
        for n in 0..REFUSALS_MAX {
            refuse("same", n.to_string());
        }
        assert_eq!(refusals.of("old"), None);
        let found = refusals.of("same").expect("it was refused");
        assert_eq!((found.at, found.rejection.expect("why").message.as_str()), (7, "999"));
    }
}
