//! Several schedulers as child processes, that keep one journal together or have it in a server of their
//! own.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use bellwether_sdk::{Backoff, Client, Security, Worker, WorkerBuilder, v1};
use bellwether_testbed::{Ports, PostgresServer, RedisServer, ZooKeeperServer, signal};
use clap::ValueEnum;
use rustix::process::Signal;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

/// Longer than anything here should take on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);
const PULSE: Duration = Duration::from_millis(10);
/// Clients and workers come back at once: there is no time to lose.
const BACKOFF: Backoff =
    Backoff { first: Duration::from_millis(5), most: Duration::from_millis(40) };

/// Where the schedulers have their journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Journal {
    /// Each keeps it, and they agree among themselves
    Raft,
    /// In a Redis server; it needs redis-server
    Redis,
    /// In a PostgreSQL database; it needs PostgreSQL 15
    Postgres,
    /// In a Redis server, with a lock in ZooKeeper that elects; it needs both
    ZooKeeper,
}

/// The server that they share, if there is one.
#[derive(Debug)]
enum Shared {
    Nothing,
    Redis(RedisServer),
    Postgres(PostgresServer),
    ZooKeeper(RedisServer, ZooKeeperServer),
}

impl Shared {
    fn start(journal: Journal) -> Result<Shared> {
        Ok(match journal {
            Journal::Raft => Shared::Nothing,
            Journal::Redis => {
                Shared::Redis(RedisServer::start().context("redis-server is needed")?)
            }
            Journal::Postgres => {
                Shared::Postgres(PostgresServer::start().context("PostgreSQL is needed")?)
            }
            Journal::ZooKeeper => Shared::ZooKeeper(
                RedisServer::start().context("redis-server is needed")?,
                ZooKeeperServer::start().context("ZooKeeper and Java are needed")?,
            ),
        })
    }

    /// The settings of those who use it.
    fn settings(&self) -> Vec<(&'static str, String)> {
        let (journal, url) = match self {
            Shared::Nothing => ("raft", None),
            Shared::Redis(server) => ("redis", Some(server.url())),
            Shared::Postgres(server) => ("postgres", Some(server.url())),
            Shared::ZooKeeper(server, _) => ("redis", Some(server.url())),
        };
        let mut settings = vec![("BELLWETHER_JOURNAL", journal.to_owned())];
        settings.extend(url.map(|url| ("BELLWETHER_CLUSTER_URL", url)));
        if let Shared::ZooKeeper(_, server) = self {
            settings.push(("BELLWETHER_CLUSTER_LOCK", "zookeeper".to_owned()));
            settings.push(("BELLWETHER_CLUSTER_LOCK_URL", server.address()));
        }
        settings
    }
}

/// Where a scheduler runs that is not beside the others.
#[derive(Debug)]
pub struct Ground {
    /// What its commands begin with.
    pub prefix: Vec<String>,
    /// Where clients and workers reach it, and where other members do.
    pub clients: IpAddr,
    pub peers: IpAddr,
}

/// And what all of them need to know and show there.
#[derive(Debug, Default)]
pub struct Grounds {
    /// None: all are on loopback.
    pub members: Vec<Ground>,
    pub settings: Vec<(&'static str, String)>,
    pub security: Security,
}

#[derive(Debug)]
pub struct Cluster {
    binary: PathBuf,
    shared: Shared,
    grounds: Grounds,
    folder: TempDir,
    members: Vec<Member>,
}

#[derive(Debug)]
struct Member {
    data_dir: PathBuf,
    grpc: SocketAddr,
    http: SocketAddr,
    peers: SocketAddr,
    process: Option<Child>,
    _ports: Ports,
}

impl Cluster {
    /// So many schedulers that serve, of which one leads. The binary understands `serve`, `cluster` and
    /// `token`.
    ///
    /// # Errors
    /// When the server that they share or one of them does not start.
    pub async fn start(binary: &Path, journal: Journal, count: usize) -> Result<Cluster> {
        Cluster::begin(binary, journal, Grounds::default(), count).await
    }

    /// The same with settings besides, as variables.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub async fn start_with(
        binary: &Path,
        journal: Journal,
        count: usize,
        settings: Vec<(&'static str, String)>,
    ) -> Result<Cluster> {
        let grounds = Grounds { settings, ..Grounds::default() };
        Cluster::begin(binary, journal, grounds, count).await
    }

    /// One on each of the grounds.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub async fn start_on(binary: &Path, journal: Journal, grounds: Grounds) -> Result<Cluster> {
        let count = grounds.members.len();
        Cluster::begin(binary, journal, grounds, count).await
    }

    async fn begin(
        binary: &Path,
        journal: Journal,
        grounds: Grounds,
        count: usize,
    ) -> Result<Cluster> {
        let shared = Shared::start(journal)?;
        let (binary, folder) = (binary.to_owned(), tempfile::tempdir()?);
        let mut cluster = Cluster { binary, shared, grounds, folder, members: Vec::new() };
        for _ in 0..count {
            cluster.add().await?;
        }
        cluster.leader().await?;
        cluster.until_votes(count).await?;
        Ok(cluster)
    }

    /// One more scheduler, which serves.
    pub async fn add(&mut self) -> Result<usize> {
        let (number, ports) = (self.members.len(), Ports::reserve()?);
        let ground = self.grounds.members.get(number);
        let own = IpAddr::from([127, 0, 0, 1]);
        let (clients, peers) = ground.map_or((own, own), |ground| (ground.clients, ground.peers));
        self.members.push(Member {
            data_dir: self.folder.path().join(format!("data-{number}")),
            grpc: SocketAddr::new(clients, ports.first),
            http: SocketAddr::new(clients, ports.first + 1),
            peers: SocketAddr::new(peers, ports.first + 2),
            process: None,
            _ports: ports,
        });
        if let Shared::Nothing = self.shared {
            self.enroll(number).await?;
        }
        self.launch(number).await?;
        Ok(number)
    }

    /// Makes it a member of those who keep the journal themselves; the first one begins it.
    async fn enroll(&self, number: usize) -> Result<()> {
        let mut command = self.command(number);
        command.arg("cluster");
        let first = self.living().next().map(|first| &self.members[first]);
        match first {
            None => command.arg("init"),
            Some(first) => command
                .args(["join", &first.peers.to_string(), "--cluster-token"])
                .arg(first.data_dir.join("raft/token")),
        };
        let output = command.output().await?;
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "scheduler {number} is no member: {words}");
        Ok(())
    }

    /// Waits until all that live know of so many that vote: whoever keeps the journal with others counts
    /// once it has caught up.
    pub async fn until_votes(&self, count: usize) -> Result<()> {
        let Shared::Nothing = self.shared else { return Ok(()) };
        let begun = Instant::now();
        let mut seen = Vec::new();
        while begun.elapsed() < DEADLINE {
            seen.clear();
            for number in self.living() {
                let told = self.told(number).await?;
                seen.push(told.members.iter().filter(|member| member.votes).count());
            }
            if seen.iter().all(|votes| *votes == count) {
                return Ok(());
            }
            tokio::time::sleep(PULSE).await;
        }
        bail!("not {count} of them vote but {seen:?}: {}", self.all_words()?)
    }

    /// Its number among the others.
    pub async fn member(&self, number: usize) -> Result<u32> {
        Ok(self.told(number).await?.member)
    }

    async fn told(&self, number: usize) -> Result<v1::ListMembersResponse> {
        let (_, told) = self.client_of(number)?.members().await.pop().context("it was asked")?;
        Ok(told?)
    }

    /// Kills the server that they share, as kill -9 does, and starts it again on what it had kept.
    pub fn restart_shared(&mut self) -> Result<()> {
        match &mut self.shared {
            Shared::Nothing => bail!("they share no server"),
            Shared::Redis(server) | Shared::ZooKeeper(server, _) => {
                server.kill()?;
                server.restart()?;
            }
            Shared::Postgres(server) => {
                server.kill()?;
                server.restart()?;
            }
        }
        Ok(())
    }

    /// As a disk that is replaced.
    pub fn wipe(&self, number: usize) -> Result<()> {
        Ok(std::fs::remove_dir_all(&self.members[number].data_dir)?)
    }

    /// Starts a scheduler and waits until it serves.
    pub async fn launch(&mut self, number: usize) -> Result<()> {
        let stderr = self.folder.path().join(format!("stderr-{number}"));
        let stderr = std::fs::File::options().create(true).append(true).open(stderr)?;
        let mut child = self
            .command(number)
            .args(["serve", "--json"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .kill_on_drop(true)
            .spawn()?;
        let stdout = child.stdout.take().context("its output is piped")?;
        let mut lines = BufReader::new(stdout).lines();
        let hello = tokio::time::timeout(DEADLINE, lines.next_line()).await??;
        ensure!(hello.is_some(), "scheduler {number} did not start: {}", self.words(number)?);
        self.members[number].process = Some(child);
        Ok(())
    }

    /// The binary, where this scheduler runs.
    fn command(&self, number: usize) -> Command {
        let prefix = self.grounds.members.get(number).map_or(&[][..], |ground| &ground.prefix);
        let mut command = match prefix.split_first() {
            None => Command::new(&self.binary),
            Some((program, words)) => {
                let mut command = Command::new(program);
                command.args(words).arg(&self.binary);
                command
            }
        };
        let Member { grpc, http, peers, data_dir, .. } = &self.members[number];
        command.env("BELLWETHER_DATA_DIR", data_dir);
        for (variable, address) in [("GRPC", grpc), ("HTTP", http), ("CLUSTER_LISTEN", peers)] {
            command.env(format!("BELLWETHER_{variable}"), address.to_string());
        }
        command.envs(self.shared.settings()).envs(self.grounds.settings.iter().cloned());
        command
    }

    /// What it had to say for itself.
    pub fn words(&self, number: usize) -> Result<String> {
        Ok(std::fs::read_to_string(self.folder.path().join(format!("stderr-{number}")))?)
    }

    fn all_words(&self) -> Result<String> {
        (0..self.members.len())
            .map(|number| Ok(format!("\n{number}: {}", self.words(number)?)))
            .collect()
    }

    pub fn addresses(&self) -> String {
        let all = (0..self.members.len()).map(|number| self.url(number));
        all.collect::<Vec<_>>().join(",")
    }

    pub fn address(&self, number: usize) -> String {
        self.members[number].grpc.to_string()
    }

    /// Where it is reached, with how.
    fn url(&self, number: usize) -> String {
        match self.grounds.security.ca_certificate {
            Some(_) => format!("https://{}", self.address(number)),
            None => self.address(number),
        }
    }

    pub fn data_dir(&self, number: usize) -> &Path {
        &self.members[number].data_dir
    }

    /// Where other members reach it.
    pub fn peers(&self, number: usize) -> SocketAddr {
        self.members[number].peers
    }

    pub fn http(&self, number: usize) -> SocketAddr {
        self.members[number].http
    }

    /// One that asks whoever leads.
    pub fn client(&self) -> Result<Client> {
        let builder = Client::builder(self.addresses()).backoff(BACKOFF).patience(DEADLINE);
        Ok(builder.security(self.grounds.security.clone()).lazy()?)
    }

    /// One that asks this scheduler alone, and gives up at once.
    pub fn client_of(&self, number: usize) -> Result<Client> {
        let builder = Client::builder(self.url(number)).patience(Duration::ZERO);
        Ok(builder.security(self.grounds.security.clone()).lazy()?)
    }

    /// A worker that works for whoever leads.
    pub fn worker(&self) -> WorkerBuilder {
        let worker = Worker::builder(self.addresses()).backoff(BACKOFF);
        worker.security(self.grounds.security.clone())
    }

    /// Waits until one of those that live leads.
    pub async fn leader(&self) -> Result<usize> {
        self.leader_but(None).await
    }

    /// Waits until another one leads.
    pub async fn leader_but(&self, not: Option<usize>) -> Result<usize> {
        let begun = Instant::now();
        while begun.elapsed() < DEADLINE {
            for number in self.living().filter(|number| Some(*number) != not) {
                let status = self.status(number).await;
                if status.is_ok_and(|status| status.role() == v1::SchedulerRole::Leader) {
                    return Ok(number);
                }
            }
            tokio::time::sleep(PULSE).await;
        }
        bail!("nobody leads: {}", self.all_words()?)
    }

    pub fn living(&self) -> impl Iterator<Item = usize> {
        let alive = |number: &usize| self.members[*number].process.is_some();
        (0..self.members.len()).filter(alive)
    }

    pub async fn status(&self, number: usize) -> Result<v1::StatusResponse> {
        let client = self.client_of(number)?;
        Ok(tokio::time::timeout(Duration::from_secs(2), client.status()).await??)
    }

    /// What the schedulers go by, as this one says.
    pub async fn name(&self, number: usize) -> Result<String> {
        let output = Command::new("curl")
            .args(["-sS", "-H", &self.token_header(number).await?])
            .arg(format!("http://{}/scheduler/identity", self.http(number)))
            .output()
            .await?;
        let told: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        Ok(told["scheduler"].as_str().unwrap_or_default().to_owned())
    }

    /// What lets somebody in there.
    pub async fn token_header(&self, number: usize) -> Result<String> {
        let address = format!("http://{}", self.http(number));
        let output = Command::new(&self.binary)
            .args(["token", "header", "--server", &address])
            .output()
            .await?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    /// As kill -9 does.
    pub async fn kill(&mut self, number: usize) -> Result<()> {
        let mut child = self.members[number].process.take().context("it runs")?;
        Ok(child.kill().await?)
    }

    /// In good order.
    pub async fn terminate(&mut self, number: usize) -> Result<()> {
        self.signal(number, Signal::TERM)?;
        let mut child = self.members[number].process.take().context("it runs")?;
        let status = tokio::time::timeout(DEADLINE, child.wait()).await??;
        ensure!(status.success(), "{status}: {}", self.words(number)?);
        Ok(())
    }

    pub fn signal(&self, number: usize, what: Signal) -> Result<()> {
        let child = self.members[number].process.as_ref().context("it runs")?;
        Ok(signal(child.id().context("it runs")?, what)?)
    }

    /// Waits until all that live know the same, and gives where that is.
    pub async fn agree(&self) -> Result<u64> {
        let begun = Instant::now();
        let mut seen = Vec::new();
        while begun.elapsed() < DEADLINE {
            seen.clear();
            for number in self.living() {
                let status = self.status(number).await?;
                seen.push((status.position, status.chain));
            }
            if seen.windows(2).all(|pair| pair[0] == pair[1]) && self.have_one_state().await? {
                return Ok(seen.first().context("somebody lives")?.0);
            }
            tokio::time::sleep(PULSE).await;
        }
        bail!("they do not agree: {seen:?}")
    }

    /// Whether all that live are at one position; then they have made the same of what led there.
    async fn have_one_state(&self) -> Result<bool> {
        let mut seen = Vec::new();
        for number in self.living() {
            let (_, told) = self.client_of(number)?.member_states().await.pop().context("asked")?;
            seen.push(told?);
        }
        let first = seen.first().context("somebody lives")?;
        if seen.iter().any(|told| told.position != first.position || told.chain.is_empty()) {
            return Ok(false);
        }
        ensure!(
            seen.iter().all(|told| told.chain == first.chain && told.state == first.state),
            "at position {} they have different states: {seen:?}",
            first.position
        );
        Ok(true)
    }
}
