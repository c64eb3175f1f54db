//! The member and its lease, for all who have something to tell it.
//!
//! What a lease allows changes under one lock with what the member knows: nobody can extend what
//! another has just ended.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bellwether_core::model::{Epoch, Micros};
use bellwether_journal::Lease;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;

use super::bell::Bell;
use crate::clock;
use crate::door::Role;
use crate::member::{Act, Member};

/// Clones are the same board.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    // Calls of others, openraft's tasks, the driver and the journal all have something to tell.
    shared: Arc<Mutex<Sheet>>,
    acts: UnboundedSender<Act>,
    bell: Bell,
}

#[derive(Debug)]
struct Sheet {
    member: Member,
    reign: Option<Accession>,
    broken: Option<String>,
}

/// The right to begin a reign, and what it rests on.
#[derive(Debug, Clone)]
pub(crate) struct Accession {
    pub(crate) epoch: Epoch,
    pub(crate) lease: Lease,
    /// Becomes true when it is over.
    pub(crate) over: Arc<watch::Sender<bool>>,
    applied: bool,
}

impl Board {
    pub(crate) fn new(member: Member, bell: &Bell) -> (Board, UnboundedReceiver<Act>) {
        let (acts, to_do) = unbounded_channel();
        let sheet = Sheet { member, reign: None, broken: None };
        let shared = Arc::new(Mutex::new(sheet));
        (Board { shared, acts, bell: bell.clone() }, to_do)
    }

    /// Tells the member something, and does at once what must not wait.
    pub(crate) fn tell<T>(&self, say: impl FnOnce(&mut Member, Micros) -> T) -> T {
        let mut sheet = self.lock();
        let (role, leader) = (sheet.member.role(), sheet.member.leader());
        let answer = say(&mut sheet.member, clock::now());
        let mut changed = (role, leader) != (sheet.member.role(), sheet.member.leader());
        while let Some(act) = sheet.member.poll() {
            changed |= sheet.perform(act);
            if self.acts.send(act).is_err() {
                // The driver has ended; what must not wait is done all the same.
                continue;
            }
        }
        drop(sheet);
        if changed {
            self.bell.ring();
        }
        answer
    }

    pub(crate) fn look<T>(&self, at: impl FnOnce(&Member) -> T) -> T {
        at(&self.lock().member)
    }

    /// A reign that could begin, once the engine has taken in what was committed before.
    pub(crate) fn accession(&self) -> Option<Accession> {
        self.lock().reign.clone().filter(|reign| reign.applied && !*reign.over.borrow())
    }

    pub(crate) fn break_down(&self, why: String) {
        self.lock().broken.get_or_insert(why);
        self.bell.ring();
    }

    pub(crate) fn broken(&self) -> Option<String> {
        self.lock().broken.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Sheet> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sheet {
    /// Says whether whoever waits should look.
    fn perform(&mut self, act: Act) -> bool {
        match act {
            Act::ExtendLease(until) => {
                if let Some(reign) = self.current() {
                    reign.lease.extend(until);
                }
                // Whoever waits for a lease to begin its reign looks again.
                self.member.role() == Role::Acceding
            }
            Act::Accede(epoch) => {
                if let Some(reign) = self.current().filter(|reign| reign.epoch == epoch) {
                    reign.applied = true;
                }
                true
            }
            Act::EndLease => {
                self.end();
                true
            }
            Act::Ask(_) | Act::Elect | Act::Beat | Act::StepDown(_) => false,
        }
    }
}

impl Sheet {
    /// Of the epoch that the member leads in now.
    fn current(&mut self) -> Option<&mut Accession> {
        let epoch = self.member.leading()?;
        if self.reign.as_ref().is_none_or(|reign| reign.epoch != epoch) {
            self.end();
            self.reign = Some(Accession::new(epoch));
        }
        self.reign.as_mut()
    }

    fn end(&mut self) {
        if let Some(reign) = self.reign.take() {
            reign.lease.end();
            reign.over.send_replace(true);
        }
    }
}

impl Accession {
    fn new(epoch: Epoch) -> Accession {
        let (over, _) = watch::channel(false);
        // Long past, but not ended: that would be for good.
        let lease = Lease::until(Micros(1));
        Accession { epoch, lease, over: Arc::new(over), applied: false }
    }
}
