//! What the loop is sent, and what it lends the host.

use std::io::Read;

use bellwether_core::Command;
use bellwether_core::model::{Actor, Epoch, JobId};
use bellwether_host::{Edge, Ended, SessionKey, Settled, Unavailable, WaitStarted};
use bellwether_journal::thread::Outcome;
use bellwether_journal::{Head, SnapshotError};
use bellwether_wire::Malformed;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::view::View;
use crate::cluster::Heard;

/// Messages that may wait for one worker; one that does not read them is cut off and must come
/// back, which the core takes like any other loss of a connection.
pub(crate) const SESSION_MESSAGES_MAX: usize = 1_024;

/// Room that a message takes in the inbox; given back once it has been handled.
pub(crate) type Room = OwnedSemaphorePermit;
pub(crate) type Asker<T> = oneshot::Sender<Result<T, Unavailable>>;
pub(crate) type Outgoing = bellwether_host::Outgoing<Malformed>;
pub(crate) type End = bellwether_host::End<Malformed>;
pub(crate) type Link = mpsc::Sender<Result<Outgoing, End>>;
pub(crate) type Registration = bellwether_host::Registration<Link>;
pub(crate) type SessionInput = bellwether_host::SessionInput<Link, Malformed>;

/// The server as the host's driver.
pub(crate) struct ServerEdge;

impl Edge for ServerEdge {
    type Asker<T> = Asker<T>;
    type SnapshotAsker = Asker<SavedSnapshot>;
    type Seen = Tell;
    type Message = Message;
    type Link = Link;
    type Watcher = mpsc::UnboundedSender<Ended>;
    type Malformed = Malformed;
}

#[derive(Debug)]
pub(crate) enum Message {
    Commands {
        commands: Vec<Command>,
        by: Option<Actor>,
        reply: Asker<Vec<Settled>>,
        room: Room,
    },
    Session {
        session: SessionKey,
        input: Box<SessionInput>,
        room: Room,
    },
    SessionClosed(SessionKey),
    Ask {
        question: Question,
        room: Room,
    },
    Wait {
        wish: Wait,
        room: Room,
    },
    /// The state as of now or later is wanted, in a file.
    Snapshot(Asker<SavedSnapshot>),
    /// Of the journal of this reign.
    Journal(Epoch, Outcome),
    /// What happens among the schedulers.
    Cluster(Heard),
    /// Decide nothing more for a moment, and say when all that was decided is durable.
    Retire(oneshot::Sender<()>),
    /// Nobody else is to lead after all.
    GoOn,
    PieceWritten,
    SnapshotSaved(Saved),
    /// Flush, snapshot, send workers away, end.
    /// Answered with where the journal ends.
    Stop(oneshot::Sender<Head>),
}

/// Looks at the state and gives back how to tell what it saw, once that is durable.
pub(crate) struct Question(pub(crate) Box<dyn FnOnce(&View<'_>) -> Tell + Send>);
pub(crate) type Tell = Box<dyn FnOnce(Result<(), Unavailable>) + Send>;

impl std::fmt::Debug for Question {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Question")
    }
}

#[derive(Debug)]
pub(crate) struct Wait {
    pub(crate) ids: Vec<JobId>,
    /// Starts and progress, too.
    pub(crate) progress: bool,
    pub(crate) watcher: mpsc::UnboundedSender<Ended>,
    pub(crate) reply: Asker<WaitStarted>,
}

/// A snapshot that somebody asked for. It stays what it is when the next one is saved.
pub(crate) struct SavedSnapshot {
    pub(crate) head: Head,
    pub(crate) bytes: Box<dyn Read + Send>,
}

impl std::fmt::Debug for SavedSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SavedSnapshot").field("head", &self.head).finish_non_exhaustive()
    }
}

/// What became of a snapshot that was begun.
#[derive(Debug)]
pub(crate) struct Saved {
    pub(super) head: Head,
    /// False if it was abandoned.
    pub(super) result: Result<bool, SnapshotError>,
}
