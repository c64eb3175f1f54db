//! A broker's server of its own: a child process on loopback ports of its own, with its data in a
//! temporary folder. It ends with whoever started it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use bellwether_brokers::{
    Address, Backend, DispatchBy, NatsSettings, QueueKind, RabbitMqSettings, RedisSettings,
    Settings, Side, SqliteSettings, ZeroMqSettings,
};
use bellwether_testbed::Ports;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

/// RabbitMQ takes its time, on a busy machine much of it.
const START_WITHIN: Duration = Duration::from_secs(90);
const PULSE: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Redis,
    RabbitMq,
    Nats,
    ZeroMq,
    Sqlite,
}

impl Kind {
    /// As in the configuration.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Redis => "redis",
            Kind::RabbitMq => "rabbitmq",
            Kind::Nats => "nats",
            Kind::ZeroMq => "zeromq",
            Kind::Sqlite => "sqlite",
        }
    }
}

#[derive(Debug)]
pub struct BrokerServer {
    pub kind: Kind,
    folder: tempfile::TempDir,
    /// ZeroMQ binds three of them; RabbitMQ one for clients, one for other nodes and one for its
    /// name service.
    ports: Ports,
    /// The server, and before it what it needs; none for what has no server.
    processes: Vec<Group>,
}

/// A process with all that it starts, killed when dropped.
#[derive(Debug)]
struct Group(Child);

impl BrokerServer {
    /// In a folder inside of `parent`, so that it is on the disk that is meant.
    ///
    /// # Errors
    /// When it does not start, with what it said.
    pub async fn start(kind: Kind, parent: &Path) -> Result<BrokerServer> {
        let folder = tempfile::Builder::new().prefix(".broker-").tempdir_in(parent)?;
        let mut server =
            BrokerServer { kind, folder, ports: Ports::reserve()?, processes: Vec::new() };
        server.launch().await?;
        Ok(server)
    }

    /// Ends the server, and waits until it has ended; it may be launched again.
    ///
    /// # Errors
    /// When it can't be waited for.
    pub async fn end(&mut self, signal: Signal) -> Result<()> {
        // The name service of RabbitMQ stays: it is another program.
        if let Some(mut server) = self.processes.pop() {
            server.signal(signal);
            server.0.wait().await?;
        }
        Ok(())
    }

    /// Starts it, or starts it again on the same data.
    ///
    /// # Errors
    /// When it does not become usable in time, with what it said.
    pub async fn launch(&mut self) -> Result<()> {
        match self.kind {
            Kind::Redis => self.spawn(self.redis())?,
            Kind::Nats => self.spawn(self.nats())?,
            Kind::RabbitMq => {
                if self.processes.is_empty() {
                    self.spawn(self.epmd())?;
                }
                let rabbitmq = self.rabbitmq()?;
                self.spawn(rabbitmq)?;
            }
            // The scheduler itself is the server.
            Kind::ZeroMq | Kind::Sqlite => return Ok(()),
        }
        self.ready().await
    }

    async fn ready(&mut self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let broker = bellwether_brokers::open(self.settings(Side::Outside))?;
            let report = broker.check().await;
            if report.usable() {
                return Ok(());
            }
            let server = self.processes.last_mut().context("it was started")?;
            if let Some(status) = server.0.try_wait()? {
                bail!("{} ended: {status}; {}", self.kind.name(), self.log());
            }
            if begun.elapsed() > START_WITHIN {
                bail!("{} did not become usable: {report}; {}", self.kind.name(), self.log());
            }
            tokio::time::sleep(PULSE).await;
        }
    }

    #[must_use]
    pub fn settings(&self, side: Side) -> Settings {
        let address = Address { host: "127.0.0.1".to_owned(), port: self.port() };
        let backend = match self.kind {
            Kind::Redis => Backend::Redis(RedisSettings {
                address,
                db: 1,
                credentials: None,
                tls: None,
                dispatch_by: DispatchBy::Stream,
                trim: true,
            }),
            Kind::RabbitMq => Backend::RabbitMq(RabbitMqSettings {
                address,
                virtual_host: "/".to_owned(),
                credentials: None,
                tls: None,
                queues: QueueKind::Quorum,
            }),
            Kind::Nats => Backend::Nats(NatsSettings { address, credentials: None, tls: None }),
            Kind::ZeroMq => Backend::ZeroMq(ZeroMqSettings { address }),
            Kind::Sqlite => Backend::Sqlite(SqliteSettings { path: self.path("queue.db") }),
        };
        let mut settings = Settings::new(backend);
        settings.side = side;
        settings
    }

    /// The value of `queue` for a scheduler.
    #[must_use]
    pub fn config(&self) -> String {
        let backend = self.kind.name();
        match self.kind {
            Kind::Redis => format!("{{backend: redis, port: {}, db: 1}}", self.port()),
            Kind::RabbitMq | Kind::Nats | Kind::ZeroMq => {
                format!("{{backend: {backend}, port: {}}}", self.port())
            }
            Kind::Sqlite => {
                format!("{{backend: sqlite, path: {:?}}}", self.path("queue.db").display())
            }
        }
    }

    /// Where clients connect.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.ports.first
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    fn spawn(&mut self, mut command: Command) -> Result<()> {
        let log = File::options().create(true).append(true).open(self.path("log"))?;
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .process_group(0)
            .kill_on_drop(true);
        let name = command.as_std().get_program().to_string_lossy().into_owned();
        let child = command.spawn().with_context(|| format!("failed to start {name}"))?;
        self.processes.push(Group(child));
        Ok(())
    }

    fn redis(&self) -> Command {
        let mut command = Command::new("redis-server");
        command
            .args(["--port", &self.port().to_string(), "--bind", "127.0.0.1", "--dir"])
            .arg(self.folder.path())
            .args(["--save", "", "--appendonly", "yes", "--appendfsync", "always"]);
        command
    }

    fn nats(&self) -> Command {
        let mut command = Command::new("nats-server");
        command
            .args(["-a", "127.0.0.1", "-p", &self.port().to_string(), "-js", "-sd"])
            .arg(self.folder.path());
        command
    }

    /// One of our own: RabbitMQ would leave the one that it starts behind.
    fn epmd(&self) -> Command {
        let mut command = Command::new("epmd");
        command.args(["-port", &(self.port() + 2).to_string(), "-address", "127.0.0.1"]);
        command
    }

    fn rabbitmq(&self) -> Result<Command> {
        std::fs::write(self.path("enabled_plugins"), "[].\n")?;
        std::fs::write(self.path("rabbitmq.conf"), "loopback_users = none\n")?;
        // The wrapper in the path changes the user.
        let mut command = Command::new("/usr/lib/rabbitmq/bin/rabbitmq-server");
        command
            .env("HOME", self.folder.path())
            .env("RABBITMQ_NODENAME", format!("bellwether-{}@localhost", self.port()))
            .env("RABBITMQ_NODE_PORT", self.port().to_string())
            .env("RABBITMQ_NODE_IP_ADDRESS", "127.0.0.1")
            .env("RABBITMQ_DIST_PORT", (self.port() + 1).to_string())
            .env("RABBITMQ_MNESIA_BASE", self.path("mnesia"))
            .env("RABBITMQ_LOG_BASE", self.path("logs"))
            .env("RABBITMQ_LOGS", "-")
            .env("RABBITMQ_PID_FILE", self.path("pid"))
            .env("RABBITMQ_CONFIG_FILE", self.path("rabbitmq.conf"))
            .env("RABBITMQ_ENABLED_PLUGINS_FILE", self.path("enabled_plugins"))
            .env("RABBITMQ_CONF_ENV_FILE", "/dev/null")
            .env("ERL_EPMD_PORT", (self.port() + 2).to_string())
            .env("ERL_EPMD_ADDRESS", "127.0.0.1");
        Ok(command)
    }
}

impl Group {
    fn pid(&self) -> Option<Pid> {
        self.0.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?))
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid()
            && let Err(error) = kill_process_group(pid, signal)
        {
            // It has ended already, which is what was wanted.
            tracing::debug!(%error);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

impl Drop for BrokerServer {
    fn drop(&mut self) {
        // The server before what it needs.
        while self.processes.pop().is_some() {}
    }
}
