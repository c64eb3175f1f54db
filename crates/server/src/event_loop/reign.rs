//! The loop among other schedulers: it follows, takes over, and steps down.

use std::sync::Arc;

use bellwether_cluster::{Leader, News};
use bellwether_core::model::{Micros, Name, Seq};
use bellwether_core::{Command, Engine, Event};
use bellwether_host::{Failure, Mode};
use bellwether_journal::{Head, Journal, Lease, Record, Snapshot};
use tokio::sync::oneshot;

use super::run::Loop;
use crate::cluster::{Heard, Standing, StepFrom};
use crate::event_loop::clock;
use crate::event_loop::fatal::{self, Fatal};
use crate::identity::{self, Identity};

/// How long a lease may have run out before the reign is taken to be over: until then whoever waits for
/// an answer may still get one.
const LEASE_PATIENCE: Micros = Micros::from_secs(2);

impl Loop {
    pub(super) fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::News(News::Committed(record)) => self.apply(record),
            Heard::News(News::Behind(snapshot)) => self.start_over(&snapshot),
            Heard::News(News::Leader(leader)) => self.leader_named(leader),
            Heard::News(News::Reign(journal)) => self.accede(journal),
            Heard::Stepped(rebuilt) => self.follow(rebuilt.map(|rebuilt| *rebuilt)),
        }
        if let Some(room) = &self.room {
            room.free();
        }
    }

    /// What another has decided and committed.
    fn apply(&mut self, record: Record) {
        let record = Arc::new(record);
        self.host.handle_entries(&record.entries, record.head());
        self.host.save_as_follower();
        let forgotten = self.tail.push(&record);
        self.tell_durable.send_replace(record.head().seq);
        self.project(record, forgotten);
    }

    /// Too much has happened to be told one by one.
    fn start_over(&mut self, snapshot: &Snapshot) {
        let engine = bellwether_host::restore(Some(snapshot))
            .unwrap_or_else(|error| fatal::end(Fatal::Recover(error.into())));
        tracing::info!(position = %snapshot.head.seq, "the state is taken over from another scheduler");
        self.host.handle_state(engine, snapshot.head);
        self.learn_identity();
        self.tell_durable.send_replace(snapshot.head.seq);
    }

    fn leader_named(&mut self, leader: Option<Leader>) {
        if self.host.mode() != Mode::Reigning {
            self.tell_standing.send_replace(Standing::Follows { leader });
        }
    }

    /// It is this scheduler's turn.
    fn accede(&mut self, journal: Box<dyn Journal>) {
        let (epoch, known) = (journal.epoch(), self.host.durable());
        if journal.head() != known {
            let why = format!(
                "it was told to lead at position {} and knows {}",
                journal.head().seq,
                known.seq
            );
            fatal::end(Fatal::Cluster(why));
        }
        tracing::info!(%epoch, position = %known.seq, "this scheduler leads");
        self.lease = journal.lease();
        self.snapshots = journal.snapshots().into();
        // The journal knows the settings of all; the file is for the very first reign.
        let settings = (known.seq == Seq(0)).then(|| self.seed.clone());
        self.start_journal(journal);
        self.host.reign(clock::read(), epoch, settings, &mut self.meters);
        self.name_the_cluster();
        self.hand_over();
        self.tell_standing.send_replace(Standing::Leads { epoch });
    }

    /// The first leader of all makes up what all of them go by.
    fn name_the_cluster(&mut self) {
        if self.host.state().note(identity::NOTE).is_some() {
            return;
        }
        let (name, value) = (Name::fixed(identity::NOTE), Name::fixed(&Identity::make_up()));
        // Nobody waits for it: it is learnt from the journal like everything else.
        let (asker, _) = oneshot::channel();
        let note = vec![Command::Note { name, value }];
        self.host.handle_commands(note, None, asker, &mut self.meters);
    }

    /// Nothing of the state that this looks at is undecided: it has just been built, or replaced.
    pub(super) fn learn_identity(&self) {
        if let Some(name) = self.host.state().note(identity::NOTE) {
            self.identity.learn(name.as_str());
        }
    }

    pub(super) fn learn_identity_from(&self, record: &Record) {
        if self.identity.is_known() {
            return;
        }
        for entry in &record.entries {
            if let Event::Noted { name, value } = &entry.event
                && name.as_str() == identity::NOTE
            {
                self.identity.learn(value.as_str());
            }
        }
    }

    /// Whether the reign is still this scheduler's, as far as its lease tells.
    pub(super) fn watch_lease(&mut self) {
        if self.host.mode() != Mode::Reigning || self.lease.is_forever() {
            return;
        }
        let over_at = self.lease.ends_at() + LEASE_PATIENCE;
        if self.lease.is_over() || clock::read().monotonic > over_at {
            self.host.handle_failure(Failure::Deposed);
            self.step_down("its lease has run out");
        }
    }

    /// Whether nobody else can have taken over.
    pub(super) fn is_sure(&self) -> bool {
        self.lease.is_forever() || self.lease.holds_at(clock::read().monotonic)
    }

    /// Another may lead. Whoever waits has been sent away, and what is committed is looked for.
    pub(super) fn step_down(&mut self, why: &str) {
        tracing::warn!(%why, epoch = %self.host.epoch(), "this scheduler leads no more");
        self.send();
        self.lease = Lease::forever();
        self.tell_standing.send_replace(Standing::Follows { leader: None });
        let from = match self.host.is_ahead() {
            true => StepFrom::Ahead(self.host.durable().seq),
            false => StepFrom::Committed(self.host.durable()),
        };
        let journal = self.journal.take();
        if let Some(seat) = &self.seat {
            seat.step_down(journal, from);
        }
    }

    fn follow(&mut self, rebuilt: Option<(Engine, Head)>) {
        self.host.follow(clock::read(), rebuilt);
        // It may be further than this scheduler was, if a snapshot is.
        self.tell_durable.send_replace(self.host.durable().seq);
    }
}
