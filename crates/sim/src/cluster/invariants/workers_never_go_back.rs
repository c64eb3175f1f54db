//! A worker's process turns to no older epoch than it has turned to before.

use std::collections::BTreeMap;

use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

#[derive(Debug, Default)]
pub(crate) struct WorkersNeverGoBack {
    epochs: BTreeMap<(usize, u64), u32>,
}

impl Invariant for WorkersNeverGoBack {
    fn name(&self) -> &'static str {
        "workers_never_go_back"
    }

    fn observe(&mut self, seen: &Observation<'_>, _view: &View<'_>) -> Result<(), String> {
        let Observation::Among(Sight::Registers { worker, instance, by }) = seen else {
            return Ok(());
        };
        let known = self.epochs.entry((*worker, *instance)).or_default();
        if by < known {
            return Err(format!("worker {worker} goes back from epoch {known:x} to {by:x}"));
        }
        *known = *by;
        Ok(())
    }
}
