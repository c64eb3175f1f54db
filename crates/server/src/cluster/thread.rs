//! The thread that takes part in the cluster: what happens there is told to the loop, and what the
//! loop decides about its own reign is done here.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use bellwether_cluster::raft::{MembershipError, RaftHandle};
use bellwether_cluster::{Cluster, ClusterError, ClusterStatus, MemberId, News};
use bellwether_core::Engine;
use bellwether_core::model::Seq;
use bellwether_journal::{Head, JournalThread};
use tokio::sync::{oneshot, watch};

use crate::event_loop::fatal::{self, Fatal};
use crate::event_loop::{Message, recover_until};

/// How long the cluster is waited for before the loop's wishes are looked at.
const PATIENCE: Duration = Duration::from_millis(20);
/// After the others could not be reached.
const PAUSE: Duration = Duration::from_millis(50);
/// News that may wait for the loop.
const NEWS_MAX: usize = 1_024;

/// What the loop is told.
pub(crate) enum Heard {
    News(News),
    /// The reign is over for good: this is what was committed, if what the loop has is ahead of it.
    /// What follows it is told as news.
    Stepped(Option<Box<(Engine, Head)>>),
}

impl std::fmt::Debug for Heard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Heard::News(News::Committed(_)) => "Committed",
            Heard::News(News::Behind(_)) => "Behind",
            Heard::News(News::Leader(_)) => "Leader",
            Heard::News(News::Reign(_)) => "Reign",
            Heard::Stepped(_) => "Stepped",
        })
    }
}

enum Order {
    StepDown { journal: Option<JournalThread>, from: StepFrom },
    Resign { to: Option<MemberId>, done: oneshot::Sender<Result<(), ClusterError>> },
    Truncate { before: Seq },
    Stop,
}

/// Where a scheduler is that steps down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StepFrom {
    /// All that it has decided is committed.
    Committed(Head),
    /// What it has decided behind this position may not have been kept.
    Ahead(Seq),
}

/// The way to the thread.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    orders: Sender<Order>,
    status: watch::Receiver<ClusterStatus>,
    /// None if who takes part is decided elsewhere.
    members: Option<Arc<RaftHandle>>,
}

impl std::fmt::Debug for Order {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Order::StepDown { .. } => "StepDown",
            Order::Resign { .. } => "Resign",
            Order::Truncate { .. } => "Truncate",
            Order::Stop => "Stop",
        })
    }
}

/// What the loop gives back for each piece of news that it has taken in.
#[derive(Debug)]
pub(crate) struct Room(Receiver<()>);

impl Room {
    pub(crate) fn free(&self) {
        // The thread is gone if there is none.
        self.0.try_recv().ok();
    }
}

impl Seat {
    /// Takes part from `head` on, which is where the loop is.
    pub(crate) fn take(
        mut cluster: Box<dyn Cluster>,
        members: Option<Arc<RaftHandle>>,
        head: Head,
        inbox: Sender<Message>,
    ) -> std::io::Result<(Seat, Room)> {
        let (orders, wishes) = channel();
        let (taken, room) = sync_channel(NEWS_MAX);
        let (tell_status, status) = watch::channel(cluster.status());
        cluster.follow(head);
        let member = Member { cluster, inbox, taken, tell_status, unreachable: false };
        std::thread::Builder::new()
            .name("cluster".to_owned())
            .spawn(move || member.run(&wishes))?;
        Ok((Seat { orders, status, members }, Room(room)))
    }

    pub(crate) fn status(&self) -> ClusterStatus {
        self.status.borrow().clone()
    }

    /// The reign is over. The journal is finished with, and the loop hears where to go on from.
    pub(crate) fn step_down(&self, journal: Option<JournalThread>, from: StepFrom) {
        self.order(Order::StepDown { journal, from });
    }

    /// Lets another lead.
    pub(crate) async fn resign(&self, to: Option<MemberId>) -> Result<(), ClusterError> {
        let (done, answer) = oneshot::channel();
        self.order(Order::Resign { to, done });
        let gone = || ClusterError::Unreachable("this scheduler shuts down".to_owned());
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Takes a member out for good; none if that is not decided here.
    pub(crate) async fn remove(&self, id: MemberId) -> Option<Result<(), MembershipError>> {
        let members = self.members.clone()?;
        // It waits for the others.
        let removed = tokio::task::spawn_blocking(move || members.remove(id)).await;
        let failed = |error: tokio::task::JoinError| MembershipError::Failed(error.to_string());
        Some(removed.map_err(failed).flatten())
    }

    /// A state that this scheduler has saved stands for what lies before.
    pub(crate) fn truncate_before(&self, before: Seq) {
        self.order(Order::Truncate { before });
    }

    pub(crate) fn leave(&self) {
        self.order(Order::Stop);
    }

    fn order(&self, order: Order) {
        if self.orders.send(order).is_err() {
            tracing::debug!("the thread of the cluster has ended before");
        }
    }
}

struct Member {
    cluster: Box<dyn Cluster>,
    inbox: Sender<Message>,
    taken: SyncSender<()>,
    tell_status: watch::Sender<ClusterStatus>,
    /// Said once, not with every try.
    unreachable: bool,
}

impl Member {
    fn run(mut self, wishes: &Receiver<Order>) {
        loop {
            while let Ok(order) = wishes.try_recv() {
                match order {
                    Order::StepDown { journal, from } => self.step_down(journal, from),
                    Order::Resign { to, done } => {
                        // Whoever asked may have gone.
                        drop(done.send(self.cluster.resign(to)));
                    }
                    Order::Truncate { before } => {
                        if let Err(error) = self.cluster.truncate_before(before) {
                            tracing::warn!(%error, "the journal keeps more than it needs to");
                        }
                    }
                    Order::Stop => return,
                }
            }
            self.poll();
            let status = self.cluster.status();
            self.tell_status.send_if_modified(|known| {
                let changed = *known != status;
                *known = status;
                changed
            });
        }
    }

    fn poll(&mut self) {
        match self.cluster.poll(PATIENCE) {
            Ok(Some(news)) => {
                self.unreachable = false;
                self.tell(Heard::News(news));
            }
            Ok(None) => self.unreachable = false,
            Err(ClusterError::Unreachable(why)) => {
                if !std::mem::replace(&mut self.unreachable, true) {
                    tracing::warn!(%why, "the other schedulers can't be reached; it is tried again");
                }
                std::thread::sleep(PAUSE);
            }
            Err(ClusterError::Broken(why)) => fatal::end(Fatal::Cluster(why)),
        }
    }

    fn step_down(&mut self, journal: Option<JournalThread>, from: StepFrom) {
        // What it is still writing may be kept, so that must be over before anybody looks.
        drop(journal.map(JournalThread::stop));
        let (head, rebuilt) = match from {
            StepFrom::Committed(head) => (head, None),
            StepFrom::Ahead(known) => {
                let (engine, head) = self.rebuild(known);
                (head, Some(Box::new((engine, head))))
            }
        };
        self.cluster.follow(head);
        self.tell(Heard::Stepped(rebuilt));
    }

    /// The state that the committed records make. There is nothing else to do until it is there.
    fn rebuild(&self, known: Seq) -> (Engine, Head) {
        loop {
            let read = self.cluster.reader().map_err(Into::into);
            match read.and_then(|reader| recover_until(reader.as_ref(), known, None)) {
                Ok(recovered) => return recovered,
                Err(error) => {
                    tracing::warn!(%error, "what is committed can't be read; it is tried again");
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }

    fn tell(&self, heard: Heard) {
        // A loop that has ended wants to hear nothing.
        if self.taken.send(()).is_ok() {
            drop(self.inbox.send(Message::Cluster(heard)));
        }
    }
}
