//! Control groups of version 2: whatever a command starts is in the command's own group, wherever it
//! flees to; it is limited together, and ends with it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;

/// Who is in it; a process that writes 0 joins.
const MEMBERS: &str = "cgroup.procs";
/// Ends all in it, and below.
const KILL: &str = "cgroup.kill";
const CONTROLLERS: &str = "cgroup.controllers";
const CONTROLLERS_BELOW: &str = "cgroup.subtree_control";
/// Those who were killed are gone within moments.
const LOOKS: u32 = 100;
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The group of a worker, with one for each of its commands below it. The warden removes it when the worker
/// has ended, however that was.
#[derive(Debug)]
pub(super) struct Cgroups {
    folder: PathBuf,
    limits: Vec<TreeLimit>,
    /// Of commands that have ended, whose last process was not gone yet.
    left: Mutex<Vec<PathBuf>>,
}

/// What a command may use with all that it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TreeLimit {
    /// As memory.
    pub(super) controller: &'static str,
    /// As memory.max.
    pub(super) file: &'static str,
    pub(super) value: u64,
}

/// Where the group of the worker with this room lies.
pub(super) fn folder_of(dir: &Path, room: &str) -> PathBuf {
    dir.join(format!("bellwether-{room}"))
}

impl Cgroups {
    /// # Errors
    /// When the folder is none of cgroup v2, is not ours to change, or lacks what limits need.
    pub(super) fn open(dir: &Path, room: &str, limits: Vec<TreeLimit>) -> anyhow::Result<Cgroups> {
        let shown = dir.display();
        let has = fs::read_to_string(dir.join(CONTROLLERS)).with_context(|| {
            format!(
                "{shown} is no folder of cgroup v2; see `mount -t cgroup2`, or leave out --cgroup"
            )
        })?;
        for TreeLimit { controller, .. } in &limits {
            anyhow::ensure!(
                has.split_whitespace().any(|known| known == *controller),
                "{shown} can't limit {controller}: it has {}; let whoever runs it delegate more, or \
                 leave the limit out",
                if has.trim().is_empty() { "no controllers" } else { has.trim() }
            );
        }
        let folder = folder_of(dir, room);
        fs::create_dir(&folder).with_context(|| {
            format!("failed to make a group in {shown}; let systemd delegate one (Delegate=yes)")
        })?;
        let cgroups = Cgroups { folder, limits, left: Mutex::default() };
        anyhow::ensure!(
            cgroups.folder.join(KILL).exists(),
            "this kernel can't end a group at once (cgroup.kill, Linux 5.14); leave out --cgroup"
        );
        for TreeLimit { controller, .. } in &cgroups.limits {
            for folder in [dir, &cgroups.folder] {
                let file = folder.join(CONTROLLERS_BELOW);
                fs::write(&file, format!("+{controller}")).with_context(|| {
                    format!("failed to limit {controller} below {}", folder.display())
                })?;
            }
        }
        Ok(cgroups)
    }

    /// Where the command of this attempt is to be.
    pub(super) fn cell(&self, token: u64) -> PathBuf {
        self.folder.join(token.to_string())
    }

    pub(super) fn begin(&self, token: u64) -> io::Result<()> {
        self.sweep();
        let cell = self.cell(token);
        fs::create_dir(&cell)?;
        for TreeLimit { file, value, .. } in &self.limits {
            fs::write(cell.join(file), value.to_string())?;
        }
        Ok(())
    }

    /// Ends everybody in it.
    pub(super) fn end(&self, token: u64) {
        let cell = self.cell(token);
        if let Err(error) = kill(&cell) {
            eprintln!("warning: failed to end the group {}: {error}", cell.display());
        }
        self.left.lock().unwrap_or_else(PoisonError::into_inner).push(cell);
        self.sweep();
    }

    fn sweep(&self) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.retain(|cell| fs::remove_dir(cell).is_err_and(|error| !is_gone(&error)));
    }
}

/// From here on this process, and all that it starts, is in the group.
pub(super) fn join(cell: &Path) -> anyhow::Result<()> {
    let file = cell.join(MEMBERS);
    fs::write(&file, "0").with_context(|| format!("failed to join {}", cell.display()))
}

/// Ends all who are left of a worker, and removes its group.
pub(super) fn clear(folder: &Path) {
    if let Err(error) = kill(folder) {
        eprintln!("warning: failed to end the group {}: {error}", folder.display());
    }
    for _ in 0..LOOKS {
        let cells = fs::read_dir(folder).into_iter().flatten().flatten();
        // One that is not empty yet is tried again.
        let emptied = cells
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .all(|cell| fs::remove_dir(cell.path()).is_ok());
        if emptied && fs::remove_dir(folder).map_or_else(|error| is_gone(&error), |()| true) {
            return;
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    eprintln!("warning: the group {} could not be removed", folder.display());
}

fn kill(folder: &Path) -> io::Result<()> {
    match fs::write(folder.join(KILL), "1") {
        Err(error) if is_gone(&error) => Ok(()),
        killed => killed,
    }
}

fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}
