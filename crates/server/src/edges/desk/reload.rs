//! What may be read again while the scheduler runs: whoever has the files does it, and tells what came
//! of it.

use tokio::sync::{mpsc, oneshot};

/// Wishes that wait to be heard.
const WISHES_MAX: usize = 4;

/// What became of one thing that was to be read again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reloaded {
    pub what: &'static str,
    /// What was done, or why everything is as it was.
    pub outcome: Result<String, String>,
}

impl Reloaded {
    /// As the log has it.
    pub fn log(&self) {
        match &self.outcome {
            Ok(outcome) => tracing::info!(what = self.what, outcome, "read again"),
            Err(why) => {
                tracing::error!(what = self.what, why, "not read again; it stays as it was")
            }
        }
    }
}

/// A wish to have everything read again, to be answered with what came of it.
pub type ReloadWish = oneshot::Sender<Vec<Reloaded>>;

#[derive(Debug, Clone)]
pub(crate) struct Reloads(mpsc::Sender<ReloadWish>);

impl Reloads {
    pub(crate) fn new() -> (Reloads, mpsc::Receiver<ReloadWish>) {
        let (wishes, heard) = mpsc::channel(WISHES_MAX);
        (Reloads(wishes), heard)
    }

    /// None if nobody is there who could.
    pub(crate) async fn wish(&self) -> Option<Vec<Reloaded>> {
        let (wish, answer) = oneshot::channel();
        self.0.send(wish).await.ok()?;
        answer.await.ok()
    }
}
