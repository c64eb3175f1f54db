//! A reign of one among several: how it begins, what it commits, how it ends, and what follows.

use std::collections::VecDeque;
use std::sync::Arc;

use bellwether_core::model::{Epoch, Micros, Seq};
use bellwether_core::{Engine, Entry};
use bellwether_host::{Failure, Mode, restore};
use bellwether_journal::{Head, Record, Recorder};

use super::defect::SeatDefect;
use super::log::Content;
use super::node::{Node, Scene};
use super::process::{Process, snapshot_of};
use super::sight::Sight;
use super::truth::short_epoch;
use crate::faults::Defect;
use crate::faults::court::Observation;
use crate::faults::scheduler::Witness;

#[derive(Debug)]
pub(crate) struct Reign {
    pub(crate) epoch: Epoch,
    pub(crate) by: u32,
    recorder: Recorder,
    /// Behind what is proposed.
    waiting: VecDeque<Vec<Entry>>,
    proposed: Option<Proposed>,
    /// How far events were told outside, and when that was last noted.
    pub(crate) told: Seq,
    pub(crate) noted_at: u64,
}

#[derive(Debug)]
struct Proposed {
    index: u64,
    head: Head,
    entries: Vec<Entry>,
}

impl Node {
    /// Begins as soon as the host knows all that was committed before, and the lease holds.
    pub(super) fn begin_reign(&mut self, scene: &mut Scene<'_>) {
        let reading = self.clock.reading(scene.stage.now);
        let Some(process) = &mut self.process else { return };
        let known = process.desk.host.durable();
        let Some(epoch) = process.accession.as_ref().filter(|it| it.is_ready()).map(|it| it.epoch)
        else {
            return;
        };
        let follows = process.desk.host.mode() == Mode::Following && process.reign.is_none();
        if !follows
            || known != process.head
            || !process.member.handle_ready(reading.monotonic, epoch)
        {
            return;
        }
        let is_past_known =
            process.replica.leads().is_some_and(|(_, barrier)| process.applied >= barrier);
        let by = short_epoch(epoch.0 >> 16, self.id);
        scene.stage.count("reign_began");
        scene.stage.note(|| format!("member {} reigns in epoch {epoch} at {}", self.id, known.seq));
        let engine = process.desk.host.engine();
        scene.stage.see(Observation::Recovered { engine, reign: by });
        let told = self.resume_from(scene, known.seq);
        let Some(process) = &mut self.process else { return };
        let desk = &mut process.desk;
        desk.sessions.start_over();
        desk.reign = by;
        // The file is for the very first reign.
        let flaps = scene.settings.defect == Some(Defect::Seat(SeatDefect::ConfigurationFlaps));
        let settings = (known.seq == Seq(0) || flaps).then(|| scene.settings.file.clone());
        let mut witness = Witness::new(scene.stage, &mut desk.twin, by);
        desk.host.reign(reading, epoch, settings, &mut witness);
        process.reign = Some(Reign {
            epoch,
            by,
            recorder: Recorder::new(known),
            waiting: VecDeque::new(),
            proposed: None,
            told,
            noted_at: scene.stage.now,
        });
        let (member, engine, now) = (self.id, desk.host.engine(), desk.host.now());
        let reigns = Sight::Reigns { member, by, is_past_known, engine, now };
        scene.stage.see(Observation::Among(reigns));
        scene.has_new_leader = true;
    }

    /// Proposes what the host has decided, one record after the other. Says whether it did.
    pub(super) fn hand_over(&mut self, scene: &mut Scene<'_>) -> bool {
        let now = self.clock.monotonic(scene.stage.now);
        let Some(Process { desk, reign: Some(reign), replica, .. }) = &mut self.process else {
            return false;
        };
        reign.waiting.extend(std::iter::from_fn(|| desk.host.poll_batch()));
        if reign.proposed.is_some() || reign.waiting.is_empty() {
            return false;
        }
        if replica.leads().map(|(term, _)| term) != Some(reign.epoch.0 >> 16) {
            self.end_reign(scene);
            return true;
        }
        let entries: Vec<Entry> = reign.waiting.drain(..).flatten().collect();
        let prior = reign.recorder.head().chain;
        let head = reign.recorder.draft(reign.epoch, &entries).head;
        let record =
            Record { epoch: reign.epoch, prior, chain: head.chain, entries: entries.clone() };
        let index = replica.propose(Content::Record(Arc::new(record)));
        replica.send_all(now);
        reign.proposed = Some(Proposed { index, head, entries });
        true
    }

    /// What became of what was proposed.
    pub(super) fn settle(&mut self, scene: &mut Scene<'_>) {
        let Some(Process { reign: Some(reign), applied, head, .. }) = &mut self.process else {
            return;
        };
        let applied = *applied;
        let Some(proposed) = reign.proposed.take_if(|it| it.index <= applied) else { return };
        if *head != proposed.head {
            scene.stage.count("proposal_overtaken");
            return self.end_reign(scene);
        }
        reign.recorder.accept(proposed.head);
        let Some(Process { desk, .. }) = &mut self.process else { return };
        let mut witness = Witness::new(scene.stage, &mut desk.twin, desk.reign);
        desk.host.handle_durable(proposed.head, &proposed.entries, &mut witness);
        self.tell_outside(scene);
    }

    /// Whoever waits is sent away, and what is committed is followed.
    pub(super) fn end_reign(&mut self, scene: &mut Scene<'_>) {
        let reading = self.clock.reading(scene.stage.now);
        let Some(process) = &mut self.process else { return };
        let Some(reign) = process.reign.take() else { return };
        scene.stage.count("reign_ended");
        scene.stage.note(|| format!("member {} leads no more", self.id));
        if reign.proposed.is_some() {
            scene.stage.count("append_outcome_unknown");
        }
        process.member.handle_abandoned(reading.monotonic, reign.epoch);
        process.desk.host.handle_failure(Failure::Deposed);
        self.send(scene);
        let Some(process) = &mut self.process else { return };
        if process.desk.host.mode() != Mode::Deposed {
            return;
        }
        process.desk.sessions.start_over();
        let rebuilt = match process.desk.host.is_ahead() {
            true => match process.rebuilt() {
                Ok(rebuilt) => Some(rebuilt),
                Err(why) => return scene.stage.see(Observation::Unreadable { why: &why }),
            },
            false => None,
        };
        scene.stage.count(if rebuilt.is_some() { "follows_rebuilt" } else { "follows_as_it_is" });
        process.desk.host.follow(reading, rebuilt);
        self.show(scene);
    }

    /// Tells what may be told, if it may.
    pub(super) fn send(&mut self, scene: &mut Scene<'_>) {
        let now = self.clock.monotonic(scene.stage.now);
        let Some(Process { desk, accession, reign, .. }) = &mut self.process else { return };
        let epoch = reign.as_ref().map(|reign| reign.epoch);
        let lease = accession.as_ref().filter(|accession| Some(accession.epoch) == epoch);
        desk.host.handle_lease(now, lease.map_or(Micros::ZERO, |lease| lease.lease_ends));
        for parcel in desk.outgoing(scene.stage) {
            desk.send(scene.stage, parcel);
        }
    }

    /// The host hears of what was committed.
    pub(super) fn take_in(&mut self, scene: &mut Scene<'_>) {
        let Some(process) = &mut self.process else { return };
        process.has_news = false;
        if process.reign.is_some() || process.desk.host.mode() != Mode::Following {
            return;
        }
        let known = process.desk.host.durable();
        let saved = &process.replica.stored.saved;
        if known.seq < saved.head.seq {
            match restore(snapshot_of(saved).as_ref()) {
                Ok(engine) => process.desk.host.handle_state(engine, saved.head),
                Err(error) => {
                    let why = error.to_string();
                    return scene.stage.see(Observation::Unreadable { why: &why });
                }
            }
        }
        for record in process.records_behind(process.desk.host.durable().seq, process.applied) {
            process.desk.host.handle_entries(&record.entries, record.head());
        }
        self.show(scene);
    }

    /// Shows what it knows to whoever compares.
    fn show(&self, scene: &mut Scene<'_>) {
        let Some(process) = &self.process else { return };
        let (member, index) = (self.id, process.applied);
        let engine = process.desk.host.engine();
        let members = process.replica.stored.members_at(index);
        let follows = Sight::Follows { member, index, engine, members };
        scene.stage.see(Observation::Among(follows));
    }
}

impl Process {
    /// Records that count, behind this position and up to this index.
    fn records_behind(&self, seq: Seq, upto: u64) -> Vec<Arc<Record>> {
        let stored = &self.replica.stored;
        let mut chain = stored.saved.head.chain;
        let mut records = Vec::new();
        for index in stored.saved.at.index + 1..=upto {
            let Some(Content::Record(record)) = stored.item(index).map(|item| &item.content) else {
                continue;
            };
            if record.prior == chain {
                chain = record.chain;
                if record.head().seq > seq {
                    records.push(Arc::clone(record));
                }
            }
        }
        records
    }

    /// The state that is certainly committed, because this scheduler was told so.
    fn rebuilt(&self) -> Result<(Engine, Head), String> {
        let saved = &self.replica.stored.saved;
        let known = self.desk.host.durable().seq;
        let mut engine = restore(snapshot_of(saved).as_ref()).map_err(|error| error.to_string())?;
        let mut head = saved.head;
        for record in self.records_behind(saved.head.seq, self.applied) {
            if record.head().seq > known {
                break;
            }
            record.entries.iter().for_each(|entry| engine.replay(entry));
            head = record.head();
        }
        Ok((engine, head))
    }
}
