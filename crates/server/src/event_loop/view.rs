//! What questions to the loop may look at.

use bellwether_core::State;
use bellwether_core::model::{Epoch, Timestamp};
use bellwether_host::Host;
use bellwether_journal::Head;

use super::message::ServerEdge;
use crate::sinks::metrics::Meters;

#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) state: &'a State,
    pub(crate) host: &'a Host<ServerEdge>,
    pub(crate) meters: &'a Meters,
    /// What is durable; `state` may be ahead of it.
    pub(crate) durable: Head,
    pub(crate) epoch: Epoch,
    pub(crate) now: Timestamp,
    pub(crate) started_at: Timestamp,
    /// Nothing new is taken, because the disk is full.
    pub(crate) disk_full: bool,
}
