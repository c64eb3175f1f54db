//! `redis-server`, with every command on the disk before it is answered.

use std::process::Command;

use anyhow::Result;
use bellwether_brokers::{Backend, Credentials, DispatchBy, RedisSettings, Tls};
use bellwether_testbed::{Pause, Ports, Process};
use tempfile::TempDir;

use super::certificate::Certificate;
use super::{loopback, web_server};
use crate::bed::{Bed, Encrypted};

const DATABASE: i64 = 1;

pub(crate) struct Redis {
    server: Process,
    port: u16,
    tls_port: u16,
    _ports: Ports,
    certificate: Certificate,
    data: TempDir,
}

impl Redis {
    pub(crate) fn start() -> Result<Self> {
        let (ports, data) = (Ports::reserve()?, tempfile::tempdir()?);
        let (port, tls_port) = (ports.first, ports.first + 1);
        let certificate = Certificate::make(data.path())?;
        let server = launch(port, tls_port, &certificate, &data)?;
        Ok(Self { server, port, tls_port, _ports: ports, certificate, data })
    }

    /// For a client of its own.
    pub(crate) fn url(&self) -> String {
        format!("redis://:secret@127.0.0.1:{}/{DATABASE}", self.port)
    }
}

fn launch(port: u16, tls_port: u16, certificate: &Certificate, data: &TempDir) -> Result<Process> {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--requirepass", "secret"]);
    command.args(["--tls-port", &tls_port.to_string(), "--tls-auth-clients", "no"]);
    command.arg("--tls-cert-file").arg(&certificate.certificate);
    command.arg("--tls-key-file").arg(&certificate.key);
    command.arg("--tls-ca-cert-file").arg(&certificate.certificate);
    command.arg("--dir").arg(data.path());
    Ok(Process::start(&mut command)?.ready(port)?)
}

fn settings(port: u16, password: &str, tls: Option<Tls>) -> Backend {
    Backend::Redis(RedisSettings {
        address: loopback(port),
        db: DATABASE,
        credentials: Some(Credentials { user: None, password: password.to_owned() }),
        tls,
        dispatch_by: DispatchBy::Stream,
        trim: true,
    })
}

impl Bed for Redis {
    fn name(&self) -> &'static str {
        "redis"
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
        let to = |tls: Tls| settings(self.tls_port, "secret", Some(tls));
        let (trusted, unknown) = (to(self.certificate.trusted()), to(Tls::default()));
        Ok(Some(Encrypted { trusted, unknown }))
    }

    fn crash(&mut self) -> Result<()> {
        self.server.kill()?;
        self.server = launch(self.port, self.tls_port, &self.certificate, &self.data)?;
        Ok(())
    }

    fn pause(&mut self) -> Result<Pause> {
        Ok(self.server.pause()?)
    }
}
