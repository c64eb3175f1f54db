//! One thing done to many jobs: in the background, piece by piece, with progress to look at.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bellwether_core::Command;
use bellwether_wire::v1;

use super::{Desk, Unanswered};
use crate::event_loop::clock;

/// Operations that may run at a time.
const RUNNING_MAX: usize = 4;
/// Operations that have ended and can still be looked at.
const ENDED_KEPT: usize = 100;
/// Jobs that are looked up at a time.
const PAGE_JOBS: usize = 1_000;
/// Commands that the loop is sent at a time. The next ones follow when these are durable, so that
/// everybody else's come in between.
const STEP_COMMANDS: usize = 200;
/// Refusals that are told in full.
const REFUSALS_TOLD: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Cancel { reason: String },
    Retry { force: bool },
}

/// The operations of this process. They end with it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Operations {
    // Held only to look something up or to put something in.
    kept: Arc<Mutex<VecDeque<Arc<Operation>>>>,
    started: Arc<AtomicU64>,
}

#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) action: Action,
    pub(crate) started_at: u64,
    // Written by the operation itself, one small step at a time; read by whoever looks.
    progress: Mutex<Progress>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    /// Jobs that it is about; none while they are counted.
    pub(crate) total: Option<u64>,
    pub(crate) done: u64,
    pub(crate) refused: u64,
    /// Some of the refusals.
    pub(crate) refusals: Vec<v1::Refused>,
    pub(crate) ended_at: u64,
    /// Why it ended before its time.
    pub(crate) failure: Option<String>,
}

/// As many operations as may run do.
#[derive(Debug, thiserror::Error)]
#[error("{RUNNING_MAX} operations are running; wait until one has ended")]
pub(crate) struct TooManyOperations;

impl Operation {
    pub(crate) fn progress(&self) -> Progress {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn update(&self, change: impl FnOnce(&mut Progress)) {
        change(&mut self.progress.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn has_ended(&self) -> bool {
        self.progress().ended_at > 0
    }
}

impl Operations {
    pub(crate) fn start(
        &self,
        desk: &Desk,
        action: Action,
        wanted: v1::ListJobsRequest,
    ) -> Result<Arc<Operation>, TooManyOperations> {
        let number = self.started.fetch_add(1, Ordering::Relaxed) + 1;
        let started_at = clock::wall().0;
        let operation = Arc::new(Operation {
            id: format!("{started_at:x}-{number}"),
            action,
            started_at,
            progress: Mutex::default(),
        });
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.iter().filter(|operation| !operation.has_ended()).count() >= RUNNING_MAX {
            return Err(TooManyOperations);
        }
        if kept.len() >= ENDED_KEPT + RUNNING_MAX
            && let Some(oldest) = kept.iter().position(|operation| operation.has_ended())
        {
            kept.remove(oldest);
        }
        kept.push_back(operation.clone());
        drop(kept);
        tokio::spawn(run(desk.clone(), operation.clone(), wanted));
        Ok(operation)
    }

    pub(crate) fn find(&self, id: &str) -> Option<Arc<Operation>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|operation| operation.id == id).cloned()
    }

    /// Newest first.
    pub(crate) fn list(&self) -> Vec<Arc<Operation>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().rev().cloned().collect()
    }
}

async fn run(desk: Desk, operation: Arc<Operation>, wanted: v1::ListJobsRequest) {
    let failure = work(&desk, &operation, wanted).await.err();
    operation.update(|progress| {
        progress.ended_at = clock::wall().0;
        progress.failure = failure.map(|why| why.to_string());
    });
}

/// Oldest first, so that a job is dealt with before those that depend on it, and none that came after
/// it was begun.
async fn work(
    desk: &Desk,
    operation: &Operation,
    wanted: v1::ListJobsRequest,
) -> Result<(), Unanswered> {
    desk.registry.reach(desk.handle.durable()).await?;
    let (total, newest) = desk.registry.count(wanted.clone()).await?;
    operation.update(|progress| progress.total = Some(total));
    let mut behind = 0;
    loop {
        let page = desk.registry.ids_between(wanted.clone(), behind, newest, PAGE_JOBS).await?;
        let Some((last, _)) = page.last() else { break };
        behind = *last;
        let ids: Vec<String> = page.into_iter().map(|(_, id)| id).collect();
        for step in ids.chunks(STEP_COMMANDS) {
            take_step(desk, operation, step).await?;
        }
    }
    // Some have ended by themselves meanwhile, or begun.
    operation.update(|progress| progress.total = Some(progress.done + progress.refused));
    Ok(())
}

async fn take_step(desk: &Desk, operation: &Operation, ids: &[String]) -> Result<(), Unanswered> {
    let done = desk.each(ids.to_vec(), |job| match &operation.action {
        Action::Cancel { reason } => Command::Cancel { job, reason: reason.clone() },
        Action::Retry { force } => Command::Retry { job, force: *force },
    });
    let done = done.await?;
    operation.update(|progress| {
        let refused = done.refused.len() as u64;
        progress.refused += refused;
        progress.done += ids.len() as u64 - refused;
        let room = REFUSALS_TOLD.saturating_sub(progress.refusals.len());
        progress.refusals.extend(done.refused.into_iter().take(room));
    });
    Ok(())
}
