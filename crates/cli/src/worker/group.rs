//! A command with everything that it starts.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};

use super::warden::Warden;

/// How long a command may take to end after it was asked to.
const TERMINATE_GRACE: Duration = Duration::from_secs(2);

/// A command that leads its own process group. Dropping it kills the group.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) child: Child,
    id: Option<Pid>,
    warden: Option<Arc<Warden>>,
}

impl Group {
    /// The warden, where there is one, ends the group if this process can't.
    pub(super) fn start(
        mut command: Command,
        warden: Option<Arc<Warden>>,
    ) -> std::io::Result<Group> {
        let child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn()?;
        let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let group = Group { child, id, warden };
        if let (Some(warden), Some(id)) = (&group.warden, id) {
            warden.started(id)?;
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
        if let (Some(warden), Some(id)) = (&self.warden, self.id)
            && let Err(error) = warden.ended(id)
        {
            eprintln!("warning: the process that guards commands is gone: {error}");
        }
    }
}
