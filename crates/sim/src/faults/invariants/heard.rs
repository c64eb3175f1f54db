//! When each worker was last heard of, by how long a scheduler had listened until then.

use std::collections::BTreeMap;

use bellwether_core::Command;
use bellwether_core::model::WorkerId;

use crate::faults::court::Observation;

#[derive(Debug, Default)]
pub(super) struct Heard {
    by_worker: BTreeMap<WorkerId, u64>,
    /// When the present scheduler began, or came back: everybody has a full term then.
    began: u64,
    is_new: bool,
    reign: u32,
}

impl Heard {
    pub(super) fn observe(&mut self, seen: &Observation<'_>) {
        match seen {
            Observation::Recovered { reign, .. } if *reign >= self.reign => {
                (self.reign, self.is_new) = (*reign, true);
            }
            // What a scheduler hears that has been deposed is no word to the one that reigns.
            Observation::Asked { command, at, by, .. } if *by >= self.reign => {
                let comes_back = matches!(command, Command::ExtendTerms { .. });
                if std::mem::take(&mut self.is_new) || comes_back {
                    self.began = at.listened;
                }
                if let Some(worker) = speaker(command) {
                    self.by_worker.insert(worker.clone(), at.listened);
                }
            }
            _ => {}
        }
    }

    /// How much of what had been listened until a moment; none if it was heard of since, so that
    /// nobody can tell.
    pub(super) fn silent_for(&self, worker: &WorkerId, listened: u64) -> Option<u64> {
        let heard = self.by_worker.get(worker).copied().unwrap_or(0);
        listened.checked_sub(heard.max(self.began))
    }
}

fn speaker(command: &Command) -> Option<&WorkerId> {
    match command {
        Command::Register { spec, .. } => Some(&spec.id),
        Command::Heartbeat { worker, .. }
        | Command::Report { worker, .. }
        | Command::ModelLoaded { worker, .. } => Some(worker),
        Command::Submit(_)
        | Command::Cancel { .. }
        | Command::Retry { .. }
        | Command::Pin { .. }
        | Command::Drain { .. }
        | Command::Undrain { .. }
        | Command::Invite { .. }
        | Command::ApproveKey { .. }
        | Command::RotateKey { .. }
        | Command::RevokeKey { .. }
        | Command::Leave { .. }
        | Command::Pause { .. }
        | Command::Unpause { .. }
        | Command::Configure { .. }
        | Command::Warm { .. }
        | Command::Tick
        | Command::ExtendTerms { .. }
        | Command::Checkpoint(_)
        | Command::StepClock { .. }
        | Command::Note { .. } => None,
    }
}
