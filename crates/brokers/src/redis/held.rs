//! Which entries this process has taken and not yet settled. Redis knows only that they are pending
//! for our consumer; without this, what is being worked on could not be told from what must be
//! handed out again.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use crate::channel::Channel;

#[derive(Debug, Default)]
pub(super) struct Held {
    // Behind a lock because the task that reads and whoever settles both keep it; held briefly.
    by_channel: Mutex<HashMap<Channel, Entries>>,
}

#[derive(Debug, Default)]
struct Entries {
    ids: HashSet<String>,
    given_back: bool,
}

impl Held {
    fn with<T>(&self, channel: &Channel, work: impl FnOnce(&mut Entries) -> T) -> T {
        let mut by_channel = self.by_channel.lock().expect("no holder of this lock panics");
        if !by_channel.contains_key(channel) {
            by_channel.insert(channel.clone(), Entries::default());
        }
        work(by_channel.get_mut(channel).expect("it was just made"))
    }

    /// Takes an entry. False if it is held already.
    pub(super) fn take(&self, channel: &Channel, id: &str) -> bool {
        self.with(channel, |entries| entries.ids.insert(id.to_owned()))
    }

    /// Forgets entries that were settled.
    pub(super) fn settled<'a>(&self, channel: &Channel, ids: impl IntoIterator<Item = &'a str>) {
        self.with(channel, |entries| {
            for id in ids {
                entries.ids.remove(id);
            }
        });
    }

    /// Gives entries back: they are handed out again.
    pub(super) fn give_back<'a>(&self, channel: &Channel, ids: impl IntoIterator<Item = &'a str>) {
        self.with(channel, |entries| {
            for id in ids {
                entries.given_back |= entries.ids.remove(id);
            }
        });
    }

    /// Whether something was given back since the last call.
    pub(super) fn given_back(&self, channel: &Channel) -> bool {
        self.with(channel, |entries| std::mem::take(&mut entries.given_back))
    }

    /// All that is held.
    pub(super) fn ids(&self, channel: &Channel) -> Vec<String> {
        self.with(channel, |entries| entries.ids.iter().cloned().collect())
    }
}
