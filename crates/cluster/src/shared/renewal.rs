//! Keeps a lease alive, on a thread of its own: appends may be slow, or none.

use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use bellwether_core::model::{Epoch, Micros};
use bellwether_journal::Lease;

use super::Connect;
use super::options::SharedOptions;
use crate::clock;

/// Ends when it is dropped, and the lease then runs out. A renewal that is under way at that moment
/// may lengthen it once more.
#[derive(Debug)]
pub(super) struct Renewal {
    _stop: Sender<()>,
}

impl Renewal {
    pub(super) fn start(
        connect: Connect,
        epoch: Epoch,
        lease: Lease,
        options: SharedOptions,
    ) -> io::Result<Renewal> {
        let (stop, stopped) = channel();
        std::thread::Builder::new()
            .name("lease".to_owned())
            .spawn(move || run(&connect, epoch, &lease, options, &stopped))?;
        Ok(Renewal { _stop: stop })
    }
}

fn run(
    connect: &Connect,
    epoch: Epoch,
    lease: &Lease,
    options: SharedOptions,
    stopped: &Receiver<()>,
) {
    let mut log = None;
    while wait(stopped, due_in(lease, options)) {
        if due_in(lease, options) > Duration::ZERO {
            // An append has renewed it meanwhile.
            continue;
        }
        let link = match log.take() {
            Some(link) => Ok(link),
            None => connect(),
        };
        // A log that can't be reached is asked again, and the lease runs out in time.
        let Ok(mut link) = link else { continue };
        let asked = clock::now();
        match link.renew(epoch, options.lease) {
            Ok(true) => lease.extend(options.end_of_lease(asked)),
            Ok(false) => return lease.end(),
            Err(_) => continue,
        }
        log = Some(link);
    }
}

/// How long until it was not renewed for as long as it may not be.
fn due_in(lease: &Lease, options: SharedOptions) -> Duration {
    let Micros(fresh) = options.end_of_lease(Micros::ZERO);
    let renewed = lease.ends_at().0.saturating_sub(fresh);
    let due = renewed.saturating_add(clock::micros(options.renew_every).0);
    Duration::from_micros(due.saturating_sub(clock::now().0))
}

/// False once it is to stop. It never returns at once, so that a log that is away is not pestered.
fn wait(stopped: &Receiver<()>, time: Duration) -> bool {
    const LEAST: Duration = Duration::from_millis(10);
    matches!(stopped.recv_timeout(time.max(LEAST)), Err(RecvTimeoutError::Timeout))
}
