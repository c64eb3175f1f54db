//! A small process beside the worker which ends the worker's commands if the worker is killed.
//!
//! The worker tells it which process groups it has started and which have ended, through a pipe.
//! The pipe closes with the worker, however that ends; what is left then is killed. So a job that
//! is tried again elsewhere does not also go on here. Those who have left their group are known by a
//! variable of their environment.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use bellwether_sdk::new_id;
use clap::Args;
use rustix::process::{Pid, Signal, kill_process_group};

use super::{cgroup, strays};
use crate::exit::Verdict;

/// The worker's end.
#[derive(Debug)]
pub(super) struct Warden {
    pipe: Option<ChildStdin>,
    process: Child,
    room: String,
}

impl Warden {
    pub(super) fn start(cgroup: Option<&Path>) -> io::Result<Warden> {
        let room = new_id();
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["warden", "--room", &room]);
        if let Some(dir) = cgroup {
            command.arg("--cgroup").arg(cgroup::folder_of(dir, &room));
        }
        let mut process = command
            .stdin(Stdio::piped())
            // A signal from the terminal is for the worker, which ends its commands in good order.
            .process_group(0)
            .spawn()?;
        let pipe = process.stdin.take();
        Ok(Warden { pipe, process, room })
    }

    /// Tells processes of this worker from others.
    pub(super) fn room(&self) -> &str {
        &self.room
    }

    pub(super) fn process_id(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn started(&self, group: Pid) -> io::Result<()> {
        self.tell('+', group)
    }

    pub(super) fn ended(&self, group: Pid) -> io::Result<()> {
        self.tell('-', group)
    }

    /// A line is far shorter than what a pipe takes at once, so lines of several jobs never mix.
    fn tell(&self, sign: char, group: Pid) -> io::Result<()> {
        let Some(mut pipe) = self.pipe.as_ref() else { return Ok(()) };
        pipe.write_all(format!("{sign}{}\n", group.as_raw_nonzero()).as_bytes())
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        self.pipe = None;
        if let Err(error) = self.process.wait() {
            eprintln!("warning: the process that guards commands could not be waited for: {error}");
        }
    }
}

/// Kill the process groups that are named on standard input, once it is closed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Of processes that belong to this, too
    #[arg(long)]
    room: String,
    /// Of all in this group, which is removed
    #[arg(long)]
    cgroup: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Verdict> {
    for number in left_over(io::stdin().lock())? {
        let Some(group) = Pid::from_raw(number) else { continue };
        match kill_process_group(group, Signal::KILL) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => eprintln!("warning: failed to kill process group {number}: {error}"),
        }
    }
    if let Some(folder) = &arguments.cgroup {
        cgroup::clear(folder);
    }
    strays::end_all_of(&arguments.room);
    Ok(Verdict::Fine)
}

/// The groups that were started and have not ended.
fn left_over(told: impl io::BufRead) -> io::Result<BTreeSet<i32>> {
    let mut groups = BTreeSet::new();
    for line in told.lines() {
        let line = line?;
        let Some((sign, number)) = line.split_at_checked(1) else { continue };
        let Ok(group) = number.parse() else { continue };
        if sign == "+" {
            groups.insert(group);
        } else {
            groups.remove(&group);
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_groups_that_have_not_ended_are_left() {
        let left = left_over(&b"+10\n+11\n-10\n+12\n"[..]).unwrap();
        assert_eq!(left, BTreeSet::from([11, 12]));
    }
}
