//! A journal that others can take: what may be told while nobody knows, and how a reign ends.
//!
//! An answer that rests on memory alone is true as long as nobody else can have decided anything, which
//! the lease of the journal says. It is looked at after what is answered has come and before the answer
//! leaves, so a scheduler that was stopped in between tells only what was true when it was asked.

use bellwether_core::Engine;
use bellwether_core::model::Micros;
use bellwether_journal::Head;

use crate::clock::Reading;
use crate::defect::Defect;
use crate::edge::Edge;
use crate::host::Host;
use crate::mode::Mode;

impl<E: Edge> Host<E> {
    /// Until `ends_at` no other scheduler can have taken over; both are of the monotonic clock. To be
    /// called after the last message of a round, before anything is sent. While the lease does not
    /// hold, nothing leaves: it waits until the lease is extended or the reign is over.
    pub fn handle_lease(&mut self, now: Micros, ends_at: Micros) {
        if self.has(Defect::LeaseIgnoresPause) {
            self.lease_holds = std::mem::replace(&mut self.lease_seen, now) < ends_at;
            return;
        }
        self.lease_holds = now < ends_at;
    }

    /// Another may reign already, so what this host knows may be old.
    pub(crate) fn is_doubtful(&self) -> bool {
        match self.mode {
            Mode::Reigning | Mode::Full { .. } | Mode::Rebuilding { .. } => {
                !self.lease_holds && !self.has(Defect::AnswersWhenDeposed)
            }
            // What these tell rests on nothing.
            Mode::Deposed | Mode::Following | Mode::Stopped => false,
        }
    }

    /// Whether what is decided may not have been kept: then a deposed host must be given another
    /// engine to follow with.
    pub fn is_ahead(&self) -> bool {
        !self.is_durable()
    }

    /// A deposed host follows whoever reigns now, with the engine that was built from what is
    /// committed up to `head`, or with its own if it is not ahead.
    ///
    /// # Panics
    /// If it was not deposed, or is ahead and gets no engine.
    pub fn follow(&mut self, reading: Reading, rebuilt: Option<(Engine, Head)>) {
        assert_eq!(self.mode, Mode::Deposed, "only who was deposed follows again");
        match rebuilt {
            Some(_) if self.has(Defect::KeepsSpeculation) => self.keep_speculation(),
            Some((engine, head)) => self.stand_on(engine, head),
            None => self.engine.follow(),
        }
        self.connections.clear();
        self.mode = Mode::Following;
        self.keep_time(reading);
    }

    /// As if all that was decided had been committed.
    fn keep_speculation(&mut self) {
        drop(self.engine.take_batch());
        self.sent = self.engine.last_seq();
        self.engine.durable(self.sent);
        self.durable.seq = self.sent;
        self.engine.follow();
    }
}
