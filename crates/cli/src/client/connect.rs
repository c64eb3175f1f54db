//! How a subcommand reaches the scheduler.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_sdk::{Client, ClientIdentity, Security};
use bellwether_wire::private::read_secret;
use clap::Args;

/// Long enough for a scheduler that restarts, short enough for a person who waits.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Args)]
pub(crate) struct Connect {
    /// Address of the scheduler; of several, with commas between them: whoever leads is asked
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
    /// A certificate in our own name, as PEM, where the scheduler asks workers for one (tls.client_ca)
    #[arg(long, env = "BELLWETHER_CERTIFICATE", value_name = "FILE", requires = "certificate_key")]
    certificate: Option<PathBuf>,
    /// Its key, as PEM, in a file that nobody else can read
    #[arg(long, env = "BELLWETHER_CERTIFICATE_KEY", value_name = "FILE", requires = "certificate")]
    certificate_key: Option<PathBuf>,
}

impl Connect {
    pub(crate) fn security(&self) -> anyhow::Result<Security> {
        let pem = |path: &PathBuf| {
            std::fs::read_to_string(path)
                .with_context(|| format!("failed to read the certificate {}", path.display()))
        };
        let ca_certificate = self.ca.as_ref().map(pem).transpose()?;
        let identity = match (&self.certificate, &self.certificate_key) {
            (Some(certificate), Some(key)) => {
                Some(ClientIdentity { certificate: pem(certificate)?, key: read_secret(key)? })
            }
            _ => None,
        };
        let token = self.token_file.as_deref().map(read_secret).transpose()?;
        let token = token.map(|token| token.trim().to_owned());
        Ok(Security { token, ca_certificate, identity })
    }

    pub(crate) fn has_certificate(&self) -> bool {
        self.certificate.is_some()
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
