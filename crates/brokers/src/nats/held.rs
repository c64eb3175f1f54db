//! Which messages this process has taken and not yet settled, so that the server can be told that
//! they are being worked on.

use std::collections::{BTreeSet, HashMap};
use std::sync::Mutex;

use async_nats::Subject;

use crate::channel::Channel;

#[derive(Debug, Default)]
pub(super) struct Held {
    // Behind a lock because the task that reads and whoever settles both keep it; held briefly.
    by_channel: Mutex<HashMap<Channel, BTreeSet<Subject>>>,
}

impl Held {
    pub(super) fn take(&self, channel: &Channel, subjects: impl IntoIterator<Item = Subject>) {
        let mut by_channel = self.by_channel.lock().expect("no holder of this lock panics");
        by_channel.entry(channel.clone()).or_default().extend(subjects);
    }

    /// Forgets what was settled, or what the server shall deliver again.
    pub(super) fn forget<'a>(
        &self,
        channel: &Channel,
        subjects: impl IntoIterator<Item = &'a Subject>,
    ) {
        let mut by_channel = self.by_channel.lock().expect("no holder of this lock panics");
        let Some(held) = by_channel.get_mut(channel) else { return };
        for subject in subjects {
            held.remove(subject);
        }
    }

    pub(super) fn all(&self, channel: &Channel) -> Vec<Subject> {
        let by_channel = self.by_channel.lock().expect("no holder of this lock panics");
        by_channel.get(channel).map(|held| held.iter().cloned().collect()).unwrap_or_default()
    }
}
