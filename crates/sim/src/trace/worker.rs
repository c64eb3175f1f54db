//! A simulated worker: slots, what runs in them, and a queue behind them.

use std::collections::{BTreeMap, VecDeque};

use bellwether_core::model::{Heartbeat, HeldAttempt, Token};

/// An attempt, and the position of its job in the stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct Held {
    pub(super) at: usize,
    pub(super) attempt: HeldAttempt,
}

#[derive(Debug)]
pub(super) struct Worker {
    slots: u32,
    running: BTreeMap<Token, Held>,
    queue: VecDeque<Held>,
}

impl Worker {
    pub(super) fn new(slots: u32) -> Worker {
        Worker { slots, running: BTreeMap::new(), queue: VecDeque::new() }
    }

    pub(super) fn take(&mut self, held: Held) {
        self.queue.push_back(held);
    }

    /// The next of the queue, if a slot is free for it: it runs from now on.
    pub(super) fn start_next(&mut self) -> Option<Held> {
        if self.running.len() >= self.slots as usize {
            return None;
        }
        let held = self.queue.pop_front()?;
        self.running.insert(held.attempt.token, held);
        Some(held)
    }

    /// None if the attempt was revoked meanwhile.
    pub(super) fn end(&mut self, token: Token) -> Option<Held> {
        self.running.remove(&token)
    }

    /// Whether the attempt was running.
    pub(super) fn revoke(&mut self, token: Token) -> bool {
        self.queue.retain(|held| held.attempt.token != token);
        self.running.remove(&token).is_some()
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.running.is_empty()
    }

    pub(super) fn heartbeat(&self) -> Heartbeat {
        let load_permille = self.running.len() as u32 * 1_000 / self.slots;
        Heartbeat {
            cpu_permille: load_permille,
            memory_permille: 0,
            load_permille,
            queue_depth: self.queue.len() as u32,
            overloaded: false,
        }
    }
}
