//! Nothing is released before it is durable, and time never goes back.

use bellwether_core::command::attempt;
use bellwether_core::model::{
    Config, JobId, JobNo, JobSpec, Name, Submission, Timestamp, WorkerId, WorkerSpec,
};
use bellwether_core::{Command, Effect, Engine, Report};

fn with_one_offer() -> Engine {
    let mut engine = Engine::new(Config::default());
    let spec = WorkerSpec::new(WorkerId::fixed("w1"), 1);
    engine
        .handle(
            Timestamp(1),
            Command::Register { spec, held: vec![], admission: Default::default() },
        )
        .result
        .expect("it is new");
    let job = JobSpec::new(JobId::fixed("a"), Name::fixed("t"));
    engine.handle(Timestamp(2), Command::Submit(Submission::one(job))).result.expect("it is new");
    engine
}

#[test]
fn effects_wait_until_their_event_is_durable() {
    let mut engine = with_one_offer();
    let batch = engine.take_batch();
    assert!(engine.take_effects().is_empty());
    let offer = batch.last().unwrap().seq;
    engine.durable(bellwether_core::model::Seq(offer.0 - 1));
    assert!(engine.take_effects().is_empty());
    engine.durable(offer);
    let effects = engine.take_effects();
    assert!(matches!(effects.as_slice(), [Effect::Offer { .. }]), "{effects:?}");
    assert!(engine.take_effects().is_empty() && engine.take_batch().is_empty());
}

#[test]
fn the_answer_names_the_position_that_must_be_durable() {
    let mut engine = with_one_offer();
    let last = engine.last_seq();
    let token = bellwether_core::model::Token(last.0);
    let report = Command::Report {
        worker: WorkerId::fixed("w1"),
        attempt: attempt(JobNo(1), token),
        report: Report::Acknowledge,
    };
    let handled = engine.handle(Timestamp(3), report.clone());
    assert_eq!(handled.seq, last.next());
    let again = engine.handle(Timestamp(4), report);
    assert_eq!(again.seq, last.next(), "a repetition rests on the same fact");
}

#[test]
fn time_never_goes_back() {
    let mut engine = with_one_offer();
    let job = JobSpec::new(JobId::fixed("b"), Name::fixed("t"));
    engine.handle(Timestamp(0), Command::Submit(Submission::one(job))).result.unwrap();
    let batch = engine.take_batch();
    assert_eq!(batch.last().unwrap().at, Timestamp(2));
}

#[test]
fn an_event_names_the_one_before_it_in_the_same_life() {
    let mut engine = with_one_offer();
    let batch = engine.take_batch();
    let [joined, submitted, assigned] = batch.as_slice() else { panic!("{batch:?}") };
    assert_eq!((joined.parent, submitted.parent), (None, None));
    assert_eq!(assigned.parent, Some(submitted.seq));
}

#[test]
#[should_panic(expected = "replay comes first")]
fn replay_comes_before_the_first_command() {
    let mut engine = with_one_offer();
    let entry = engine.take_batch().pop().unwrap();
    engine.handle(Timestamp(5), Command::Pause { kind: Name::fixed("t") }).result.unwrap();
    engine.replay(&entry);
}
