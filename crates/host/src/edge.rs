//! What a driver lends the host: types that pass through it unseen, and somebody who looks on.

use bellwether_core::model::{Actor, Micros, Timestamp, WallAhead};
use bellwether_core::{Command, Effect, Engine, Handled};

/// The types of a driver that the host keeps for it and gives back.
pub trait Edge {
    /// Waits for a `T`.
    type Asker<T>;
    /// Waits for a snapshot that is saved.
    type SnapshotAsker;
    /// What a question saw, and who asked it.
    type Seen;
    /// A message that has to wait its turn.
    type Message;
    /// The way to the worker of a session.
    type Link;
    /// Is told how jobs go on.
    type Watcher: Clone;
    /// Why a part of a worker's message could not be read.
    type Malformed;
}

/// Looks on while the host works.
pub trait Observer {
    /// The engine is about to handle this.
    fn asked(&mut self, _now: Timestamp, _by: Option<&Actor>, _command: &Command, _: &Engine) {}

    /// The engine has handled what it was asked last; nothing of it is durable yet.
    fn handled(&mut self, _handled: &Handled, _engine: &Engine) {}

    /// The effect's event is durable; it leaves with the next messages.
    fn released(&mut self, _effect: &Effect) {}

    /// The driver comes back after so long; nobody has listened meanwhile.
    fn late(&mut self, _away: Micros) {}

    /// The journal has taken so long that nothing could leave meanwhile.
    fn slow_journal(&mut self, _took: Micros) {}

    /// The wall clock is not where it was thought to be.
    fn stepped(&mut self, _from: WallAhead, _to: WallAhead) {}

    /// A worker has told the result of a job that another attempt had completed.
    fn duplicate(&mut self) {}
}

/// Nobody looks on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
