//! How a subcommand reaches the scheduler.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::{Client, Security};
use bellwether_wire::private::read_secret;
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
    /// File with the token that says who we are. Without it, that is the variable BELLWETHER_TOKEN, or
    /// the token that a scheduler of this user on this machine has made
    #[arg(long, env = "BELLWETHER_TOKEN_FILE", value_name = "FILE")]
    token_file: Option<PathBuf>,
    #[arg(long, hide = true, value_parser = refuse_token)]
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
        let token = self.token_file.as_deref().map(read_secret).transpose()?;
        let token = token.map(|token| token.trim().to_owned());
        Ok(Security { token, ca_certificate })
    }

    /// Fails at once if nobody is there.
    pub(crate) async fn client(&self) -> anyhow::Result<Client> {
        let builder = Client::builder(&self.server).security(self.security()?).patience(PATIENCE);
        Ok(builder.connect().await?)
    }
}

/// The command line of a process can be read by every user of the machine.
fn refuse_token(_: &str) -> Result<String, &'static str> {
    Err("everybody on this machine can read it there; give --token-file FILE or BELLWETHER_TOKEN")
}

/// One thread is enough for a client.
pub(crate) fn block_on<T>(work: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("failed to start the runtime")?
        .block_on(work)
}
