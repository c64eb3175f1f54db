//! PostgreSQL, as another user than root, which it refuses to run as.

use std::io;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use tempfile::TempDir;

use crate::ports::Ports;
use crate::process::{Pause, Process, wait_until};

/// Where Debian keeps it, which is on nobody's search path.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// `nobody`.
const USER: u32 = 65_534;

/// Gone when it is dropped, with what it held.
#[derive(Debug)]
pub struct PostgresServer {
    server: Process,
    port: u16,
    data: TempDir,
    _ports: Ports,
}

impl PostgresServer {
    pub fn start() -> io::Result<PostgresServer> {
        let (ports, data) = (Ports::reserve()?, tempfile::tempdir()?);
        if rustix::process::geteuid().is_root() {
            chown(data.path(), Some(USER), Some(USER))?;
        }
        let mut create = program("initdb");
        create.arg("-D").arg(cluster(data.path()));
        create.args(["--auth=trust", "--username=bellwether", "--no-sync", "--encoding=UTF8"]);
        let created = create.stdin(Stdio::null()).stdout(Stdio::null()).output()?;
        if !created.status.success() {
            let why = String::from_utf8_lossy(&created.stderr).into_owned();
            return Err(io::Error::other(format!("initdb: {why}")));
        }
        let server = launch(ports.first, data.path())?;
        Ok(PostgresServer { server, port: ports.first, data, _ports: ports })
    }

    pub fn url(&self) -> String {
        format!("postgres://bellwether@127.0.0.1:{}/postgres", self.port)
    }

    /// Kills it with SIGKILL, and those who serve its connections, which would go on;
    /// [`PostgresServer::restart`] brings it back.
    pub fn kill(&mut self) -> io::Result<()> {
        let serving = children(self.server.id())?;
        self.server.kill()?;
        for &process in &serving {
            // It may have ended by itself.
            match kill_process(process, Signal::KILL) {
                Ok(()) | Err(Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        wait_until("end", || {
            let gone = |process: &Pid| test_kill_process(*process) == Err(Errno::SRCH);
            Ok(serving.iter().all(gone))
        })
    }

    pub fn restart(&mut self) -> io::Result<()> {
        self.server = launch(self.port, self.data.path())?;
        Ok(())
    }

    pub fn pause(&self) -> io::Result<Pause> {
        self.server.pause()
    }
}

fn cluster(data: &Path) -> PathBuf {
    data.join("cluster")
}

fn launch(port: u16, data: &Path) -> io::Result<Process> {
    let mut command = program("postgres");
    command.arg("-D").arg(cluster(data)).arg("-k").arg(data);
    command.args(["-p", &port.to_string(), "-h", "127.0.0.1"]);
    let server = Process::start(&mut command)?.ready(port)?;
    // It listens before it answers.
    wait_until("answer", || {
        let mut ask = Command::new(Path::new(PROGRAMS).join("pg_isready"));
        ask.args(["-q", "-h", "127.0.0.1", "-p", &port.to_string()]);
        Ok(ask.status()?.success())
    })?;
    Ok(server)
}

/// Those that a process has started.
fn children(parent: u32) -> io::Result<Vec<Pid>> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let numbers = std::fs::read_to_string(path)?;
    let process = |number: &str| number.parse().ok().and_then(Pid::from_raw);
    Ok(numbers.split_whitespace().filter_map(process).collect())
}

/// Run by somebody who is not root.
fn program(name: &str) -> Command {
    let path = Path::new(PROGRAMS).join(name);
    if !rustix::process::geteuid().is_root() {
        return Command::new(path);
    }
    let user = USER.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]).arg(path);
    command
}
