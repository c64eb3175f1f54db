//! Processes that have left the group of their command: they must not outlive its job either.
//!
//! The worker adopts what its commands leave behind (it is their subreaper), so whoever has fled from a
//! group ends up as a child of the worker. It is told by a variable of its environment which attempt it
//! belongs to; one that has thrown that away is ended once no command runs.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitOptions, getpid, kill_process, kill_process_group, set_child_subreaper,
    waitpid,
};
use tokio::process::{Child, Command};
use tokio::sync::Notify;

/// Says which attempt a process belongs to.
pub(super) const ATTEMPT: &str = "BELLWETHER_FENCING_TOKEN";
/// Says which worker a process belongs to.
pub(super) const ROOM: &str = "BELLWETHER_ROOM";
/// A process that is killed may leave children, which are found the next time.
const ROUNDS_MAX: u32 = 100;
const PAUSE: Duration = Duration::from_millis(2);
/// To look costs a few milliseconds, so it is not done for each of many short commands.
const REST: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct Strays {
    /// Our own children: the attempt's token by the process. A lock, so that nobody takes a process that
    /// was started just now for a stray.
    leaders: Mutex<BTreeMap<i32, u64>>,
    /// The process that guards commands, which is no stray.
    warden: i32,
    /// An attempt has ended.
    news: Notify,
}

impl Strays {
    pub(super) fn adopt(warden: u32) -> io::Result<Strays> {
        set_child_subreaper(Some(getpid()))?;
        let warden = i32::try_from(warden).unwrap_or(0);
        Ok(Strays { leaders: Mutex::default(), warden, news: Notify::new() })
    }

    /// Starts a command that leads a group.
    pub(super) fn start(&self, mut command: Command, token: u64) -> io::Result<Child> {
        let mut leaders = self.lock();
        let child = command.spawn()?;
        if let Some(id) = child.id().and_then(|id| i32::try_from(id).ok()) {
            leaders.insert(id, token);
        }
        Ok(child)
    }

    pub(super) fn ended(&self, leader: Pid) {
        self.lock().remove(&leader.as_raw_nonzero().get());
        self.news.notify_one();
    }

    /// Ends those whose attempt has ended, for as long as the worker lives.
    pub(super) async fn watch(self: Arc<Strays>) {
        loop {
            self.news.notified().await;
            let strays = self.clone();
            if tokio::task::spawn_blocking(move || strays.sweep()).await.is_err() {
                return eprintln!("warning: nobody looks for what commands leave behind");
            }
            tokio::time::sleep(REST).await;
        }
    }

    /// Until there are none.
    fn sweep(&self) {
        for _ in 0..ROUNDS_MAX {
            if self.end_some() == 0 {
                return;
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// How many were found.
    fn end_some(&self) -> usize {
        let leaders = self.lock();
        let is_stray = |id: &i32| !leaders.contains_key(id) && *id != self.warden;
        let mut found = 0;
        for id in children().into_iter().filter(is_stray) {
            let Some(process) = Pid::from_raw(id) else { continue };
            // One that has ended by itself only waits to be taken note of.
            if matches!(waitpid(Some(process), WaitOptions::NOHANG), Ok(Some(_)) | Err(_)) {
                continue;
            }
            let belongs = match variable(id, ATTEMPT).and_then(|token| token.parse::<u64>().ok()) {
                Some(token) => leaders.values().any(|live| *live == token),
                None => !leaders.is_empty(),
            };
            if !belongs {
                found += 1;
                kill(process);
            }
        }
        found
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, u64>> {
        self.leaders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends every process of a worker that is gone. Blocks for a moment.
pub(super) fn end_all_of(room: &str) {
    for _ in 0..ROUNDS_MAX {
        let mut left = processes();
        left.retain(|id| variable(*id, ROOM).as_deref() == Some(room));
        if left.is_empty() {
            return;
        }
        left.into_iter().filter_map(Pid::from_raw).for_each(kill);
        std::thread::sleep(PAUSE);
    }
}

/// With its group, if it leads one.
fn kill(process: Pid) {
    for killed in [kill_process_group(process, Signal::KILL), kill_process(process, Signal::KILL)] {
        match killed {
            // It is gone, or leads no group.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => eprintln!("warning: failed to end process {process:?}: {error}"),
        }
    }
}

/// Of this process. Not every kernel lists them, so all are asked whose they are.
fn children() -> Vec<i32> {
    let ours = getpid().as_raw_nonzero().get();
    let mut children = processes();
    children.retain(|id| parent(*id) == Some(ours));
    children
}

fn processes() -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn parent(process: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may hold anything: the state and then the parent.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// What a process was given as this variable when it started.
fn variable(process: i32, name: &str) -> Option<String> {
    let environment = std::fs::read(format!("/proc/{process}/environ"));
    environment.ok()?.split(|byte| *byte == 0).find_map(|line| {
        let value = line.strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        String::from_utf8(value.to_vec()).ok()
    })
}
