//! `nats-server` with JetStream.

use std::process::Command;

use anyhow::Result;
use bellwether_brokers::{Backend, Credentials, NatsSettings, Tls};
use bellwether_testbed::{Pause, Ports, Process};
use tempfile::TempDir;

use super::certificate::Certificate;
use super::{loopback, web_server};
use crate::bed::{Bed, Encrypted};

pub(crate) struct Nats {
    server: Process,
    port: u16,
    _ports: Ports,
    certificate: Certificate,
    data: TempDir,
}

impl Nats {
    pub(crate) fn start() -> Result<Self> {
        let (ports, data) = (Ports::reserve()?, tempfile::tempdir()?);
        let port = ports.first;
        let folder = data.path().display();
        let certificate = Certificate::make(data.path())?;
        let config = format!(
            "listen: \"127.0.0.1:{port}\"\n\
             max_payload: 8388608\n\
             jetstream {{ store_dir: \"{folder}\" }}\n\
             authorization {{ user: bellwether, password: secret }}\n\
             tls {{ cert_file: \"{folder}/certificate.pem\", key_file: \"{folder}/key.pem\" }}\n\
             allow_non_tls: true\n"
        );
        std::fs::write(data.path().join("nats.conf"), config)?;
        Ok(Self { server: launch(port, &data)?, port, _ports: ports, certificate, data })
    }

    /// A client of its own.
    pub(crate) async fn client(&self) -> Result<async_nats::Client> {
        let options = async_nats::ConnectOptions::with_user_and_password(
            "bellwether".to_owned(),
            "secret".to_owned(),
        );
        Ok(options.connect(format!("127.0.0.1:{}", self.port)).await?)
    }
}

fn launch(port: u16, data: &TempDir) -> Result<Process> {
    let mut command = Command::new("nats-server");
    command.arg("-c").arg(data.path().join("nats.conf"));
    Ok(Process::start(&mut command)?.ready(port)?)
}

fn settings(port: u16, password: &str, tls: Option<Tls>) -> Backend {
    Backend::Nats(NatsSettings {
        address: loopback(port),
        credentials: Some(Credentials {
            user: Some("bellwether".to_owned()),
            password: password.to_owned(),
        }),
        tls,
    })
}

impl Bed for Nats {
    fn name(&self) -> &'static str {
        "nats"
    }

    fn backend(&mut self, _prefix: &str) -> Result<Backend> {
        Ok(settings(self.port, "secret", None))
    }

    fn without_permission(&mut self) -> Result<Option<Backend>> {
        Ok(Some(settings(self.port, "guessed", None)))
    }

    fn wrong_server(&mut self) -> Result<Backend> {
        Ok(settings(web_server()?, "secret", None))
    }

    fn encrypted(&mut self) -> Result<Option<Encrypted>> {
        let to = |tls: Tls| settings(self.port, "secret", Some(tls));
        let (trusted, unknown) = (to(self.certificate.trusted()), to(Tls::default()));
        Ok(Some(Encrypted { trusted, unknown }))
    }

    fn crash(&mut self) -> Result<()> {
        self.server.kill()?;
        self.server = launch(self.port, &self.data)?;
        Ok(())
    }

    /// A server that removed an acknowledged message and died before it noted the acknowledgement
    /// counts that message for ever, and cannot deliver it. Seen with 2.9.10.
    fn counts_after_a_crash(&self) -> bool {
        false
    }

    fn pause(&mut self) -> Result<Pause> {
        Ok(self.server.pause()?)
    }
}
