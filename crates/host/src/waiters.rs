//! Those who wait for jobs to end.

use std::collections::VecDeque;

use bellwether_core::model::{JobNo, JobStatus, RunId, Seq};
use bellwether_core::{Entry, Event, Job, State};
use bytes::Bytes;

use crate::FixedMap;

/// What somebody waited for. The job as the core knew it, and the result, which it does not keep.
#[derive(Debug, Clone)]
pub struct Ended {
    pub no: JobNo,
    /// None if it was forgotten right away, because more ended at once than are retained. The history
    /// has it, at this position.
    pub job: Option<Job>,
    pub run: Option<RunId>,
    pub result: Bytes,
    pub seq: Seq,
    /// Not yet ended: it started, or made progress.
    pub progress: Option<Progress>,
}

#[derive(Debug, Clone, Default)]
pub struct Progress {
    pub permille: u32,
    pub note: String,
}

pub(crate) struct Waiters<W> {
    by_job: FixedMap<JobNo, Vec<Waiter<W>>>,
    /// Ends that came in the entries being released, of jobs that somebody waits for.
    ends: FixedMap<JobNo, End>,
    /// To be told now.
    ready: VecDeque<(W, Ended)>,
}

#[derive(Default)]
struct End {
    seq: Seq,
    result: Bytes,
}

struct Waiter<W> {
    watcher: W,
    progress: bool,
}

impl<W> Default for Waiters<W> {
    fn default() -> Self {
        Waiters { by_job: FixedMap::default(), ends: FixedMap::default(), ready: VecDeque::new() }
    }
}

impl<W: Clone> Waiters<W> {
    pub(crate) fn add(&mut self, job: JobNo, watcher: &W, progress: bool) {
        self.by_job.entry(job).or_default().push(Waiter { watcher: watcher.clone(), progress });
    }

    pub(crate) fn poll(&mut self) -> Option<(W, Ended)> {
        self.ready.pop_front()
    }

    /// Looks through entries that have become durable, before their effects are released.
    pub(crate) fn note(&mut self, state: &State, entries: &[Entry]) {
        if self.by_job.is_empty() {
            return;
        }
        for entry in entries {
            for started in entry.transitions().filter(|moved| moved.to == JobStatus::Running) {
                self.tell_progress(state, started.job, entry.seq, &Progress::default());
            }
            let ended = entry.transitions().filter(|moved| moved.to.has_ended());
            for ended in ended.filter(|moved| self.by_job.contains_key(&moved.job)) {
                self.ends.insert(ended.job, End { seq: entry.seq, result: Bytes::new() });
            }
            match &entry.event {
                Event::Completed { job, result, .. } => {
                    if let Some(end) = self.ends.get_mut(job) {
                        end.result = result.clone();
                    }
                }
                Event::Progressed { job, permille, note, .. } => {
                    let progress = Progress { permille: *permille, note: note.clone() };
                    self.tell_progress(state, *job, entry.seq, &progress);
                }
                _ => {}
            }
        }
    }

    fn tell_progress(&mut self, state: &State, no: JobNo, seq: Seq, progress: &Progress) {
        let Some(waiters) = self.by_job.get(&no) else { return };
        let Some(job) = state.job(no) else { return };
        for waiter in waiters.iter().filter(|waiter| waiter.progress) {
            let mut seen = ended(state, no, Some(job), Bytes::new(), seq);
            seen.progress = Some(progress.clone());
            self.ready.push_back((waiter.watcher.clone(), seen));
        }
    }

    /// The job has ended, and that is durable.
    pub(crate) fn ended(&mut self, state: &State, no: JobNo) {
        let Some(waiters) = self.by_job.remove(&no) else { return };
        let End { seq, result } = self.ends.remove(&no).unwrap_or_default();
        let job = state.job(no);
        let seq = job.map_or(seq, |job| job.last);
        for waiter in waiters {
            let ended = ended(state, no, job, result.clone(), seq);
            self.ready.push_back((waiter.watcher, ended));
        }
    }

    /// Everybody must ask again.
    pub(crate) fn clear(&mut self) {
        self.by_job.clear();
        self.ends.clear();
    }

    /// What was to be told may be old.
    pub(crate) fn withdraw(&mut self) {
        self.ready.clear();
    }

    /// Forgets watchers that have gone.
    pub(crate) fn sweep(&mut self, is_gone: impl Fn(&W) -> bool) {
        self.by_job.retain(|_, waiters| {
            waiters.retain(|waiter| !is_gone(&waiter.watcher));
            !waiters.is_empty()
        });
    }
}

fn ended(state: &State, no: JobNo, job: Option<&Job>, result: Bytes, seq: Seq) -> Ended {
    let run = job.and_then(|job| job.run).and_then(|run| state.run(run)).map(|run| run.id.clone());
    Ended { no, job: job.cloned(), run, result, seq, progress: None }
}
