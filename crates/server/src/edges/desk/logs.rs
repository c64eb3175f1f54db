//! What a job has printed, and what it prints.

use std::time::Duration;

use bellwether_core::model::{JobId, Seq};
use bellwether_wire::{Malformed, v1};
use rustc_hash::FxHashMap;
use tokio::sync::mpsc;

use super::{Desk, Unanswered};
use crate::edges::contain::Contained;
use crate::event_loop::Ended;
use crate::projections::logs::{Ends, Kept};

/// How long output gathers for one who has seen all that came before.
const GATHER: Duration = Duration::from_millis(50);
/// Messages that may wait for whoever reads them.
const MESSAGES_MAX: usize = 2;

/// Which output somebody wants to see.
#[derive(Debug, Clone, Default)]
pub(crate) struct LogsWanted {
    /// Of the job.
    pub(crate) id: String,
    /// Counted from 1; none: all of them.
    pub(crate) attempt: Option<u32>,
    /// Until the job has ended; else it ends with what there is now.
    pub(crate) follow: bool,
    /// The cursor behind which it begins.
    pub(crate) after: u64,
}

pub(crate) type Output = mpsc::Receiver<Result<v1::WatchLogsResponse, Unanswered>>;

impl Desk {
    pub(crate) async fn logs(&self, wanted: LogsWanted) -> Result<Output, Unanswered> {
        let job = self.job(wanted.id.clone(), Seq(0)).await?;
        let ends = match wanted.after {
            0 => Ends::default(),
            after => self.logs.ends(job.job, after).await?,
        };
        let end =
            if wanted.follow && job.ended_at == 0 { self.end_of(&wanted.id).await? } else { None };
        // One more for the last word.
        let (sender, receiver) = mpsc::channel(MESSAGES_MAX + 1);
        let (number, cursor) = (job.job, wanted.after);
        let attempts = Attempts::of(&job);
        let listener = Listener { desk: self.clone(), wanted, number, cursor, attempts, ends };
        drop(self.background.spawn(Contained::new("logs", listener.listen(end, sender))));
        Ok(receiver)
    }

    /// Something that is told, or closed, once the job has ended; none if it has.
    async fn end_of(&self, id: &str) -> Result<Option<mpsc::UnboundedReceiver<Ended>>, Unanswered> {
        let id = JobId::new(id).map_err(|why| Malformed::new("id", why))?;
        let (told, end) = mpsc::unbounded_channel();
        let started = self.handle.wait_for(vec![id], false, told).await?;
        Ok(started.not_waited_for.is_empty().then_some(end))
    }
}

/// Which attempts a job has, by token and worker, with their numbers: what a worker says of an attempt
/// that it was never given is shown to nobody.
#[derive(Debug, Default)]
struct Attempts(FxHashMap<(u64, String), u32>);

impl Attempts {
    fn of(job: &v1::Job) -> Attempts {
        let mut number = 0;
        let numbered = job.attempts.iter().map(|attempt| {
            number += u32::from(!attempt.hedge);
            ((attempt.token, attempt.worker.clone()), number)
        });
        Attempts(numbered.collect())
    }

    fn number(&self, kept: &Kept) -> Option<u32> {
        self.0.get(&(kept.token, kept.worker.clone())).copied()
    }
}

struct Listener {
    desk: Desk,
    wanted: LogsWanted,
    /// Of the job.
    number: u64,
    cursor: u64,
    attempts: Attempts,
    /// How far the output of each attempt was read.
    ends: Ends,
}

impl Listener {
    async fn listen(
        mut self,
        mut end: Option<mpsc::UnboundedReceiver<Ended>>,
        answers: mpsc::Sender<Result<v1::WatchLogsResponse, Unanswered>>,
    ) {
        let Ok(last_word) = answers.clone().reserve_owned().await else { return };
        if let Err(why) = self.tell(&mut end, &answers).await {
            drop(last_word.send(Err(why)));
        }
    }

    async fn tell(
        &mut self,
        end: &mut Option<mpsc::UnboundedReceiver<Ended>>,
        answers: &mpsc::Sender<Result<v1::WatchLogsResponse, Unanswered>>,
    ) -> Result<(), Unanswered> {
        let mut written = self.desk.logs.watch();
        let mut caught_up = false;
        loop {
            if !caught_up || end.is_none() {
                // The end of a job comes after all that it has printed.
                self.desk.logs.settle().await?;
            }
            written.mark_unchanged();
            loop {
                let kept = self.desk.logs.read(self.number, self.cursor).await?;
                let Some(last) = kept.last() else { break };
                self.cursor = last.id;
                let pieces = self.pieces(kept).await?;
                let (cursor, caught_up) = (self.cursor, false);
                let response = v1::WatchLogsResponse { pieces, cursor, caught_up };
                if !self.send(response, answers).await? {
                    return Ok(());
                }
            }
            if !std::mem::replace(&mut caught_up, true) {
                let (pieces, cursor) = (Vec::new(), self.cursor);
                let response = v1::WatchLogsResponse { pieces, cursor, caught_up };
                if !self.send(response, answers).await? {
                    return Ok(());
                }
            }
            let Some(ending) = end.as_mut() else { return Ok(()) };
            tokio::select! {
                changed = written.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    tokio::time::sleep(GATHER).await;
                }
                _ = ending.recv() => *end = None,
                () = answers.closed() => return Ok(()),
            }
        }
    }

    /// Says whether anybody still listens.
    async fn send(
        &self,
        response: v1::WatchLogsResponse,
        answers: &mpsc::Sender<Result<v1::WatchLogsResponse, Unanswered>>,
    ) -> Result<bool, Unanswered> {
        let sent = self.desk.audience.within(answers.send(Ok(response))).await;
        sent.map(|sent| sent.is_ok()).ok_or(Unanswered::TooSlow)
    }

    async fn pieces(&mut self, kept: Vec<Kept>) -> Result<Vec<v1::LogPiece>, Unanswered> {
        if kept.iter().any(|kept| self.attempts.number(kept).is_none()) {
            let job = self.desk.job(self.wanted.id.clone(), self.desk.handle.durable()).await?;
            self.attempts = Attempts::of(&job);
        }
        Ok(kept.into_iter().filter_map(|kept| self.piece(kept)).collect())
    }

    fn piece(&mut self, kept: Kept) -> Option<v1::LogPiece> {
        let attempt = self.attempts.number(&kept)?;
        if self.wanted.attempt.is_some_and(|wanted| wanted != attempt) {
            return None;
        }
        let Kept { token, worker, position, stream, at, data, .. } = kept;
        let end = self.ends.entry((token, worker.clone())).or_default();
        let cut = position.saturating_sub(*end);
        *end = position + data.len() as u64;
        let data = data.into();
        Some(v1::LogPiece { attempt, worker, stream, position, at, data, cut })
    }
}
