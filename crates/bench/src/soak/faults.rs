//! Breaks schedulers and workers, one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bellwether_testbed::{Random, WallClock};
use tokio::sync::watch;

use super::account::WorkerNo;
use super::fleet::Fleet;
use super::options::Fault;
use super::promises::Promises;
use super::site::Site;

/// A worker that is silent for so long is given up, where faults are made.
pub(super) const LEASE: Duration = Duration::from_secs(5);
/// A pause is so much longer than the lease, and up to twice that.
const PAUSE_PAST_LEASE: Duration = Duration::from_secs(1);
/// How far the clock is set from what it should show, forwards or back.
const AHEAD_SECONDS_MAX: u64 = 24 * 3_600;

#[derive(Debug)]
pub(super) struct Injector {
    pub(super) site: Site,
    pub(super) fleet: Fleet,
    pub(super) clock: Option<WallClock>,
    /// What the clock was set to, in seconds.
    pub(super) ahead: i64,
    pub(super) promises: Arc<Promises>,
    pub(super) faults: Vec<Fault>,
    pub(super) every: Duration,
    pub(super) random: Random,
    pub(super) done: watch::Sender<BTreeMap<&'static str, u64>>,
}

impl Injector {
    /// Until it is told to stop; then everything runs.
    pub(super) async fn run(
        mut self,
        mut stopping: watch::Receiver<bool>,
    ) -> anyhow::Result<Injector> {
        while !*stopping.borrow() {
            let pause = self.every.mul_f64(0.5 + self.random.below(1_000) as f64 / 1_000.0);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                _ = stopping.changed() => break,
            }
            if !self.faults.is_empty() {
                let fault = self.faults[self.random.below(self.faults.len() as u64) as usize];
                self.inject(fault).await?;
            }
        }
        Ok(self)
    }

    async fn inject(&mut self, fault: Fault) -> anyhow::Result<()> {
        let worker = WorkerNo(self.random.below(Fleet::size() as u64) as usize);
        let extra = self.random.below(PAUSE_PAST_LEASE.as_millis() as u64);
        let pause = LEASE + PAUSE_PAST_LEASE + Duration::from_millis(extra);
        match fault {
            Fault::KillScheduler => {
                self.promises.disturb();
                self.site.kill_and_start().await?;
            }
            Fault::PauseScheduler => {
                self.promises.disturb();
                self.site.pause(pause).await?;
            }
            Fault::KillWorker => self.fleet.kill_and_start(worker).await?,
            Fault::PauseWorker => self.fleet.pause(worker, pause).await?,
            Fault::Clock => {
                let Some(clock) = &mut self.clock else { return Ok(()) };
                self.promises.disturb();
                let ahead = self.random.below(2 * AHEAD_SECONDS_MAX) as i64;
                let ahead = ahead - AHEAD_SECONDS_MAX as i64;
                clock.step(ahead - self.ahead)?;
                self.ahead = ahead;
            }
            // They are there all the time.
            Fault::SlowReaders | Fault::Webhooks => return Ok(()),
        }
        self.promises.disturbance_over();
        self.done.send_modify(|done| *done.entry(fault.name()).or_default() += 1);
        Ok(())
    }
}
