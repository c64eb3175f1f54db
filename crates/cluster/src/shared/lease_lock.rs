//! A lock in a log that has no other use: whoever has its lease has the lock.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use bellwether_core::model::Epoch;
use bellwether_journal::shared::{Candidate, SharedError, SharedLog};

use super::lock::Lock;
use super::{Connect, SharedOptions};
use crate::clock;

/// Gives the lock back when it is dropped.
#[derive(Debug)]
pub struct LeaseLock {
    /// It is held up to this moment of the monotonic clock.
    until: Arc<AtomicU64>,
    released: Arc<AtomicBool>,
    _stop: Sender<()>,
}

impl LeaseLock {
    /// Tries to get it for this member from now on, on a thread of its own.
    pub fn start(connect: Connect, me: Candidate, options: SharedOptions) -> io::Result<LeaseLock> {
        let (stop, stopped) = channel();
        let (until, released) = (Arc::<AtomicU64>::default(), Arc::<AtomicBool>::default());
        let agent =
            Agent { connect, me, options, until: until.clone(), released: released.clone() };
        std::thread::Builder::new().name("lock".to_owned()).spawn(move || agent.run(&stopped))?;
        Ok(LeaseLock { until, released, _stop: stop })
    }
}

impl Lock for LeaseLock {
    fn is_held(&self) -> bool {
        let holds = clock::now().0 < self.until.load(Ordering::Acquire);
        holds && !self.released.load(Ordering::Acquire)
    }

    fn release(&self) {
        self.released.store(true, Ordering::Release);
    }
}

struct Agent {
    connect: Connect,
    me: Candidate,
    options: SharedOptions,
    until: Arc<AtomicU64>,
    /// The lock is to be given back, and others come first.
    released: Arc<AtomicBool>,
}

impl Agent {
    fn run(&self, stopped: &Receiver<()>) {
        let mut log = None;
        let mut held = None;
        let mut pause = Duration::ZERO;
        while waits(stopped, pause) {
            pause = self.options.poll_every;
            let mut link = match log.take().map_or_else(|| (self.connect)(), Ok) {
                Ok(link) => link,
                // It is asked again, and the lease runs out in time.
                Err(_) => continue,
            };
            match self.contend(link.as_mut(), held) {
                Ok(Turn::Held(epoch)) => {
                    held = Some(epoch);
                    pause = self.options.renew_every;
                }
                Ok(Turn::Others) => held = None,
                Ok(Turn::GivenBack) => {
                    held = None;
                    pause = 2 * self.options.lease;
                }
                Err(error) => {
                    tracing::debug!(%error, "the lock is tried again");
                    continue;
                }
            }
            log = Some(link);
        }
        if let (Some(epoch), Some(mut link)) = (held, log) {
            // Else it runs out.
            drop(link.resign(epoch));
        }
    }

    fn contend(&self, log: &mut dyn SharedLog, held: Option<Epoch>) -> Result<Turn, SharedError> {
        if self.released.load(Ordering::Acquire) {
            self.until.store(0, Ordering::Release);
            if let Some(epoch) = held {
                log.resign(epoch)?;
            }
            self.released.store(false, Ordering::Release);
            return Ok(Turn::GivenBack);
        }
        let asked = clock::now();
        let epoch = match held {
            Some(epoch) if log.renew(epoch, self.options.lease)? => epoch,
            Some(_) => return Ok(Turn::Others),
            None => match log.accede(&self.me, Epoch(0), self.options.lease)? {
                Some((epoch, _)) => epoch,
                None => return Ok(Turn::Others),
            },
        };
        self.until.store(self.options.end_of_lease(asked).0, Ordering::Release);
        Ok(Turn::Held(epoch))
    }
}

enum Turn {
    Held(Epoch),
    /// Another has it.
    Others,
    GivenBack,
}

/// False once it is to stop.
fn waits(stopped: &Receiver<()>, time: Duration) -> bool {
    matches!(stopped.recv_timeout(time), Err(RecvTimeoutError::Timeout))
}
