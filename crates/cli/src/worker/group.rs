//! A command with everything that it starts.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::cgroup::{Cgroups, TreeLimit};
use super::strays::Strays;
use super::warden::Warden;

/// How long a command may take to end after it was asked to.
const TERMINATE_GRACE: Duration = Duration::from_secs(2);

/// A command that leads its own process group. Dropping it kills the group, and whoever has left it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) child: Child,
    id: Option<Pid>,
    token: u64,
    guards: Guards,
}

/// Those who see to it that nothing is left.
#[derive(Debug, Clone)]
pub(super) struct Guards {
    /// If this process can't.
    warden: Arc<Warden>,
    strays: Arc<Strays>,
    /// Where there are control groups, nobody escapes.
    cgroups: Option<Arc<Cgroups>>,
}

impl Guards {
    /// With a group in this folder of cgroup v2, if one is given.
    pub(super) fn start(cgroup: Option<&Path>, limits: Vec<TreeLimit>) -> anyhow::Result<Guards> {
        let failed = "failed to start the process that guards commands";
        let warden = Arc::new(Warden::start(cgroup).context(failed)?);
        let cgroups = cgroup.map(|dir| Cgroups::open(dir, warden.room(), limits)).transpose()?;
        let strays = Arc::new(Strays::adopt(warden.process_id()).context(failed)?);
        tokio::spawn(strays.clone().watch());
        Ok(Guards { warden, strays, cgroups: cgroups.map(Arc::new) })
    }

    /// The group that the command of this attempt is to be in.
    pub(super) fn cell(&self, token: u64) -> Option<PathBuf> {
        self.cgroups.as_ref().map(|cgroups| cgroups.cell(token))
    }

    fn end_cell(&self, token: u64) {
        if let Some(cgroups) = &self.cgroups {
            cgroups.end(token);
        }
    }

    /// Tells processes of this worker from others.
    pub(super) fn room(&self) -> &str {
        self.warden.room()
    }
}

impl Group {
    /// The token is that of the attempt, which the command has in its environment.
    pub(super) fn start(
        mut command: Command,
        token: u64,
        guards: &Guards,
    ) -> std::io::Result<Group> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        if let Some(cgroups) = &guards.cgroups {
            cgroups.begin(token)?;
        }
        let child = guards.strays.start(command, token).inspect_err(|_| guards.end_cell(token))?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = Group { child, id, token, guards: guards.clone() };
        if let Some(id) = id {
            group.guards.warden.started(id)?;
        }
        Ok(group)
    }

    /// Asks the group to end, and ends it.
    pub(super) async fn stop(&mut self) {
        self.signal(Signal::TERM);
        if tokio::time::timeout(TERMINATE_GRACE, self.child.wait()).await.is_err() {
            self.signal(Signal::KILL);
        }
    }

    fn signal(&self, signal: Signal) {
        let Some(id) = self.id else { return };
        match kill_process_group(id, signal) {
            // Nobody is left in it: that is what was wanted.
            Ok(()) | Err(rustix::io::Errno::SRCH) => {}
            Err(error) => eprintln!("warning: failed to signal process group {id:?}: {error}"),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
        self.guards.end_cell(self.token);
        let Some(id) = self.id else { return };
        self.guards.strays.ended(id);
        if let Err(error) = self.guards.warden.ended(id) {
            eprintln!("warning: the process that guards commands is gone: {error}");
        }
    }
}
