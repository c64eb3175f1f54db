//! No worker is given more than its slots and the prefetch, its queue bound or its resources
//! allow, hedges included; nor anything while it drains, is away or silent, or lacks what the job
//! needs.

use bellwether_core::Event;
use bellwether_core::model::{Config, JobNo, Micros, Target, Token, WorkerNo};

use super::Invariant;
use crate::faults::court::{Observation, View};
use crate::faults::ledger::{Ledger, WorkerRecord};

/// What is predicted to take no longer is over at once.
const INSTANT: Micros = Micros::from_millis(1);

#[derive(Debug, Default)]
pub(crate) struct LimitsHold;

impl Invariant for LimitsHold {
    fn name(&self) -> &'static str {
        "limits_hold"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        let Observation::Committed { entry } = seen else {
            return Ok(());
        };
        let Event::Assigned { job, worker, .. } = &entry.event else {
            return Ok(());
        };
        let Some(record) = view.ledger.worker(*worker) else {
            return Err(format!("job {job} goes to worker {worker}, who never came"));
        };
        is_suitable(*job, record, view.ledger)?;
        has_room(*worker, record, view.ledger)?;
        fits(*job, record, view.ledger)
    }
}

fn is_suitable(job: JobNo, worker: &WorkerRecord, ledger: &Ledger) -> Result<(), String> {
    let Some(record) = ledger.job(job) else {
        return Ok(());
    };
    let id = &worker.spec.id;
    if worker.draining || worker.away {
        let (draining, away) = (worker.draining, worker.away);
        return Err(format!("job {job} goes to {id} (draining {draining}, away {away})"));
    }
    if worker.silent {
        return Err(format!("job {job} goes to {id}, which answers nothing"));
    }
    if ledger.paused().contains(record.spec.kind()) {
        return Err(format!("job {job} is of type {}, which is paused", record.spec.kind()));
    }
    let needs = &record.spec.requirements;
    let types = &worker.spec.types;
    if !types.is_empty() && !types.contains(&needs.kind) {
        return Err(format!("job {job} is of type {}; {id} has no handler for it", needs.kind));
    }
    if worker.unhandled.contains(&needs.kind) {
        return Err(format!("{id} said that it does not handle {}, as job {job} is", needs.kind));
    }
    if let Some(lacking) =
        needs.capabilities.iter().find(|wanted| !worker.spec.capabilities.contains(wanted))
    {
        return Err(format!("job {job} needs {lacking}; {id} lacks it"));
    }
    if record.escalations > 0 || record.pinned.is_some() {
        return match &record.pinned {
            Some(pinned) if pinned != id => Err(format!("job {job} is pinned to {pinned}")),
            Some(_) | None => Ok(()),
        };
    }
    // Whom it was handed to is another promise.
    if !record.given.is_empty() {
        return Ok(());
    }
    match &needs.target {
        Target::Role(role) if !worker.spec.roles.contains(role) => {
            Err(format!("job {job} wants role {role}; {id} lacks it"))
        }
        Target::Receiver(receiver) if receiver != id => {
            Err(format!("job {job} is for {receiver}, not {id}"))
        }
        Target::Any | Target::Role(_) | Target::Receiver(_) => Ok(()),
    }
}

fn has_room(number: WorkerNo, worker: &WorkerRecord, ledger: &Ledger) -> Result<(), String> {
    let after = worker.open.len() as u64 + 1;
    let slots = u64::from(worker.spec.slots);
    let Config { prefetch, max_queue_per_worker, prefetch_max, .. } = ledger.config;
    let is_instant = |(job, token): &&(JobNo, Token)| {
        let attempts = ledger.job(*job).map_or(&[][..], |job| &job.attempts);
        attempts.iter().any(|a| a.token == *token && a.predicted <= INSTANT)
    };
    let instant = worker.open.iter().filter(is_instant).count() as u64;
    let queue = u64::from(prefetch.min(max_queue_per_worker));
    let queue = queue.max(instant.min(u64::from(prefetch_max)));
    if after > slots + queue {
        return Err(format!("worker {number} gets {after}; {slots} slots and {queue} behind them"));
    }
    Ok(())
}

fn fits(job: JobNo, worker: &WorkerRecord, ledger: &Ledger) -> Result<(), String> {
    let has = worker.spec.resources;
    let all = worker.open.iter().map(|(job, _)| *job).chain([job]);
    let (mut cpu, mut memory) = (0_u64, 0_u64);
    for record in all.filter_map(|job| ledger.job(job)) {
        cpu += u64::from(record.spec.requirements.resources.cpu);
        memory += record.spec.requirements.resources.memory;
    }
    let id = &worker.spec.id;
    if has.cpu > 0 && cpu > u64::from(has.cpu) {
        return Err(format!("{id} has {} millicores; {cpu} with job {job}", has.cpu));
    }
    if has.memory > 0 && memory > has.memory {
        return Err(format!("{id} has {} bytes; {memory} with job {job}", has.memory));
    }
    Ok(())
}
