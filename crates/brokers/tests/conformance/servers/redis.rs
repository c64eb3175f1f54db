//! `redis-server`, with every command on the disk before it is answered.

use std::process::Command;

use anyhow::Result;
use bellwether_brokers::{Backend, Credentials, DispatchBy, RedisSettings};
use tempfile::TempDir;

use super::process::Process;
use super::{free_port, loopback, web_server};
use crate::bed::{Bed, Pause};

const DATABASE: i64 = 1;

pub(crate) struct Redis {
    server: Process,
    port: u16,
    data: TempDir,
}

impl Redis {
    pub(crate) fn start() -> Result<Self> {
        let (port, data) = (free_port()?, tempfile::tempdir()?);
        Ok(Self { server: launch(port, &data)?, port, data })
    }

    /// For a client of its own.
    pub(crate) fn url(&self) -> String {
        format!("redis://:secret@127.0.0.1:{}/{DATABASE}", self.port)
    }
}

fn launch(port: u16, data: &TempDir) -> Result<Process> {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--requirepass", "secret"]);
    command.arg("--dir").arg(data.path());
    Process::start(&mut command)?.ready(port)
}

fn settings(port: u16, password: &str) -> Backend {
    Backend::Redis(RedisSettings {
        address: loopback(port),
        db: DATABASE,
        credentials: Some(Credentials { user: None, password: password.to_owned() }),
        tls: None,
        dispatch_by: DispatchBy::Stream,
        trim: true,
    })
}

impl Bed for Redis {
    fn name(&self) -> &'static str {
        "redis"
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
