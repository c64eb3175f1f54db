//! The configuration that can change while the scheduler runs.

use bellwether_core::Command;
use bellwether_core::model::{Config, Seq};

use super::Desk;
use super::unanswered::Unanswered;
use crate::event_loop::Unavailable;

/// The configuration, and how many it has been.
#[derive(Debug, Clone)]
pub(crate) struct Configured {
    pub(crate) version: u64,
    pub(crate) config: Config,
}

impl Desk {
    pub(crate) async fn config(&self) -> Result<Configured, Unavailable> {
        let seen = self.handle.ask(|view| Configured {
            version: view.state.config_version(),
            config: view.state.config().clone(),
        });
        seen.await
    }

    /// Refused if another version than the expected one holds by now.
    pub(crate) async fn configure(
        &self,
        config: Config,
        expected_version: Option<u64>,
    ) -> Result<Seq, Unanswered> {
        self.command(Command::Configure { config: Box::new(config), expected_version }).await
    }
}
