//! Looks for jobs of the flood that were acknowledged and of whose end no worker was told, as when
//! the scheduler was killed right after it had taken the result.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bellwether_sdk::{Client, ClientError};
use tokio::sync::watch;

use super::ledger::Ledger;
use super::promises::Promises;

/// A job that was acknowledged two of these ago is looked for.
const INTERVAL: Duration = Duration::from_secs(5);
/// At the end.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Jobs that are asked for in one go; the others wait for the next.
const ASKED_MAX: usize = 500;

#[derive(Debug)]
pub(super) struct Finder {
    pub(super) client: Client,
    pub(super) ledger: Arc<Ledger>,
    pub(super) promises: Arc<Promises>,
    /// All below have ended.
    pub(super) settled: u64,
}

impl Finder {
    /// Until it is told to stop, when nothing more is submitted.
    pub(super) async fn run(mut self, mut stopping: watch::Receiver<bool>) -> Finder {
        let mut sent = self.ledger.sent_up_to();
        while !*stopping.borrow() {
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                _ = stopping.changed() => break,
            }
            let old = std::mem::replace(&mut sent, self.ledger.sent_up_to());
            let begun = Instant::now();
            if let Err(error) = self.look(old).await
                && self.promises.is_calm_since(begun)
            {
                self.promises.broken(format!("error: a job can't be looked up: {error}"));
            }
        }
        self
    }

    /// Waits until all have ended; the rest is told.
    pub(super) async fn finish(&mut self, within: Duration) -> Result<(), ClientError> {
        let deadline = Instant::now() + within;
        loop {
            let late = Instant::now() > deadline;
            match self.look(self.ledger.sent_up_to()).await {
                Ok(0) => return Ok(()),
                Err(error) if late => return Err(error),
                // The history may have to catch up.
                Ok(_) | Err(_) => {}
            }
            if late {
                let open = self.ledger.open(self.settled..self.ledger.sent_up_to());
                let open: Vec<_> = open.take(ASKED_MAX).collect();
                self.promises.broken(format!(
                    "terminal_after_heal: {within:?} later {open:?} have not ended"
                ));
                return Ok(());
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// How many have not ended.
    async fn look(&mut self, up_to: u64) -> Result<usize, ClientError> {
        let open: Vec<u64> = self.ledger.open(self.settled..up_to).take(ASKED_MAX).collect();
        let mut still_open = Vec::new();
        // The history knows of them there; what it does not know now, it may know a moment later.
        let position = self.client.status().await?.position;
        for number in &open {
            let Some(id) = self.ledger.id(*number) else { continue };
            match self.client.job(&id, position).await {
                Ok(job) if job.has_ended() => self.ledger.confirm(*number),
                Ok(_) => still_open.push(*number),
                Err(error) if error.code() == Some("unknown_job") => {
                    self.promises.broken(format!("acked_is_kept: {id} is lost"));
                    self.ledger.confirm(*number);
                }
                Err(error) => return Err(error),
            }
        }
        let beyond = if open.len() < ASKED_MAX { up_to } else { open[open.len() - 1] };
        self.settled = still_open.first().copied().unwrap_or(beyond);
        Ok(still_open.len() + usize::from(beyond < up_to))
    }
}
