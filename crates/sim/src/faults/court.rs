//! Everything that can be observed is shown to every invariant, at once and in order.

use bellwether_core::model::{Config, HeldAttempt, Seq, Timestamp, Token};
use bellwether_core::{Answer, Command, Effect, Engine, Entry, Handled, Rejection};
use bellwether_host::Unavailable;

use super::defect::Defect;
use super::disk::Disk;
use super::invariants::{self, Invariant};
use super::ledger::Ledger;
use super::stamps::{Stamp, Stamps};
use crate::cluster::sight::Sight;

/// The invariant that no code can check while it runs: nothing panics.
pub(crate) const NEVER_PANICS: &str = "never_panics";

/// The names of all invariants.
pub fn invariant_names() -> Vec<&'static str> {
    let watching = invariants::all(&Config::default());
    watching.iter().map(|invariant| invariant.name()).chain([NEVER_PANICS]).collect()
}

/// A bug to be caught, and by whom: by any invariant if none is named.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planted {
    pub defect: Option<Defect>,
    pub only: Option<&'static str>,
}

/// Something that happened and that an invariant may be about.
#[derive(Debug)]
pub(crate) enum Observation<'a> {
    /// The engine has answered a command; nothing of it is durable yet. `held_before` are those of
    /// the attempts it names that its worker held.
    Asked {
        /// The last position before it.
        before: Seq,
        command: &'a Command,
        handled: &'a Handled,
        held_before: &'a [HeldAttempt],
        engine: &'a Engine,
        at: Stamp,
        by: u32,
    },
    /// The same command at the same time went to an engine of the same past: what each decided.
    Twins { one: &'a [Entry], other: &'a [Entry] },
    /// An event has become durable. The ledger does not know it yet.
    Committed { entry: &'a Entry },
    /// The last event of an append.
    BatchCommitted,
    /// An effect leaves the scheduler.
    Released { effect: &'a Effect, by: u32 },
    /// A message leaves for a worker.
    Sent { to: usize, by: u32 },
    /// An answer leaves the scheduler.
    Answered { command: &'a Command, seq: Seq, result: &'a Result<Answer, Rejection>, by: u32 },
    /// A wish is sent back without an answer. `changed` is the last position that it had brought
    /// about, if it had brought about any.
    Refused { command: &'a Command, changed: Option<Seq>, why: Unavailable, by: u32 },
    /// Somebody wants these settings.
    Configuring { config: &'a Config },
    /// A worker begins, or ends, the work that the world can see.
    Executed { attempt: HeldAttempt, stage: Execution },
    /// A snapshot of the present state is being taken, while that goes on changing.
    SnapshotBegun { seq: Seq },
    /// All of it was taken.
    Snapshot { bytes: &'a [u8], seq: Seq },
    /// A scheduler was built from the journal, for this reign.
    Recovered { engine: &'a Engine, reign: u32 },
    /// The journal could not be opened although nothing but crashes had happened to it.
    Unreadable { why: &'a str },
    /// Nothing is undecided, unwritten or on its way out.
    Quiet { engine: &'a Engine },
    /// Quiet too, and now and then the time to look at everything. `now` is the latest time that
    /// the engine was given.
    Inspected { engine: &'a Engine, now: Timestamp },
    /// Something of several schedulers.
    Among(Sight<'a>),
    /// The time after healing is over.
    Finished { engine: Option<&'a Engine>, disk: Option<&'a Disk> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Execution {
    Started,
    Finished,
}

/// What invariants may look at.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub ledger: &'a Ledger,
    /// An engine that knows nothing but the durable events, all of them from the first.
    pub follower: &'a Engine,
    pub stamps: &'a Stamps,
}

/// An invariant that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    pub invariant: &'static str,
    pub detail: String,
}

#[derive(Debug)]
pub(crate) struct Court {
    ledger: Ledger,
    follower: Engine,
    stamps: Stamps,
    invariants: Vec<Box<dyn Invariant>>,
    violation: Option<Violation>,
}

impl Court {
    /// These invariants watch, or the one of them that is to.
    pub(crate) fn new(mut invariants: Vec<Box<dyn Invariant>>, planted: Planted) -> Court {
        let mut follower = Engine::new(Config::default());
        // It follows the same program, bugs included: they must show in what the engine does.
        Defect::plant(planted.defect, &mut follower);
        invariants.retain(|it| planted.only.is_none_or(|only| it.name() == only));
        Court {
            ledger: Ledger::new(Config::default()),
            follower,
            stamps: Stamps::default(),
            invariants,
            violation: None,
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn violation(&self) -> Option<&Violation> {
        self.violation.as_ref()
    }

    /// Shows it to all invariants; the first violation of a run is the one that counts.
    pub(crate) fn see(&mut self, seen: &Observation<'_>) {
        if self.violation.is_some() {
            return;
        }
        if let Observation::Asked { before, handled, at, by, .. } = seen {
            self.stamps.decided(*before, handled.seq, *at, *by);
        }
        let view = View { ledger: &self.ledger, follower: &self.follower, stamps: &self.stamps };
        for invariant in &mut self.invariants {
            if let Err(detail) = invariant.observe(seen, &view) {
                self.violation = Some(Violation { invariant: invariant.name(), detail });
                return;
            }
        }
        if let Observation::Committed { entry } = seen {
            self.ledger.record(entry);
            self.follower.replay(entry);
        }
    }

    /// The state that the durable events make, with their last position.
    pub(crate) fn follower_hash(&self) -> [u8; 32] {
        bellwether_journal::state::hash(self.follower.state())
    }

    /// The highest token that was ever offered.
    pub(crate) fn last_token(&self) -> Token {
        Token::from(self.ledger.last_seq)
    }
}
