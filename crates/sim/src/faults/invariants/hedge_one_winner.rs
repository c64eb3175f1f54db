//! A hedge backs up one quiet offer on another worker, one of the two wins, and hedges stay within
//! their budget.

use std::collections::BTreeSet;

use bellwether_core::Event;
use bellwether_core::model::JobNo;
use bellwether_core::model::limits::OFFERS_MAX;

use super::Invariant;
use crate::faults::court::{Observation, View};

/// Hedges allowed before there are enough offers for a share of them to be one.
const HEDGES_FREE: u64 = 2;

#[derive(Debug, Default)]
pub(crate) struct HedgeOneWinner {
    /// The largest budget that was ever configured.
    permille_max: u64,
    /// Jobs of this append with two offers of which one has started.
    decided: BTreeSet<JobNo>,
}

impl Invariant for HedgeOneWinner {
    fn name(&self) -> &'static str {
        "hedge_one_winner"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        let budget = u64::from(view.ledger.config.hedge_budget_permille);
        self.permille_max = self.permille_max.max(budget);
        match seen {
            Observation::Committed { entry } => match &entry.event {
                Event::Assigned { job, worker, hedge, .. } => {
                    let Some(record) = view.ledger.job(*job) else {
                        return Ok(());
                    };
                    let open = &record.attempts;
                    if *hedge != (open.len() == OFFERS_MAX - 1) {
                        let how = if *hedge { "hedged" } else { "offered" };
                        return Err(format!("job {job} is {how} with {} open", open.len()));
                    }
                    if open.iter().any(|other| other.worker == *worker) {
                        return Err(format!("job {job} is hedged on the same worker {worker}"));
                    }
                    if *hedge && open.iter().any(|other| other.started) {
                        return Err(format!("job {job} is hedged after it started"));
                    }
                    if *hedge { self.within_budget(view) } else { Ok(()) }
                }
                Event::Started { job, .. } | Event::Granted { job, .. } => {
                    if view.ledger.job(*job).is_some_and(|job| job.attempts.len() > 1) {
                        self.decided.insert(*job);
                    }
                    Ok(())
                }
                _ => Ok(()),
            },
            Observation::BatchCommitted => {
                for job in std::mem::take(&mut self.decided) {
                    let open = view.ledger.job(job).map_or(0, |job| job.attempts.len());
                    if open > 1 {
                        return Err(format!("job {job} has started; {open} offers stay open"));
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

impl HedgeOneWinner {
    fn within_budget(&self, view: &View<'_>) -> Result<(), String> {
        let first_offers = view.ledger.offers - view.ledger.hedges;
        let hedges = view.ledger.hedges + 1;
        let allowed = HEDGES_FREE + first_offers * self.permille_max / 1_000;
        if hedges > allowed {
            return Err(format!("{hedges} hedges of {first_offers} offers; {allowed} allowed"));
        }
        Ok(())
    }
}
