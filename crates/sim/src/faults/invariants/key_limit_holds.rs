//! No more of a key is given out at a time than its limit allows, hedges included, whatever was restarted
//! meanwhile. What weighs more than the limit runs alone.

use bellwether_core::Event;
use bellwether_core::model::{Config, JobSpec, KeyLimit, KeyUse};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::{JobRecord, Ledger};

#[derive(Debug, Default)]
pub(crate) struct KeyLimitHolds;

impl Invariant for KeyLimitHolds {
    fn name(&self) -> &'static str {
        "key_limit_holds"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        let Observation::Committed { entry } = seen else { return Ok(()) };
        let Event::Assigned { job, .. } = &entry.event else { return Ok(()) };
        let Some(record) = view.ledger.job(*job) else { return Ok(()) };
        for each in record.spec.keys() {
            let Some(limit) = limit_of(each, &view.ledger.config) else { continue };
            let before = taken(each, view.ledger);
            let after = before + u64::from(each.weight.get());
            if limit == 0 || (before > 0 && after > u64::from(limit)) {
                let key = &each.key;
                return Err(format!("job {job} makes it {after} of {key}, whose limit is {limit}"));
            }
        }
        Ok(())
    }
}

/// By attempts that have not ended.
fn taken(each: &KeyUse, ledger: &Ledger) -> u64 {
    let weight = |spec: &JobSpec| {
        let used = spec.keys().iter().find(|other| other.key == each.key);
        used.map_or(0, |used| u64::from(used.weight.get()))
    };
    let of = |record: &JobRecord| record.attempts.len() as u64 * weight(&record.spec);
    ledger.jobs().filter(|(_, record)| !record.attempts.is_empty()).map(|(_, job)| of(job)).sum()
}

fn limit_of(each: &KeyUse, config: &Config) -> Option<u32> {
    let key = each.key.as_str();
    let nearness = |limit: &&KeyLimit| {
        let pattern = limit.pattern.as_str();
        match pattern.strip_suffix('*') {
            Some(start) if key.starts_with(start) => start.len(),
            None if pattern == key => usize::MAX,
            Some(_) | None => 0,
        }
    };
    let nearest = config.limits.iter().max_by_key(nearness).filter(|limit| nearness(limit) > 0);
    let settings = nearest.map(|limit| limit.max);
    [settings, each.limit.map(u32::from)].into_iter().flatten().min()
}
