//! `redis-server` for those who keep something in it.

use std::io;
use std::process::Command;

use tempfile::TempDir;

use crate::ports::Ports;
use crate::process::{Pause, Process};

/// With every command on the disk before it is answered.
const DURABLE: [&str; 4] = ["--appendonly", "yes", "--appendfsync", "always"];

/// Gone when it is dropped, with what it held.
#[derive(Debug)]
pub struct RedisServer {
    server: Process,
    port: u16,
    options: Vec<String>,
    data: TempDir,
    _ports: Ports,
}

impl RedisServer {
    pub fn start() -> io::Result<RedisServer> {
        RedisServer::with(&DURABLE)
    }

    /// With options of the command line instead of those that make it durable.
    pub fn with(options: &[&str]) -> io::Result<RedisServer> {
        let (ports, data) = (Ports::reserve()?, tempfile::tempdir()?);
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        let server = launch(ports.first, &options, &data)?;
        Ok(RedisServer { server, port: ports.first, options, data, _ports: ports })
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    /// Kills it with SIGKILL; [`RedisServer::restart`] brings it back.
    pub fn kill(&mut self) -> io::Result<()> {
        self.server.kill()
    }

    pub fn restart(&mut self) -> io::Result<()> {
        self.server = launch(self.port, &self.options, &self.data)?;
        Ok(())
    }

    /// Where its files are, to be harmed while it does not run.
    pub fn files(&self) -> &std::path::Path {
        self.data.path()
    }

    pub fn pause(&self) -> io::Result<Pause> {
        self.server.pause()
    }
}

fn launch(port: u16, options: &[String], data: &TempDir) -> io::Result<Process> {
    let mut command = Command::new("redis-server");
    command.args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", ""]);
    command.args(options).arg("--dir").arg(data.path());
    Process::start(&mut command)?.ready(port)
}
