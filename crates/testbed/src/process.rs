//! A child process that is gone when the test is, however that ends.

use std::io;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

const DEADLINE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts it in a process group of its own.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(|error| {
                let program = command.get_program();
                io::Error::new(error.kind(), format!("{program:?} can't be started: {error}"))
            })?;
        Ok(Self { child })
    }

    /// Waits until it listens.
    pub fn ready(mut self, port: u16) -> io::Result<Self> {
        wait_until("listen", || {
            if let Some(status) = self.child.try_wait()? {
                return Err(io::Error::other(format!("the server ended with {status}")));
            }
            Ok(TcpStream::connect(("127.0.0.1", port)).is_ok())
        })?;
        Ok(self)
    }

    /// The number of the process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn group(&self) -> io::Result<Pid> {
        let id = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        id.ok_or_else(|| io::Error::other("a process has a number"))
    }

    /// Stops the server until the answer is dropped.
    pub fn pause(&self) -> io::Result<Pause> {
        let group = self.group()?;
        kill_process_group(group, Signal::STOP)?;
        // The signal reaches one thread after the other.
        wait_until("stand still", || Ok(members(group)?.iter().all(|process| stands(process))))?;
        Ok(Pause::new(move || {
            kill_process_group(group, Signal::CONT).expect("it was there a moment ago");
        }))
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) -> io::Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let group = self.group()?;
        kill_process_group(group, Signal::KILL)?;
        self.child.wait()?;
        wait_until("end", || Ok(members(group)?.is_empty()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("a process is left behind: {error}");
        }
    }
}

/// The server goes on when this is dropped.
pub struct Pause {
    resume: Option<Box<dyn FnOnce() + Send>>,
}

impl Pause {
    pub fn new(resume: impl FnOnce() + Send + 'static) -> Self {
        Self { resume: Some(Box::new(resume)) }
    }
}

impl Drop for Pause {
    fn drop(&mut self) {
        if let Some(resume) = self.resume.take() {
            resume();
        }
    }
}

impl std::fmt::Debug for Pause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pause")
    }
}

/// The processes of a group that are not dead: RabbitMQ is started by a script that waits for it.
fn members(group: Pid) -> io::Result<Vec<PathBuf>> {
    let mut members = Vec::new();
    for process in std::fs::read_dir("/proc")? {
        let process = process?.path();
        // Others come and go.
        let Ok(stat) = std::fs::read_to_string(process.join("stat")) else { continue };
        if lives_in(&stat, group) {
            members.push(process);
        }
    }
    Ok(members)
}

/// From a line as `12 (a name) S 1 12`, in which the state stands behind the name and the group two
/// further.
fn lives_in(stat: &str, group: Pid) -> bool {
    let Some((_, fields)) = stat.rsplit_once(") ") else { return false };
    let mut fields = fields.split(' ');
    let lives = fields.next().is_some_and(|state| !matches!(state, "Z" | "X"));
    let number = fields.nth(1).and_then(|number| number.parse().ok());
    lives && number.and_then(Pid::from_raw) == Some(group)
}

/// All of its threads, as far as they are still there.
fn stands(process: &Path) -> bool {
    let Ok(threads) = std::fs::read_dir(process.join("task")) else { return true };
    threads.flatten().all(|thread| {
        let status = std::fs::read_to_string(thread.path().join("status"));
        status.map_or(true, |status| status.contains("State:\tT"))
    })
}

/// Waits until something is so, for as long as a server may take.
pub(crate) fn wait_until(
    what: &str,
    mut is_so: impl FnMut() -> io::Result<bool>,
) -> io::Result<()> {
    let began = Instant::now();
    while !is_so()? {
        if began.elapsed() > DEADLINE {
            return Err(io::Error::other(format!("{what}: not in {DEADLINE:?}")));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}
