//! Who is told no can rely on it: what was proposed for him is never committed.

use std::collections::BTreeSet;

use bellwether_core::model::Seq;

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct UnknownIsNotNo {
    /// Epochs and positions of what was refused.
    refused: BTreeSet<(u32, Seq)>,
}

impl Invariant for UnknownIsNotNo {
    fn name(&self) -> &'static str {
        "unknown_is_not_no"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::Refused { changed: Some(at), why, by, .. } if !why.is_unknown() => {
                self.refused.insert((*by, *at));
                Ok(())
            }
            Observation::Among(Sight::RecordCommitted { by, after, last }) => {
                let committed = (*by, after.next())..=(*by, *last);
                match self.refused.range(committed).next() {
                    Some((by, at)) => {
                        Err(format!("what epoch {by:x} refused at {at} has been committed"))
                    }
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
