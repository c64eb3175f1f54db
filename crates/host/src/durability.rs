//! The journal's side of the host: handing events over, releasing what has become durable, starting
//! over when that fails.

use bellwether_core::model::Config;
use bellwether_core::{Effect, Engine, Entry};
use bellwether_journal::{AppendError, Head};

use crate::defect::Defect;
use crate::edge::{Edge, Observer};
use crate::host::{Host, PROBE_INTERVAL};
use crate::mode::Mode;
use crate::outbox::{End, Outgoing};
use crate::unavailable::Unavailable;

/// Batches at the journal: one at the disk, one that is ready when the disk is.
pub const BATCHES_IN_FLIGHT_MAX: usize = 2;

/// Why an append and all that were to follow it did not become durable, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// There is no room; nothing was written.
    Full,
    /// The journal is not where the engine thinks; nothing was written.
    Misplaced,
    /// It may have been written, or a part of it, or nothing.
    Unknown,
    /// Another scheduler has taken the journal; nothing was written.
    Fenced,
    /// This scheduler's reign is over. What was under way may have been kept, or nothing of it.
    Deposed,
}

impl From<&AppendError> for Failure {
    fn from(error: &AppendError) -> Failure {
        match error {
            AppendError::Full => Failure::Full,
            AppendError::WrongPosition { .. } => Failure::Misplaced,
            AppendError::Sync(_) | AppendError::Write(_) | AppendError::Gone { .. } => {
                Failure::Unknown
            }
            AppendError::Fenced { .. } => Failure::Fenced,
            AppendError::Deposed => Failure::Deposed,
        }
    }
}

impl<E: Edge> Host<E> {
    /// What has gathered, to be appended behind what was given out before, if the journal can use
    /// more.
    pub fn poll_batch(&mut self) -> Option<Vec<Entry>> {
        if self.mode != Mode::Reigning || self.schedule.holds_batches() {
            return None;
        }
        let batch = self.take_batch();
        if self.engine.last_seq() == self.sent {
            self.begin_snapshot();
        }
        batch
    }

    fn take_batch(&mut self) -> Option<Vec<Entry>> {
        if self.in_flight.len() >= BATCHES_IN_FLIGHT_MAX || self.engine.last_seq() == self.sent {
            return None;
        }
        self.sent = self.engine.last_seq();
        if self.in_flight.is_empty() {
            self.unanswered_since = self.now;
        }
        self.in_flight.push_back(self.sent);
        if self.has(Defect::ReleaseBeforeDurable) {
            self.engine.durable(self.sent);
        }
        Some(self.engine.take_batch())
    }

    /// These entries, which were given out as one batch or several, are durable up to `head`.
    pub fn handle_durable(&mut self, head: Head, entries: &[Entry], observer: &mut impl Observer) {
        // A word that was on its way when everything changed.
        if self.mode != Mode::Reigning {
            return;
        }
        let head = match self.has(Defect::ReleasesOutOfOrder) {
            true => Head { seq: self.sent, ..head },
            false => head,
        };
        self.durable = head;
        self.unkept = None;
        self.schedule.durable(head);
        while self.in_flight.front().is_some_and(|last| *last <= head.seq) {
            self.in_flight.pop_front();
        }
        self.waiters.note(self.engine.state(), entries);
        self.engine.durable(head.seq);
        self.replies.release(head.seq, &mut self.outbox);
        self.release_effects(observer);
        self.come_back_from_the_journal(observer);
    }

    /// An append failed. What is not durable has not happened, or nobody knows whether it has, so
    /// everybody is sent away; then the state is built again from what is there, unless it is
    /// another's now.
    pub fn handle_failure(&mut self, failure: Failure) {
        let goes_on = match failure {
            Failure::Fenced | Failure::Deposed => self.has(Defect::AnswersWhenDeposed),
            Failure::Unknown => self.has(Defect::IgnoreAppendFailure),
            Failure::Full | Failure::Misplaced => false,
        };
        if goes_on {
            self.in_flight.clear();
            self.durable.seq = self.sent;
            self.schedule.durable(self.durable);
            self.engine.durable(self.sent);
            self.replies.release(self.sent, &mut self.outbox);
            return;
        }
        let why = match failure {
            Failure::Full => Unavailable::DiskFull,
            Failure::Misplaced => Unavailable::Rebuilt,
            Failure::Unknown if self.has(Defect::TellsUnknownAsRefused) => Unavailable::Rebuilt,
            Failure::Deposed if self.has(Defect::TellsUnknownAsRefused) => Unavailable::Rebuilt,
            Failure::Unknown | Failure::Fenced | Failure::Deposed => Unavailable::Unknown,
        };
        self.mode = match failure {
            Failure::Full => Mode::Rebuilding { full: true },
            Failure::Misplaced | Failure::Unknown => Mode::Rebuilding { full: false },
            Failure::Fenced | Failure::Deposed => Mode::Deposed,
        };
        self.in_flight.clear();
        if self.mode == Mode::Deposed {
            // What was ready has waited for a lease that did not come.
            self.replies.withdraw();
            self.waiters.withdraw();
            // What was to be done outside is for whoever reigns now to do.
            drop(self.engine.take_effects());
        }
        self.replies.fail(why, &mut self.outbox);
        self.outbox.end_all(why);
        self.waiters.clear();
        self.abandon_snapshot();
        match failure {
            Failure::Full => self.refuse_snapshots(Unavailable::DiskFull),
            Failure::Fenced | Failure::Deposed => self.refuse_snapshots(Unavailable::Deposed),
            Failure::Misplaced | Failure::Unknown => {}
        }
    }

    /// The state has been built again from the journal, which ends at `head`.
    pub fn handle_rebuilt(&mut self, engine: Engine, head: Head, observer: &mut impl Observer) {
        self.stand_on(engine, head);
        match self.mode {
            Mode::Rebuilding { full: true } => {
                self.mode = Mode::Full { probe_at: self.now + PROBE_INTERVAL };
            }
            _ => self.begin(self.settings_after_failure(), observer),
        }
    }

    /// Whether it is time to look if the disk has space again.
    pub fn must_probe(&self) -> bool {
        matches!(self.mode, Mode::Full { probe_at } if probe_at <= self.now)
    }

    pub fn handle_probe(&mut self, has_space: bool, observer: &mut impl Observer) {
        match self.mode {
            Mode::Full { .. } if has_space => self.begin(self.settings_after_failure(), observer),
            Mode::Full { .. } => self.mode = Mode::Full { probe_at: self.now + PROBE_INTERVAL },
            _ => {}
        }
    }

    /// The journal's own settings hold, also those that were changed while the scheduler ran; those that
    /// the reign began with are given again if they were not kept.
    fn settings_after_failure(&self) -> Option<Config> {
        match self.has(Defect::ForgetsSettings) {
            true => Some(Config::default()),
            false => self.unkept.clone(),
        }
    }

    /// Hands each session what it is to be told, one message each. `deliver` says whether the
    /// session is still there.
    pub fn drain_outgoing(
        &mut self,
        observer: &mut impl Observer,
        deliver: impl FnMut(&E::Link, Result<Outgoing<E::Malformed>, End<E::Malformed>>) -> bool,
    ) {
        if !self.is_doubtful() {
            self.release_effects(observer);
            self.outbox.drain(deliver);
        }
    }

    fn release_effects(&mut self, observer: &mut impl Observer) {
        let lost = usize::from(self.has(Defect::LosesEffects));
        for effect in self.engine.take_effects().into_iter().skip(lost) {
            observer.released(&effect);
            if let Some(Effect::Ended { job }) = self.outbox.add(self.engine.state(), effect) {
                self.waiters.ended(self.engine.state(), job);
            }
        }
    }
}
