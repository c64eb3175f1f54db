//! How a subcommand reaches the scheduler.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::{Client, Security};
use clap::Args;

/// Long enough for a scheduler that restarts, short enough for a person who waits.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Args)]
pub(crate) struct Connect {
    /// Address of the scheduler
    #[arg(
        long,
        env = "BELLWETHER_SERVER",
        value_name = "URL",
        default_value = "http://127.0.0.1:7070"
    )]
    pub(crate) server: String,
    /// Token that says who we are
    #[arg(long, env = "BELLWETHER_TOKEN", value_name = "TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Certificate of the authority that signed the scheduler's, as PEM
    #[arg(long, env = "BELLWETHER_CA", value_name = "FILE")]
    ca: Option<PathBuf>,
}

impl Connect {
    pub(crate) fn security(&self) -> anyhow::Result<Security> {
        let ca_certificate = self
            .ca
            .as_ref()
            .map(|path| {
                std::fs::read_to_string(path)
                    .with_context(|| format!("failed to read the certificate {}", path.display()))
            })
            .transpose()?;
        Ok(Security { token: self.token.clone(), ca_certificate })
    }

    /// Fails at once if nobody is there.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        let builder = Client::builder(&self.server).security(self.security()?).patience(PATIENCE);
        Ok(builder.connect().await?)
    }
}

/// One thread is enough for a client.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?
        .block_on(work)
}
