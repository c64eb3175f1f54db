//! Those who wait for jobs to end.

use bellwether_core::model::{JobNo, Seq};
use bellwether_core::{Entry, Event, Job, State};
use bytes::Bytes;
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;

/// What somebody waited for. The job as the core knew it, and the result, which it does not keep.
#[derive(Debug, Clone)]
pub(crate) struct Ended {
    pub(crate) no: JobNo,
    pub(crate) job: Job,
    pub(crate) run: Option<bellwether_core::model::RunId>,
    pub(crate) result: Bytes,
    pub(crate) seq: Seq,
    /// Not yet ended: it started, or made progress.
    pub(crate) progress: Option<Progress>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    pub(crate) permille: u32,
    pub(crate) note: String,
}

#[derive(Debug, Default)]
pub(crate) struct Waiters {
    by_job: FxHashMap<JobNo, Vec<Waiter>>,
    /// Results that came in the entries being released, for jobs that somebody waits for.
    results: FxHashMap<JobNo, Bytes>,
}

#[derive(Debug)]
struct Waiter {
    told: mpsc::UnboundedSender<Ended>,
    progress: bool,
}

impl Waiters {
    pub(crate) fn add(&mut self, job: JobNo, told: &mpsc::UnboundedSender<Ended>, progress: bool) {
        self.by_job.entry(job).or_default().push(Waiter { told: told.clone(), progress });
    }

    /// Looks through entries that have become durable, before their effects are released.
    pub(crate) fn note(&mut self, state: &State, entries: &[Entry]) {
        if self.by_job.is_empty() {
            return;
        }
        for entry in entries {
            match &entry.event {
                Event::Completed { job, result, .. } if self.by_job.contains_key(job) => {
                    self.results.insert(*job, result.clone());
                }
                Event::Started { job, .. } | Event::Granted { job, .. } => {
                    self.tell_progress(state, *job, entry.seq, &Progress::default());
                }
                Event::Progressed { job, permille, note, .. } => {
                    let progress = Progress { permille: *permille, note: note.clone() };
                    self.tell_progress(state, *job, entry.seq, &progress);
                }
                _ => {}
            }
        }
    }

    fn tell_progress(&self, state: &State, no: JobNo, seq: Seq, progress: &Progress) {
        let Some(waiters) = self.by_job.get(&no) else { return };
        let Some(job) = state.job(no) else { return };
        for waiter in waiters.iter().filter(|waiter| waiter.progress) {
            let mut seen = ended(state, no, job, Bytes::new(), seq);
            seen.progress = Some(progress.clone());
            // Whoever went away meanwhile is forgotten when the job ends.
            drop(waiter.told.send(seen));
        }
    }

    /// The job has ended, and that is durable.
    pub(crate) fn ended(&mut self, state: &State, no: JobNo) {
        let Some(waiters) = self.by_job.remove(&no) else { return };
        let result = self.results.remove(&no).unwrap_or_default();
        let Some(job) = state.job(no) else { return };
        for waiter in waiters {
            // A receiver that is gone no longer waits.
            drop(waiter.told.send(ended(state, no, job, result.clone(), job.last)));
        }
    }

    /// Everybody must ask again.
    pub(crate) fn clear(&mut self) {
        self.by_job.clear();
        self.results.clear();
    }

    /// Forgets waiters whose receiver is gone.
    pub(crate) fn sweep(&mut self) {
        self.by_job.retain(|_, waiters| {
            waiters.retain(|waiter| !waiter.told.is_closed());
            !waiters.is_empty()
        });
    }
}

fn ended(state: &State, no: JobNo, job: &Job, result: Bytes, seq: Seq) -> Ended {
    let run = job.run.and_then(|run| state.run(run)).map(|run| run.id.clone());
    Ended { no, job: job.clone(), run, result, seq, progress: None }
}
