//! Who wished for what.

use bellwether_core::model::limits::ACTORS_MAX;
use bellwether_core::model::{
    Actor, ActorNo, Config, JobId, JobSpec, Micros, Name, Submission, Timestamp, WorkerId,
    WorkerSpec,
};
use bellwether_core::{Command, Engine, Entry, Event};

use crate::script::{hash, restored};

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn actor(name: &str) -> Actor {
    Actor { name: Name::fixed(name), peer: Some(Name::fixed("127.0.0.1")) }
}

fn submit(id: &str) -> Command {
    Command::Submit(Submission::one(JobSpec::new(JobId::fixed(id), Name::fixed("t"))))
}

/// Who caused each event, by kind.
fn told(batch: &[Entry]) -> Vec<(&'static str, u32)> {
    batch.iter().map(|entry| (entry.event.name(), entry.actor.0)).collect()
}

#[test]
fn an_event_names_whoever_wished_for_it_and_a_decision_nobody() {
    let mut engine = Engine::new(Config::default());
    let spec = WorkerSpec::new(WorkerId::fixed("w"), 1);
    let register = Command::Register { spec, held: Vec::new(), admission: Default::default() };
    engine.handle(NOW, register).result.unwrap();
    engine.take_batch();
    engine.handle_by(NOW, Some(&actor("ci")), submit("a")).result.unwrap();
    let wanted = [("actor_named", 0), ("job_submitted", 1), ("task_assigned", 0)];
    assert_eq!(told(&engine.take_batch()), wanted);
    engine.handle_by(NOW, Some(&actor("ci")), submit("b")).result.unwrap();
    assert_eq!(told(&engine.take_batch()), [("job_submitted", 1)], "named once");
    let cancel = Command::Cancel { job: JobId::fixed("b"), reason: "not needed".to_owned() };
    engine.handle_by(NOW, Some(&actor("ops")), cancel).result.unwrap();
    assert_eq!(told(&engine.take_batch()), [("actor_named", 0), ("job_cancelled", 2)]);
}

#[test]
fn a_refused_wish_leaves_nothing_behind() {
    let mut engine = Engine::new(Config::default());
    let retry = Command::Retry { job: JobId::fixed("nobody"), force: false };
    engine.handle_by(NOW, Some(&actor("ci")), retry).result.unwrap_err();
    assert_eq!(engine.take_batch(), []);
}

#[test]
fn to_name_whoever_acts_forgets_nothing_that_the_wish_is_about() {
    let mut engine = Engine::new(Config::default());
    engine.handle(NOW, submit("a")).result.unwrap();
    let cancel = Command::Cancel { job: JobId::fixed("a"), reason: String::new() };
    engine.handle(NOW, cancel).result.unwrap();
    // Its time is over, and it is still there: nothing has happened since.
    let later = NOW + Config::default().retain_for + Micros::from_secs(1);
    let retry = Command::Retry { job: JobId::fixed("a"), force: false };
    engine.handle_by(later, Some(&actor("ops")), retry).result.unwrap();
}

#[test]
fn names_outlive_a_snapshot_and_a_replay() {
    let mut engine = Engine::new(Config::default());
    engine.handle_by(NOW, Some(&actor("ci")), submit("a")).result.unwrap();
    let batch = engine.take_batch();
    let mut again = Engine::new(Config::default());
    batch.iter().for_each(|entry| again.verify(entry).unwrap());
    assert_eq!(hash(&again), hash(&engine));
    let mut restored = restored(&engine);
    assert_eq!(hash(&restored), hash(&engine));
    restored.handle_by(NOW, Some(&actor("ci")), submit("b")).result.unwrap();
    assert_eq!(told(&restored.take_batch()), [("job_submitted", 1)]);
}

#[test]
fn those_who_were_not_heard_of_for_longest_are_forgotten() {
    let mut engine = Engine::new(Config::default());
    for number in 0..ACTORS_MAX {
        let name = actor(&format!("a{number}"));
        engine.handle_by(NOW, Some(&name), submit(&format!("j{number}"))).result.unwrap();
    }
    engine.handle_by(NOW, Some(&actor("a0")), submit("again")).result.unwrap();
    engine.take_batch();
    engine.handle_by(NOW, Some(&actor("new")), submit("one more")).result.unwrap();
    let actors = &engine.state().actors;
    assert_eq!(actors.iter().count(), ACTORS_MAX);
    assert!(actors.get(ActorNo(1)).is_some(), "it was heard of");
    assert!(actors.get(ActorNo(2)).is_none());
    engine.take_batch();
    engine.handle_by(NOW, Some(&actor("a1")), submit("back")).result.unwrap();
    let batch = engine.take_batch();
    let number = ActorNo(ACTORS_MAX as u32 + 2);
    assert!(
        matches!(&batch[0].event, Event::ActorNamed { number: given, .. } if *given == number),
        "numbers are not given again"
    );
}
