//! One job from submission to result.

use bellwether_core::command::attempt;
use bellwether_core::model::{Config, JobNo, Name, NewJob, Submission, Timestamp, WorkerSpec};
use bellwether_core::{Command, Effect, Engine, JobState, Report};

#[test]
fn a_job_goes_from_submission_to_result() {
    let mut engine = Engine::new(Config::default());
    let spec = WorkerSpec::new(Name::fixed("w1"), 1);
    engine.handle(Timestamp(1), Command::Register { spec, held: vec![] }).result.unwrap();
    let job = NewJob::new(Name::fixed("a"), Name::fixed("t"));
    engine.handle(Timestamp(2), Command::Submit(Submission::one(job))).result.unwrap();
    assert!(engine.take_effects().is_empty(), "nothing is released before it is durable");
    let batch = engine.take_batch();
    engine.durable(batch.last().unwrap().seq);
    let effects = engine.take_effects();
    let [Effect::Offer { offer, .. }] = effects.as_slice() else { panic!("{effects:?}") };
    let report = |report| Command::Report {
        worker: Name::fixed("w1"),
        attempt: attempt(JobNo(1), offer.attempt.token),
        report,
    };
    engine.handle(Timestamp(3), report(Report::Acknowledge)).result.unwrap();
    engine.handle(Timestamp(4), report(Report::Complete { result: "ok".into() })).result.unwrap();
    assert!(matches!(engine.state().job(JobNo(1)).unwrap().state, JobState::Completed { .. }));
    let restored = Engine::restore(&engine.snapshot()).unwrap();
    assert_eq!(restored.state_hash(), engine.state_hash());
}
