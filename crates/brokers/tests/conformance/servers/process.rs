//! A child process that is gone when the test is, however that ends.

use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::bed::Pause;

const READY_DEADLINE: Duration = Duration::from_secs(60);

pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts it in a process group of its own.
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .with_context(|| format!("{:?} is not installed", command.get_program()))?;
        Ok(Self { child })
    }

    /// Waits until it listens.
    pub(crate) fn ready(mut self, port: u16) -> Result<Self> {
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("the server ended with {status}");
            }
            if began.elapsed() > READY_DEADLINE {
                bail!("the server does not listen on port {port}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(self)
    }

    fn group(&self) -> Result<Pid> {
        let id = i32::try_from(self.child.id())?;
        Pid::from_raw(id).context("a process has a number")
    }

    /// Stops the server until the answer is dropped.
    pub(crate) fn pause(&self) -> Result<Pause> {
        let group = self.group()?;
        kill_process_group(group, Signal::STOP)?;
        // The signal reaches one thread after the other.
        let began = Instant::now();
        while !self.all_threads_stand()? {
            ensure!(began.elapsed() < READY_DEADLINE, "the server does not stop");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Pause::new(move || {
            kill_process_group(group, Signal::CONT).expect("it was there a moment ago");
        }))
    }

    fn all_threads_stand(&self) -> Result<bool> {
        for thread in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let status = std::fs::read_to_string(thread?.path().join("status"))?;
            if !status.contains("State:\tT") {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Kills it with SIGKILL, and waits until it is gone.
    pub(crate) fn kill(&mut self) -> Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        kill_process_group(self.group()?, Signal::KILL)?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Err(error) = self.kill() {
            eprintln!("a process is left behind: {error}");
        }
    }
}
