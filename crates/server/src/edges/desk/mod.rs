//! What is asked of the scheduler from outside, and its answers: gRPC and REST both come here, so
//! that they say the same.
//!
//! Deliberately absent: transport. What could not be answered is an [`Unanswered`], which every
//! edge words in its own way.

mod backup;
mod bulk;
mod config;
mod events;
mod job_view;
mod jobs;
mod keys;
mod logs;
mod queues;
mod reload;
mod root_cause;
mod runs;
mod shown;
mod start;
mod status_view;
mod steer;
mod submit;
mod summary;
mod unanswered;

pub(crate) use backup::{Backups, Turn};
pub(crate) use bulk::{Action, Operation, Operations};
pub(crate) use config::Configured;
pub(crate) use events::{Audience, EventsWanted, is_wanted};
pub(crate) use job_view::worker_views;
pub(crate) use logs::LogsWanted;
pub(crate) use queues::QueuesInFront;
pub(crate) use reload::Reloads;
pub use reload::{ReloadWish, Reloaded};
pub(crate) use runs::RunPage;
pub(crate) use shown::Shown;
pub(crate) use start::Start;
pub(crate) use submit::{JobIds, Pending, Submitted};
pub(crate) use summary::Summary;
pub(crate) use unanswered::{Refused, Unanswered};

use std::sync::Arc;

use bellwether_core::model::Actor;

use crate::cluster::Members;
use crate::disk_budget::DiskBudget;
use crate::edges::explain::Refusals;
use crate::edges::registrar::Registrar;
use crate::edges::security::sign_in::SignIns;
use crate::event_loop::Handle;
use crate::projections::history::History;
use crate::projections::keys::Keys;
use crate::projections::logs::Logs;
use crate::projections::pulse::Pulse;
use crate::projections::registry::Registry;

#[derive(Debug, Clone)]
pub(crate) struct Desk {
    pub(crate) handle: Handle,
    pub(crate) ids: JobIds,
    pub(crate) registrar: Registrar,
    pub(crate) registry: Registry,
    pub(crate) history: History,
    pub(crate) logs: Logs,
    /// For work that scheduling goes before.
    pub(crate) background: tokio::runtime::Handle,
    pub(crate) refusals: Refusals,
    pub(crate) disk: Arc<DiskBudget>,
    pub(crate) audience: Arc<Audience>,
    pub(crate) keys: Keys,
    pub(crate) members: Members,
    pub(crate) backups: Backups,
    pub(crate) queues: QueuesInFront,
    pub(crate) reloads: Reloads,
    pub(crate) sign_ins: SignIns,
    pub(crate) pulse: Arc<Pulse>,
}

impl Desk {
    /// The same for somebody whom the events of their commands name.
    pub(crate) fn acting(&self, by: Option<Actor>) -> Desk {
        Desk { handle: self.handle.acting(by), ..self.clone() }
    }

    /// How moments are shown now.
    pub(crate) fn shown(&self) -> Shown {
        Shown(self.handle.wall_ahead())
    }
}
