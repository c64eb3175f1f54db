//! `rabbitmq-server`, with a port mapper of its own: else the first one started stays for ever.

use std::process::Command;

use anyhow::{Result, ensure};
use bellwether_brokers::{Backend, Credentials, QueueKind, RabbitMqSettings, Tls};
use bellwether_testbed::{Pause, Ports as Reserved, Process};
use tempfile::TempDir;

use super::certificate::Certificate;
use super::{loopback, web_server};
use crate::bed::{Bed, Encrypted};

/// Not the wrappers in /usr/sbin, which change the user.
const SERVER: &str = "/usr/lib/rabbitmq/bin/rabbitmq-server";
const CONTROL: &str = "/usr/lib/rabbitmq/bin/rabbitmqctl";

pub(crate) struct RabbitMq {
    // Ends before its port mapper.
    server: Process,
    _mapper: Process,
    ports: Ports,
    _reserved: Reserved,
    certificate: Certificate,
    data: TempDir,
}

#[derive(Clone, Copy)]
struct Ports {
    server: u16,
    tls: u16,
    distribution: u16,
    mapper: u16,
}

impl RabbitMq {
    pub(crate) fn start() -> Result<Self> {
        let reserved = Reserved::reserve()?;
        let ports = Ports {
            server: reserved.first,
            tls: reserved.first + 1,
            distribution: reserved.first + 2,
            mapper: reserved.first + 3,
        };
        let data = tempfile::tempdir()?;
        let certificate = Certificate::make(data.path())?;
        let config = format!(
            "listeners.ssl.default = 127.0.0.1:{}\n\
             ssl_options.certfile = {}\n\
             ssl_options.keyfile = {}\n\
             ssl_options.verify = verify_none\n",
            ports.tls,
            certificate.certificate.display(),
            certificate.key.display()
        );
        std::fs::write(data.path().join("rabbitmq.conf"), config)?;
        std::fs::write(data.path().join("enabled_plugins"), "[].")?;
        let mut mapper = Command::new("epmd");
        mapper.args(["-port", &ports.mapper.to_string(), "-address", "127.0.0.1"]);
        let mapper = Process::start(&mut mapper)?.ready(ports.mapper)?;
        let server = launch(ports, &data)?;
        Ok(Self { server, _mapper: mapper, ports, _reserved: reserved, certificate, data })
    }

    pub(crate) fn url(&self) -> String {
        format!("amqp://guest:guest@127.0.0.1:{}/%2f", self.ports.server)
    }
}

fn settings(port: u16, password: &str, queues: QueueKind) -> Backend {
    Backend::RabbitMq(RabbitMqSettings {
        address: loopback(port),
        virtual_host: "/".to_owned(),
        credentials: Some(Credentials {
            user: Some("guest".to_owned()),
            password: password.to_owned(),
        }),
        tls: None,
        queues,
    })
}

fn launch(ports: Ports, data: &TempDir) -> Result<Process> {
    Ok(Process::start(&mut command(SERVER, ports, data))?.ready(ports.server)?)
}

/// The server may confirm messages in a new queue before it has written down that there is one.
/// Whoever kills it then loses that queue, whatever is in it.
fn write_down_queues(ports: Ports, data: &TempDir) -> Result<()> {
    let output =
        command(CONTROL, ports, data).args(["--quiet", "eval", "mnesia:sync_log()."]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn command(program: &str, ports: Ports, data: &TempDir) -> Command {
    let folder = data.path();
    let mut command = Command::new(program);
    command
        .env("HOME", folder)
        .env("RABBITMQ_NODENAME", format!("test-{}@localhost", ports.server))
        .env("RABBITMQ_NODE_PORT", ports.server.to_string())
        .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
        .env("RABBITMQ_DIST_PORT", ports.distribution.to_string())
        .env("RABBITMQ_MNESIA_BASE", folder.join("mnesia"))
        .env("RABBITMQ_LOG_BASE", folder.join("log"))
        .env("RABBITMQ_LOGS", "-")
        .env("RABBITMQ_PID_FILE", folder.join("pid"))
        .env("RABBITMQ_CONFIG_FILE", folder.join("rabbitmq.conf"))
        .env("RABBITMQ_ENABLED_PLUGINS_FILE", folder.join("enabled_plugins"))
        .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
        .env("ERL_EPMD_PORT", ports.mapper.to_string())
        .env("ERL_EPMD_ADDRESS", "127.0.0.1");
    command
}

impl Bed for RabbitMq {
    fn name(&self) -> &'static str {
        "rabbitmq"
    }

    fn backend(&mut self, _prefix: &str) -> Result<Backend> {
        Ok(settings(self.ports.server, "guest", QueueKind::Quorum))
    }

    fn backend_with_priorities(&mut self) -> Result<Option<Backend>> {
        Ok(Some(settings(self.ports.server, "guest", QueueKind::Classic)))
    }

    fn without_permission(&mut self) -> Result<Option<Backend>> {
        Ok(Some(settings(self.ports.server, "guessed", QueueKind::Quorum)))
    }

    fn wrong_server(&mut self) -> Result<Backend> {
        Ok(settings(web_server()?, "guest", QueueKind::Quorum))
    }

    fn encrypted(&mut self) -> Result<Option<Encrypted>> {
        let to = |tls: Tls| match settings(self.ports.tls, "guest", QueueKind::Quorum) {
            Backend::RabbitMq(settings) => {
                Backend::RabbitMq(RabbitMqSettings { tls: Some(tls), ..settings })
            }
            other => other,
        };
        let (trusted, unknown) = (to(self.certificate.trusted()), to(Tls::default()));
        Ok(Some(Encrypted { trusted, unknown }))
    }

    fn crash(&mut self) -> Result<()> {
        write_down_queues(self.ports, &self.data)?;
        self.server.kill()?;
        self.server = launch(self.ports, &self.data)?;
        Ok(())
    }

    fn crashes_under_load(&self) -> usize {
        1
    }

    fn pause(&mut self) -> Result<Pause> {
        Ok(self.server.pause()?)
    }
}
