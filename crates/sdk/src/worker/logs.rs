//! What attempts print, on its way to the scheduler: no I/O and no clock.
//!
//! Output goes out as it comes. An attempt that has printed more than the beginning that is kept of it
//! is sent at a bounded pace, and where it prints faster than that, the oldest of what was not sent is
//! cut: what it printed last is what matters then. Positions count what was cut, too, so a gap tells
//! itself. Whatever an attempt has printed leaves before the report that ends it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bellwether_wire::v1;
use bytes::Bytes;
use rustc_hash::FxHashMap;
use tokio::sync::Notify;

/// Bytes of one chunk.
const CHUNK_BYTES: usize = 16 << 10;
/// What is printed within so many microseconds may share a chunk, and its time.
const CHUNK_MICROS: u64 = 100_000;
/// Bytes of all attempts that may wait to be sent; and that are kept to be sent again.
const BYTES_MAX: usize = 4 << 20;
/// Beyond so many unconfirmed bytes the output of attempts that go on waits.
const WINDOW_BYTES: usize = 1 << 20;
/// An attempt that prints more than its beginning gets so many bytes sent in each such interval.
const PACE_BYTES: usize = 64 << 10;
const PACE_INTERVAL: Duration = Duration::from_millis(250);

/// Whether an attempt has printed anything, and still may.
#[derive(Debug, Default)]
pub(crate) struct Pen(AtomicU8);

const UNUSED: u8 = 0;
const OPEN: u8 = 1;
const CLOSED: u8 = 2;

/// The output of all attempts of a worker.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    /// A lock, because handlers write from threads of their own.
    inner: Mutex<Inner>,
    news: Notify,
}

#[derive(Debug, Default)]
struct Inner {
    /// Bytes that the scheduler keeps of an attempt; 0: it wants none.
    limit: usize,
    /// By token. Only those that have printed something.
    attempts: FxHashMap<u64, Output>,
    /// Tokens of those that have something to send, each once, in turn.
    turns: VecDeque<u64>,
    /// Of those that have ended, which are sent whole.
    ended: Vec<u64>,
    unsent_bytes: usize,
    /// Of an earlier connection, to be sent again before anything else.
    again: VecDeque<v1::LogChunk>,
    /// Sent and not confirmed; the first has the number `first`.
    sent: VecDeque<v1::LogChunk>,
    sent_bytes: usize,
    first: u64,
}

#[derive(Debug)]
struct Output {
    job: u64,
    /// Bytes that it has printed.
    position: u64,
    pieces: VecDeque<Piece>,
    unsent_bytes: usize,
    sent_bytes: usize,
    /// It stands in the turns.
    queued: bool,
    /// When it may be sent more, once its beginning is sent.
    next_at: Option<Instant>,
}

#[derive(Debug)]
struct Piece {
    position: u64,
    stream: v1::LogStream,
    at: u64,
    data: Vec<u8>,
}

/// Something that an attempt prints.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Print<'a> {
    pub(crate) job: u64,
    pub(crate) token: u64,
    pub(crate) stream: v1::LogStream,
    /// Microseconds since the Unix epoch.
    pub(crate) at: u64,
    pub(crate) data: &'a [u8],
}

impl Outbox {
    pub(crate) fn write(&self, pen: &Pen, print: Print<'_>) {
        let mut inner = self.lock();
        let opened = pen.0.compare_exchange(UNUSED, OPEN, Ordering::Relaxed, Ordering::Relaxed);
        if inner.limit == 0 || opened == Err(CLOSED) || print.data.is_empty() {
            return;
        }
        let first = inner.turns.is_empty();
        inner.write(print);
        drop(inner);
        if first {
            self.news.notify_one();
        }
    }

    /// The attempt has ended: what it printed goes out with the next message, and nothing is added.
    pub(crate) fn close(&self, pen: &Pen, token: u64) {
        let unused = pen.0.compare_exchange(UNUSED, CLOSED, Ordering::Relaxed, Ordering::Relaxed);
        if unused.is_ok() {
            return;
        }
        let mut inner = self.lock();
        if pen.0.swap(CLOSED, Ordering::Relaxed) == OPEN && inner.attempts.contains_key(&token) {
            inner.ended.push(token);
        }
    }

    /// Returns once there is something to send.
    pub(crate) async fn news(&self) {
        while !self.has_unsent() {
            self.news.notified().await;
        }
    }

    pub(crate) fn has_unsent(&self) -> bool {
        let inner = self.lock();
        !inner.turns.is_empty() || !inner.again.is_empty() || !inner.ended.is_empty()
    }

    /// Everything is sent and confirmed.
    pub(crate) fn is_clear(&self) -> bool {
        !self.has_unsent() && self.lock().sent.is_empty()
    }

    /// A new connection has begun, to a scheduler that keeps so much of each attempt: numbers start
    /// again, and what was not confirmed is sent again.
    pub(crate) fn reconnected(&self, limit: u64) {
        let mut inner = self.lock();
        inner.limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut again = std::mem::take(&mut inner.sent);
        again.extend(std::mem::take(&mut inner.again));
        inner.again = again;
        (inner.first, inner.sent_bytes) = (1, 0);
        if inner.limit == 0 {
            *inner = Inner { first: 1, ..Inner::default() };
        }
    }

    /// What is to be sent next. Before the reports that are taken after this.
    pub(crate) fn take(&self, now: Instant) -> Vec<v1::LogChunk> {
        let mut inner = self.lock();
        let mut chunks: Vec<v1::LogChunk> = std::mem::take(&mut inner.again).into();
        for token in std::mem::take(&mut inner.ended) {
            inner.take_all(token, &mut chunks);
        }
        inner.take_in_turn(now, &mut chunks);
        for chunk in &chunks {
            inner.sent_bytes += chunk.data.len();
            inner.sent.push_back(chunk.clone());
        }
        // What was sent is lost only if the connection breaks just now.
        while inner.sent_bytes > BYTES_MAX {
            inner.forget_first();
        }
        chunks
    }

    /// Chunks up to this number are kept.
    pub(crate) fn confirmed(&self, number: u64) {
        if number == 0 {
            return;
        }
        let mut inner = self.lock();
        while inner.first <= number && !inner.sent.is_empty() {
            inner.forget_first();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn write(&mut self, print: Print<'_>) {
        let output = self.attempts.entry(print.token).or_insert_with(|| Output {
            job: print.job,
            position: 0,
            pieces: VecDeque::new(),
            unsent_bytes: 0,
            sent_bytes: 0,
            queued: false,
            next_at: None,
        });
        if !std::mem::replace(&mut output.queued, true) {
            self.turns.push_back(print.token);
        }
        output.write(&print);
        self.unsent_bytes += print.data.len();
        let tail = tail_of(self.limit);
        while (output.unsent_bytes > tail || self.unsent_bytes > BYTES_MAX)
            && let Some(cut) = output.pieces.pop_front()
        {
            output.unsent_bytes -= cut.data.len();
            self.unsent_bytes -= cut.data.len();
        }
    }

    /// Everything of an attempt that has ended, which is forgotten.
    fn take_all(&mut self, token: u64, chunks: &mut Vec<v1::LogChunk>) {
        let Some(output) = self.attempts.remove(&token) else { return };
        self.unsent_bytes -= output.unsent_bytes;
        let (job, position) = (output.job, output.position);
        if output.pieces.is_empty() && output.sent_bytes as u64 != position {
            // Nothing follows that would tell of the cut.
            let (stream, at) = (v1::LogStream::Log, 0);
            let end = Piece { position, stream, at, data: Vec::new() };
            chunks.push(end.into_chunk(job, token));
        }
        chunks.extend(output.pieces.into_iter().map(|piece| piece.into_chunk(job, token)));
    }

    /// Of attempts that go on, as far as the window and their pace allow.
    fn take_in_turn(&mut self, now: Instant, chunks: &mut Vec<v1::LogChunk>) {
        let head = tail_of(self.limit);
        let mut room = WINDOW_BYTES.saturating_sub(self.sent_bytes);
        for _ in 0..self.turns.len() {
            let Some(token) = self.turns.pop_front() else { return };
            let Some(output) = self.attempts.get_mut(&token) else { continue };
            let mut allowed = room;
            if output.sent_bytes > head {
                let due = output.next_at.is_none_or(|at| at <= now);
                allowed = if due { room.min(PACE_BYTES) } else { 0 };
                if due {
                    output.next_at = Some(now + PACE_INTERVAL);
                }
            }
            while let Some(piece) = output.pieces.front()
                && piece.data.len() <= allowed
            {
                let bytes = piece.data.len();
                (allowed, room) = (allowed - bytes, room - bytes);
                output.unsent_bytes -= bytes;
                output.sent_bytes += bytes;
                self.unsent_bytes -= bytes;
                let piece = output.pieces.pop_front();
                chunks.extend(piece.map(|piece| piece.into_chunk(output.job, token)));
            }
            output.queued = !output.pieces.is_empty();
            if output.queued {
                self.turns.push_back(token);
            }
        }
    }

    fn forget_first(&mut self) {
        if let Some(chunk) = self.sent.pop_front() {
            self.sent_bytes -= chunk.data.len();
            self.first += 1;
        }
    }
}

impl Output {
    fn write(&mut self, print: &Print<'_>) {
        let mut rest = print.data;
        while !rest.is_empty() {
            let room = match self.pieces.back() {
                Some(last)
                    if last.stream == print.stream
                        && print.at.saturating_sub(last.at) < CHUNK_MICROS =>
                {
                    CHUNK_BYTES - last.data.len()
                }
                _ => 0,
            };
            if room == 0 {
                let (position, stream, at) = (self.position, print.stream, print.at);
                self.pieces.push_back(Piece { position, stream, at, data: Vec::new() });
            }
            let room = if room == 0 { CHUNK_BYTES } else { room };
            let (now, later) = rest.split_at(rest.len().min(room));
            if let Some(last) = self.pieces.back_mut() {
                last.data.extend_from_slice(now);
            }
            self.position += now.len() as u64;
            self.unsent_bytes += now.len();
            rest = later;
        }
    }
}

impl Piece {
    fn into_chunk(self, job: u64, token: u64) -> v1::LogChunk {
        let Piece { position, stream, at, data } = self;
        let (position, stream) = (Some(position), stream.into());
        v1::LogChunk { job, token, position, stream, at, data: Bytes::from(data) }
    }
}

/// Of what is kept of an attempt, one half is its beginning and the other its end.
fn tail_of(limit: usize) -> usize {
    limit / 2
}

#[cfg(test)]
mod tests;
