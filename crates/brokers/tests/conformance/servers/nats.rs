//! `nats-server` with JetStream.

use std::process::Command;

use anyhow::Result;
use bellwether_brokers::{Backend, Credentials, NatsSettings};
use tempfile::TempDir;

use super::process::Process;
use super::{free_port, loopback, web_server};
use crate::bed::{Bed, Pause};

pub(crate) struct Nats {
    server: Process,
    port: u16,
    data: TempDir,
}

impl Nats {
    pub(crate) fn start() -> Result<Self> {
        let (port, data) = (free_port()?, tempfile::tempdir()?);
        let folder = data.path().display();
        let config = format!(
            "listen: \"127.0.0.1:{port}\"\n\
             max_payload: 8388608\n\
             jetstream {{ store_dir: \"{folder}\" }}\n\
             authorization {{ user: bellwether, password: secret }}\n"
        );
        std::fs::write(data.path().join("nats.conf"), config)?;
        Ok(Self { server: launch(port, &data)?, port, data })
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
    Process::start(&mut command)?.ready(port)
}

fn settings(port: u16, password: &str) -> Backend {
    Backend::Nats(NatsSettings {
        address: loopback(port),
        credentials: Some(Credentials {
            user: Some("bellwether".to_owned()),
            password: password.to_owned(),
        }),
        tls: None,
    })
}

impl Bed for Nats {
    fn name(&self) -> &'static str {
        "nats"
    }

    fn backend(&mut self, _prefix: &str) -> Result<Backend> {
        Ok(settings(self.port, "secret"))
    }

    fn without_permission(&mut self) -> Result<Option<Backend>> {
        Ok(Some(settings(self.port, "guessed")))
    }

    fn wrong_server(&mut self) -> Result<Backend> {
        Ok(settings(web_server()?, "secret"))
    }

    fn crash(&mut self) -> Result<()> {
        self.server.kill()?;
        self.server = launch(self.port, &self.data)?;
        Ok(())
    }

    fn pause(&mut self) -> Result<Pause> {
        self.server.pause()
    }
}
