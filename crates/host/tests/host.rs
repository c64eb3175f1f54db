//! What a host gives out, and when, in each of its states.

use std::convert::Infallible;

use bellwether_core::model::{Config, Epoch, JobSpec, Micros, Name, Seq, Submission, Timestamp};
use bellwether_core::{Command, Engine};
use bellwether_host::{
    BATCHES_IN_FLIGHT_MAX, Edge, Failure, Host, Mode, Reply, Unavailable, Unobserved,
};
use bellwether_journal::{Head, Journal as _, MemoryJournal, MemoryStore, Reader as _};

struct TestEdge;

impl Edge for TestEdge {
    type Asker<T> = &'static str;
    type Seen = &'static str;
    type Message = &'static str;
    type Link = ();
    type Watcher = ();
    type Malformed = Infallible;
}

/// A host and its journal; answers are gathered as text.
struct World {
    host: Host<TestEdge>,
    store: MemoryStore,
    journal: MemoryJournal,
    now: Timestamp,
}

impl World {
    fn new(settings: Config) -> World {
        let store = MemoryStore::new();
        let journal = MemoryJournal::open(&store).expect("a new store opens");
        let engine = Engine::new(Config::default());
        let mut host = Host::new(engine, Head::default(), Seq(0), 1_000_000);
        host.reign(Timestamp(1), journal.epoch(), Some(settings), &mut Unobserved);
        let mut world = World { host, store, journal, now: Timestamp(1) };
        world.append_all();
        world
    }

    fn submit(&mut self, id: &'static str) {
        let job = JobSpec::new(Name::fixed(id), Name::fixed("render"));
        let commands = vec![Command::Submit(Submission::one(job))];
        self.host.handle_commands(self.now, commands, id, &mut Unobserved);
    }

    fn append(&mut self, batch: &[bellwether_core::Entry]) {
        let journal = &mut self.journal;
        match journal.append(journal.epoch(), journal.head().seq, batch) {
            Ok(head) => self.host.handle_durable(head, batch, &mut Unobserved),
            Err(error) => self.host.handle_failure((&error).into()),
        }
    }

    fn append_all(&mut self) {
        while let Some(batch) = self.host.poll_batch() {
            self.append(&batch);
        }
    }

    fn rebuild(&mut self) {
        let mut engine = Engine::new(Config::default());
        for record in self.journal.read(Seq(1)).expect("it can be read") {
            record.expect("it is whole").entries.iter().for_each(|entry| engine.replay(entry));
        }
        self.host.handle_rebuilt(self.now, engine, self.journal.head(), &mut Unobserved);
    }

    fn answers(&mut self) -> Vec<String> {
        let replies = std::iter::from_fn(|| self.host.poll_reply());
        let text = |reply: Reply<TestEdge>| match reply {
            Reply::Settled(id, Ok(settled)) if settled[0].result.is_ok() => format!("{id} done"),
            Reply::Settled(id, Ok(_)) => format!("{id} rejected"),
            Reply::Settled(id, Err(why)) => format!("{id} {}", why.code()),
            Reply::Seen(id, seen) => format!("{id} {:?}", seen.map_err(Unavailable::code)),
            reply => format!("{reply:?}"),
        };
        replies.map(text).collect()
    }
}

#[test]
fn nobody_is_answered_before_it_is_durable_and_questions_neither() {
    let mut world = World::new(Config::default());
    world.submit("a");
    world.host.handle_look("look");
    world.submit("a");
    let batch = world.host.poll_batch().unwrap();
    assert_eq!(world.answers(), [""; 0]);
    world.append(&batch);
    assert_eq!(world.answers(), ["a done", "look Ok(())", "a rejected"]);
}

#[test]
fn at_most_two_batches_are_out_and_each_answers_for_itself() {
    let mut world = World::new(Config::default());
    world.submit("a");
    let first = world.host.poll_batch().unwrap();
    world.submit("b");
    let second = world.host.poll_batch().unwrap();
    world.submit("c");
    assert_eq!(BATCHES_IN_FLIGHT_MAX, 2);
    assert!(world.host.poll_batch().is_none());
    world.append(&first);
    assert_eq!(world.answers(), ["a done"]);
    world.append(&second);
    world.append_all();
    assert_eq!(world.answers(), ["b done", "c done"]);
}

#[test]
fn a_full_disk_refuses_until_there_is_space_and_keeps_the_settings() {
    let settings = Config { max_retry: 9, ..Config::default() };
    let mut world = World::new(settings.clone());
    let live = Config { max_retry: 11, ..settings };
    let configure = Command::Configure { config: Box::new(live.clone()), expected_version: None };
    world.host.handle_commands(world.now, vec![configure], "set", &mut Unobserved);
    world.append_all();
    world.store.limit(Some(0));
    world.submit("a");
    world.append_all();
    assert_eq!(world.answers(), ["set done", "a disk_full"]);
    assert!(world.host.must_wait(), "what comes waits for the state");
    world.rebuild();
    world.submit("b");
    assert_eq!(world.answers(), ["b disk_full"]);
    let probe_at = world.host.next_deadline().unwrap();
    assert!(!world.host.must_probe(world.now) && world.host.must_probe(probe_at));
    world.store.limit(None);
    world.now = probe_at + Micros(1);
    world.host.handle_probe(world.now, true, &mut Unobserved);
    world.submit("c");
    world.append_all();
    assert_eq!(world.answers(), ["c done"]);
    assert_eq!(*world.host.state().config(), live);
}

#[test]
fn an_open_outcome_is_told_as_unknown_and_a_clean_failure_as_unchanged() {
    for (failure, told) in [(Failure::Unknown, "outcome_unknown"), (Failure::Misplaced, "rebuilt")]
    {
        let mut world = World::new(Config::default());
        world.submit("a");
        world.host.poll_batch().unwrap();
        world.host.handle_failure(failure);
        assert_eq!(world.answers(), [format!("a {told}")]);
        world.rebuild();
        world.submit("b");
        world.append_all();
        assert_eq!(world.answers(), ["b done"]);
    }
}

#[test]
fn a_host_that_another_has_deposed_falls_silent() {
    let mut world = World::new(Config::default());
    world.submit("a");
    let batch = world.host.poll_batch().unwrap();
    MemoryJournal::open(&world.store).unwrap();
    world.append(&batch);
    assert_eq!(world.host.mode(), Mode::Deposed);
    world.submit("b");
    world.host.handle_look("look");
    assert_eq!(world.answers(), ["a outcome_unknown", "b deposed", "look Err(\"deposed\")"]);
    assert!(world.host.poll_batch().is_none() && world.host.next_deadline().is_none());
    world.host.handle_durable(world.journal.head(), &batch, &mut Unobserved);
    assert_eq!(world.answers(), [""; 0]);
}

#[test]
fn a_follower_applies_and_reigns_with_the_settings_of_the_journal() {
    let mut world = World::new(Config { max_retry: 9, ..Config::default() });
    world.submit("a");
    world.append_all();
    let engine = Engine::new(Config { ..Config::default() });
    let mut follower: Host<TestEdge> = Host::new(engine, Head::default(), Seq(0), 1_000_000);
    for record in world.journal.read(Seq(1)).unwrap() {
        let record = record.unwrap();
        follower.handle_entries(&record.entries, record.head());
    }
    follower.handle_commands(world.now, vec![Command::Tick], "tick", &mut Unobserved);
    let Some(Reply::Settled("tick", Err(why))) = follower.poll_reply() else { panic!("no answer") };
    assert_eq!(why, Unavailable::Following);
    follower.reign(world.now, Epoch(2), None, &mut Unobserved);
    assert_eq!((follower.mode(), follower.epoch()), (Mode::Reigning, Epoch(2)));
    assert_eq!(follower.state().config().max_retry, 9);
    assert!(follower.state().job_no("a").is_some());
}
