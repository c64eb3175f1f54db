//! The answer in one sentence that names names.

use std::fmt;

use super::{AHEAD_MAX, Away, Because, FullKey, Placement, Short, Why};
use crate::event::DeadReason;
use crate::index::groups::Lack;
use crate::model::{JobId, Micros, WorkerId};
use crate::state::{ALL_TYPES, JobState};
use crate::words::counted;

/// Names that a sentence lists; the others are counted.
const LISTED_MAX: usize = 5;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let job = &self.job;
        match &self.because {
            Because::Unknown => {
                write!(f, "job {job} is not known; it may have ended and left the queue")
            }
            Because::Dependencies(open) => {
                let open = open.iter().map(|(id, state)| format!("{id} ({state})"));
                write!(f, "job {job} waits for {}", listed(open))
            }
            Because::Moment { until, ended_attempts } => {
                let left = until.since(self.now);
                match ended_attempts {
                    0 => write!(f, "job {job} is not to start for another {left}"),
                    n => {
                        let attempts = counted(u64::from(*n), "attempt");
                        write!(f, "job {job} is tried again in {left}, after {attempts}")
                    }
                }
            }
            Because::Paused { kind } if kind.as_str() == ALL_TYPES => {
                write!(f, "job {job} waits because all types are paused")
            }
            Because::Paused { kind } => {
                write!(f, "job {job} waits because the type {kind} is paused")
            }
            Because::Key(full) => self.full_key(f, full),
            Because::NoWorkers => write!(f, "job {job} waits because no worker is registered"),
            Because::NoReceiver { receiver } => {
                write!(f, "job {job} may run on worker {receiver} alone, which is not registered")
            }
            Because::Impossible { workers, nearest, lacks } => {
                impossible(f, job, *workers, nearest, lacks)
            }
            Because::Unavailable(Away { draining, overloaded, unreachable, silent }) => {
                let groups = [
                    (draining, "draining"),
                    (overloaded, "overloaded"),
                    (unreachable, "unreachable"),
                    (silent, "silent (the last offers were not answered)"),
                ];
                let groups = groups.into_iter().filter(|(workers, _)| !workers.is_empty());
                let groups: Vec<String> = groups
                    .map(|(workers, state)| {
                        let verb = if workers.len() == 1 { "is" } else { "are" };
                        format!(
                            "{} {verb} {state}",
                            listed(workers.iter().map(WorkerId::to_string))
                        )
                    })
                    .collect();
                write!(f, "job {job} waits because {}", groups.join(" and "))
            }
            Because::Busy { workers, nearest, short, .. } => {
                self.busy(f, *workers, nearest, *short)
            }
            Because::Held { faster, until, .. } => write!(
                f,
                "job {job} waits for worker {faster}, which is busy for about {} but would finish it sooner than any free worker",
                until.since(self.now)
            ),
            Because::Next { worker } => {
                write!(f, "job {job} is placed at the next look; worker {worker} has room")
            }
            Because::Placed(placements) => {
                let each: Vec<String> =
                    placements.iter().map(|placement| self.placed(placement)).collect();
                write!(f, "job {job} {}", each.join(" and "))
            }
            Because::Ended { state, because, key, at, retries, crashes } => {
                let ago = Ago(self.now.since(*at));
                match &**state {
                    JobState::DeadLettered { reason: DeadReason::Poison } => {
                        write!(
                            f,
                            "job {job} was dead-lettered {ago}: {} died with it",
                            counted(u64::from(*crashes), "worker")
                        )
                    }
                    JobState::DeadLettered { reason: DeadReason::RetriesUsedUp } => {
                        write!(f, "job {job} was dead-lettered {ago}: ")?;
                        match retries {
                            0 => write!(f, "it failed, and was not to be retried"),
                            1 => write!(f, "its one retry is used up"),
                            n => write!(f, "its {n} retries are used up"),
                        }
                    }
                    JobState::Failed { cause } => {
                        write!(f, "job {job} failed for good {ago}: {}", cause.in_words())
                    }
                    JobState::Skipped { .. } => match (key, because) {
                        (Some(key), holder) => {
                            write!(
                                f,
                                "job {job} was skipped {ago}: its key {key} was at its limit"
                            )?;
                            match holder {
                                Some(id) => write!(f, ", held by {id}"),
                                None => Ok(()),
                            }
                        }
                        (None, Some(id)) => {
                            write!(f, "job {job} was skipped {ago} because {id} did not complete")
                        }
                        (None, None) => write!(
                            f,
                            "job {job} was skipped {ago} because a dependency did not complete"
                        ),
                    },
                    JobState::Cancelled => write!(f, "job {job} was cancelled {ago}"),
                    JobState::Completed { .. } => write!(f, "job {job} completed {ago}"),
                    JobState::Waiting { .. }
                    | JobState::Delayed { .. }
                    | JobState::Ready
                    | JobState::Active(_) => write!(f, "job {job} goes on"),
                }
            }
        }
    }
}

impl Why {
    fn full_key(&self, f: &mut fmt::Formatter<'_>, full: &FullKey) -> fmt::Result {
        let FullKey { key, used, limit, holders, ahead, .. } = full;
        match limit {
            0 => return write!(f, "job {} waits because its key {key} has the limit 0", self.job),
            _ if used >= limit => write!(
                f,
                "job {} waits because its key {key} is at its limit ({used} of {limit})",
                self.job
            )?,
            _ => write!(
                f,
                "job {} waits because its key {key} has too little left ({used} of {limit} taken)",
                self.job
            )?,
        }
        if !holders.is_empty() {
            write!(f, ", held by {}", listed(holders.iter().map(JobId::to_string)))?;
        }
        match ahead {
            0 => write!(f, "; it is next")?,
            1 => write!(f, "; 1 job of the key goes first")?,
            AHEAD_MAX.. => write!(f, "; {AHEAD_MAX} jobs of the key or more go first")?,
            n => write!(f, "; {n} jobs of the key go first")?,
        }
        match self.expected_start {
            Some(at) => write!(f, ", expected to start in about {}", at.since(self.now)),
            None => Ok(()),
        }
    }

    fn busy(
        &self,
        f: &mut fmt::Formatter<'_>,
        workers: usize,
        nearest: &WorkerId,
        short: Short,
    ) -> fmt::Result {
        match workers {
            1 => {
                write!(f, "job {} waits because the one worker that can run it is busy", self.job)?
            }
            n => write!(
                f,
                "job {} waits because all {n} workers that can run it are busy",
                self.job
            )?,
        }
        match short {
            Short::Slots { .. } => {}
            Short::Queue { .. } => write!(f, " ({nearest} comes nearest, but {short})")?,
            Short::Cpu { .. } | Short::Memory { .. } => {
                write!(f, " ({nearest} has a slot, but {short})")?;
            }
        }
        if let Some(place) = self.place {
            match place.ahead {
                0 => write!(f, "; it is next")?,
                1 => write!(f, "; 1 job goes first")?,
                AHEAD_MAX.. => write!(f, "; {AHEAD_MAX} jobs or more go first")?,
                n => write!(f, "; {n} jobs go first")?,
            }
            if place.ahead > place.ahead_in_class && place.ahead_in_class > 0 {
                write!(f, ", {} of its own kind", place.ahead_in_class)?;
            }
        }
        match self.expected_start {
            Some(at) => write!(f, ", expected to start in about {}", at.since(self.now)),
            None => Ok(()),
        }
    }

    fn placed(&self, placement: &Placement) -> String {
        let Placement { worker, since, running, hedge } = placement;
        let span = self.now.since(*since);
        match (running, hedge) {
            (true, _) => format!("runs on worker {worker} for {span}"),
            (false, false) => {
                format!("was offered to worker {worker} {}, which has not answered", Ago(span))
            }
            (false, true) => format!("was offered to worker {worker} as well {}", Ago(span)),
        }
    }
}

fn impossible(
    f: &mut fmt::Formatter<'_>,
    job: &crate::model::JobId,
    workers: usize,
    nearest: &WorkerId,
    lacks: &[Lack],
) -> fmt::Result {
    match workers {
        1 => write!(f, "no present worker can run job {job}: worker {nearest} falls short, ")?,
        n => write!(
            f,
            "no present worker can run job {job}: of {n}, worker {nearest} comes nearest, but "
        )?,
    }
    let more = lacks.len().saturating_sub(LISTED_MAX);
    let lacks: Vec<String> = lacks.iter().take(LISTED_MAX).map(Lack::to_string).collect();
    f.write_str(&lacks.join(" and "))?;
    if more > 0 { write!(f, " and {more} things more") } else { Ok(()) }
}

fn listed(names: impl ExactSizeIterator<Item = String>) -> String {
    let more = names.len().saturating_sub(LISTED_MAX);
    let mut text = names.take(LISTED_MAX).collect::<Vec<_>>().join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text
}

struct Ago(Micros);

impl fmt::Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == Micros::ZERO { f.write_str("just now") } else { write!(f, "{} ago", self.0) }
    }
}
