//! What workers did with the scripted jobs, as they told it, and whether that was allowed.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bellwether_sdk::v1::Guarantee;

use super::worker_process::{Told, What};

/// A job is judged so long after its end: a worker that was stopped may yet start it.
const AFTERLIFE: Duration = Duration::from_secs(60);
/// What a worker still does after it went on, before it hears that it was given up.
const HANGOVER_NANOS: u64 = 5_000_000_000;

/// The number of a worker process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WorkerNo(pub(super) usize);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Execution {
    pub(super) worker: WorkerNo,
    pub(super) token: u64,
    pub(super) started: u64,
    pub(super) ended: Option<(What, u64)>,
}

/// A worker was killed or stopped; for good, or until then.
#[derive(Debug)]
struct Absence {
    worker: WorkerNo,
    from: u64,
    until: Option<u64>,
}

#[derive(Debug)]
struct Settled {
    job: String,
    guarantee: Guarantee,
    at: Instant,
}

#[derive(Debug, Default)]
struct Book {
    executions: BTreeMap<String, Vec<Execution>>,
    absences: Vec<Absence>,
    settled: VecDeque<Settled>,
}

/// A lock, because readers of several workers' output and those who follow jobs write it.
#[derive(Debug, Default)]
pub(super) struct Account(Mutex<Book>);

impl Account {
    fn book(&self) -> MutexGuard<'_, Book> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn told(&self, worker: WorkerNo, told: Told) {
        let mut book = self.book();
        let executions = book.executions.entry(told.job).or_default();
        let (token, at) = (told.token, told.at_nanos);
        match told.what {
            What::Started => {
                executions.push(Execution { worker, token, started: at, ended: None });
            }
            what @ (What::Failed | What::Succeeded) => {
                let open = executions.iter_mut().find(|e| e.token == token && e.ended.is_none());
                if let Some(execution) = open {
                    execution.ended = Some((what, at));
                }
            }
        }
    }

    /// The worker does nothing from now on.
    pub(super) fn gone(&self, worker: WorkerNo, now: u64) {
        self.book().absences.push(Absence { worker, from: now, until: None });
    }

    pub(super) fn back(&self, worker: WorkerNo, now: u64) {
        let mut book = self.book();
        let open = book.absences.iter_mut().rev().find(|a| a.worker == worker);
        if let Some(absence) = open {
            absence.until = Some(now);
        }
    }

    pub(super) fn executions(&self, job: &str) -> Vec<Execution> {
        self.book().executions.get(job).cloned().unwrap_or_default()
    }

    /// The job has ended: how often it was run is judged a while later.
    pub(super) fn settle(&self, job: String, guarantee: Guarantee) {
        self.book().settled.push_back(Settled { job, guarantee, at: Instant::now() });
    }

    /// Judges and forgets the jobs that ended long enough ago, or all.
    pub(super) fn sweep(&self, all: bool) -> Vec<String> {
        let mut book = self.book();
        let mut broken = Vec::new();
        while book.settled.front().is_some_and(|next| all || next.at.elapsed() > AFTERLIFE) {
            let Some(settled) = book.settled.pop_front() else { break };
            let mut executions = book.executions.remove(&settled.job).unwrap_or_default();
            executions.sort_by_key(|execution| execution.token);
            broken.extend(judge(&settled, &executions, &book.absences));
        }
        broken
    }
}

fn judge(settled: &Settled, executions: &[Execution], absences: &[Absence]) -> Option<String> {
    let Settled { job, guarantee, .. } = settled;
    match guarantee {
        Guarantee::AtMostOnce if executions.len() > 1 => {
            Some(format!("at_most_one_dispatch: {job} was run as {executions:?}"))
        }
        Guarantee::ExactlyOnce => {
            let twice = executions
                .windows(2)
                .find(|pair| !may_follow(&pair[0], &pair[1], absences))
                .map(|pair| format!("{pair:?}"))?;
            Some(format!(
                "exactly_one_result: {job} was run again, and no worker was away: {twice}"
            ))
        }
        _ => None,
    }
}

/// An attempt failed, or its worker was away before the next one was made.
fn may_follow(first: &Execution, next: &Execution, absences: &[Absence]) -> bool {
    let failed = matches!(first.ended, Some((What::Failed, _)));
    let early = first.started.min(next.started);
    failed
        || absences.iter().any(|absence| {
            let over = absence.until.map_or(u64::MAX, |until| until + HANGOVER_NANOS);
            absence.worker == first.worker && absence.from <= next.started && over >= early
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(lines: &[(usize, What, u64, u64)]) -> Account {
        let account = Account::default();
        for &(worker, what, token, at_nanos) in lines {
            let told = Told { what, job: "job".to_owned(), token, at_nanos };
            account.told(WorkerNo(worker), told);
        }
        account
    }

    fn judged(account: &Account, guarantee: Guarantee) -> usize {
        account.settle("job".to_owned(), guarantee);
        account.sweep(true).len()
    }

    #[test]
    fn a_second_execution_needs_a_worker_that_was_away() {
        let lines = [(0, What::Started, 5, 100), (1, What::Started, 9, 200)];
        assert_eq!(judged(&account(&lines), Guarantee::ExactlyOnce), 1);
        assert_eq!(judged(&account(&lines), Guarantee::AtLeastOnce), 0);
        let excused = account(&lines);
        excused.gone(WorkerNo(0), 150);
        assert_eq!(judged(&excused, Guarantee::ExactlyOnce), 0);
        let other = account(&lines);
        other.gone(WorkerNo(1), 150);
        assert_eq!(judged(&other, Guarantee::ExactlyOnce), 1);
    }

    #[test]
    fn a_failed_attempt_is_followed_by_another() {
        let lines =
            [(0, What::Started, 5, 100), (0, What::Failed, 5, 150), (0, What::Started, 9, 200)];
        assert_eq!(judged(&account(&lines), Guarantee::ExactlyOnce), 0);
    }

    #[test]
    fn what_is_at_most_once_has_no_excuse() {
        let account = account(&[(0, What::Started, 5, 100), (1, What::Started, 9, 200)]);
        account.gone(WorkerNo(0), 150);
        assert_eq!(judged(&account, Guarantee::AtMostOnce), 1);
    }
}
