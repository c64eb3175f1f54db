//! How everybody else talks to the loop.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use bellwether_core::Command;
use bellwether_core::model::{Actor, JobId, Seq, WallAhead};
use bellwether_host::{Ended, SessionKey, Settled, Unavailable, WaitStarted};
use bellwether_journal::Head;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

use super::clock::Wall;
use super::message::{Message, Question, Room, SavedSnapshot, SessionInput, Wait};
use super::view::View;

/// Commands that may wait for the loop; a submission counts its jobs.
pub(crate) const INBOX_COMMANDS_MAX: usize = 65_536;
/// How long an edge waits for room before it says that the scheduler is busy.
const ROOM_WAIT: Duration = Duration::from_secs(2);

#[derive(Debug, Clone)]
pub(crate) struct Handle {
    inbox: Sender<Message>,
    room: Arc<Semaphore>,
    durable: watch::Receiver<Seq>,
    wall: Wall,
    sessions: Arc<AtomicU64>,
    /// Who sends commands through it; none: the scheduler itself.
    by: Option<Actor>,
}

impl Handle {
    pub(crate) fn new(inbox: Sender<Message>, durable: watch::Receiver<Seq>, wall: Wall) -> Handle {
        let room = Arc::new(Semaphore::new(INBOX_COMMANDS_MAX));
        Handle { inbox, room, durable, wall, sessions: Arc::default(), by: None }
    }

    /// The same for somebody whom the events of their commands name.
    pub(crate) fn acting(&self, by: Option<Actor>) -> Handle {
        Handle { by, ..self.clone() }
    }

    pub(crate) fn actor(&self) -> Option<&Actor> {
        self.by.as_ref()
    }

    pub(crate) async fn command(
        &self,
        commands: Vec<Command>,
    ) -> Result<Vec<Settled>, Unavailable> {
        let receiver = self.send_commands(commands).await?;
        receiver.await.unwrap_or(Err(Unavailable::ShuttingDown))
    }

    /// Sent in the order of the calls; the answer comes later.
    pub(crate) async fn send_commands(
        &self,
        commands: Vec<Command>,
    ) -> Result<oneshot::Receiver<Result<Vec<Settled>, Unavailable>>, Unavailable> {
        let room = self.room(commands.iter().map(weight).sum()).await?;
        let (reply, receiver) = oneshot::channel();
        let by = self.by.clone();
        self.send(Message::Commands { commands, by, reply, room })?;
        Ok(receiver)
    }

    /// What the question saw, once it is durable.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&View<'_>) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Unavailable>> + Send {
        let handle = self.clone();
        async move {
            let room = handle.room(1).await?;
            let (reply, receiver) = oneshot::channel();
            let question = Question(Box::new(move |view| {
                let seen = question(view);
                // An asker that has gone away needs no answer.
                Box::new(move |outcome| drop(reply.send(outcome.map(|()| seen))))
            }));
            handle.send(Message::Ask { question, room })?;
            receiver.await.unwrap_or(Err(Unavailable::ShuttingDown))
        }
    }

    pub(crate) async fn wait_for(
        &self,
        ids: Vec<JobId>,
        progress: bool,
        watcher: mpsc::UnboundedSender<Ended>,
    ) -> Result<WaitStarted, Unavailable> {
        let room = self.room(ids.len()).await?;
        let (reply, receiver) = oneshot::channel();
        let wish = Wait { ids, progress, watcher, reply };
        self.send(Message::Wait { wish, room })?;
        receiver.await.unwrap_or(Err(Unavailable::ShuttingDown))
    }

    pub(crate) fn new_session(&self) -> SessionKey {
        SessionKey(self.sessions.fetch_add(1, Ordering::Relaxed))
    }

    /// Waits for room for as long as it takes: a worker's reports are never refused for load.
    pub(crate) async fn session_input(
        &self,
        session: SessionKey,
        input: SessionInput,
    ) -> Result<(), Unavailable> {
        let wanted = input.reports.len() + input.before.len() + input.after.len();
        let room = self.permits(wanted).await?;
        self.send(Message::Session { session, input: Box::new(input), room })
    }

    pub(crate) fn session_closed(&self, session: SessionKey) {
        // A loop that has ended has no sessions.
        drop(self.inbox.send(Message::SessionClosed(session)));
    }

    pub(crate) fn durable(&self) -> Seq {
        *self.durable.borrow()
    }

    pub(crate) fn wall_ahead(&self) -> WallAhead {
        self.wall.ahead()
    }

    pub(crate) fn watch_durable(&self) -> watch::Receiver<Seq> {
        self.durable.clone()
    }

    /// The state as it is restored from, of this moment or of a later one.
    pub(crate) async fn snapshot(&self) -> Result<SavedSnapshot, Unavailable> {
        let (reply, receiver) = oneshot::channel();
        self.send(Message::Snapshot(reply))?;
        receiver.await.unwrap_or(Err(Unavailable::ShuttingDown))
    }

    /// Nothing more is decided for a moment; returns once all that was decided is durable.
    pub(crate) async fn retire(&self) -> Result<(), Unavailable> {
        let (ready, told) = oneshot::channel();
        self.send(Message::Retire(ready))?;
        // The reign may be over before.
        drop(told.await);
        Ok(())
    }

    /// It was not to be: what has waited is decided.
    pub(crate) fn go_on(&self) {
        // A loop that has ended decides nothing.
        drop(self.inbox.send(Message::GoOn));
    }

    /// Ends the loop; returns once it has ended, with where the journal ends if it could tell.
    pub(crate) async fn stop(&self) -> Option<Head> {
        let (reply, receiver) = oneshot::channel();
        self.inbox.send(Message::Stop(reply)).ok()?;
        // An error means that the loop has ended without an answer, which is what was asked.
        receiver.await.ok()
    }

    fn send(&self, message: Message) -> Result<(), Unavailable> {
        self.inbox.send(message).map_err(|_| Unavailable::ShuttingDown)
    }

    async fn room(&self, commands: usize) -> Result<Room, Unavailable> {
        tokio::time::timeout(ROOM_WAIT, self.permits(commands))
            .await
            .unwrap_or(Err(Unavailable::Busy))
    }

    async fn permits(&self, commands: usize) -> Result<Room, Unavailable> {
        let permits = u32::try_from(commands.clamp(1, INBOX_COMMANDS_MAX)).unwrap_or(u32::MAX);
        let acquired = self.room.clone().acquire_many_owned(permits).await;
        acquired.map_err(|_| Unavailable::ShuttingDown)
    }
}

/// The room that a command takes: a submission counts its jobs.
fn weight(command: &Command) -> usize {
    match command {
        Command::Submit(submission) => submission.jobs.len(),
        _ => 1,
    }
}
