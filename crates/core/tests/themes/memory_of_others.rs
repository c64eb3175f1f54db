//! What somebody else remembers of a type, and what a job carries for those who look on.

use bellwether_core::model::{
    Config, JobId, JobSpec, Micros, Name, Sample, Submission, Timestamp, TraceParent, WorkerId,
    WorkerSpec,
};
use bellwether_core::{Command, Engine, Entry, Event};

use crate::script::{hash, restored};

const NOW: Timestamp = Timestamp(1_800_000_000_000_000);

fn sample(ago_s: u64, took_ms: u64) -> Sample {
    Sample {
        sender: None,
        input_bytes: 0,
        cpu: 0,
        class: Name::fixed("default"),
        started: NOW - Micros::from_secs(ago_s),
        took: Micros::from_millis(took_ms),
    }
}

fn warm(engine: &mut Engine, samples: Vec<Sample>) {
    let command = Command::Warm { kind: Name::fixed("resize"), samples };
    engine.handle(NOW, command).result.expect("nothing speaks against it");
}

/// Submits a job and a worker for it, and gives back what was predicted.
fn predicted(engine: &mut Engine, id: &str) -> (Micros, Vec<Entry>) {
    let spec = WorkerSpec::new(WorkerId::fixed("w"), 1);
    engine
        .handle(NOW, Command::Register { spec, held: Vec::new(), admission: Default::default() })
        .result
        .expect("nothing speaks against it");
    let job = JobSpec::new(JobId::fixed(id), Name::fixed("resize"));
    engine
        .handle(NOW, Command::Submit(Submission::one(job)))
        .result
        .expect("nothing speaks against it");
    let batch = engine.take_batch();
    let decision = batch.iter().find_map(|entry| match &entry.event {
        Event::Assigned { decision, .. } => Some(decision.predicted_duration),
        _ => None,
    });
    (decision.expect("a worker is free"), batch)
}

#[test]
fn a_type_without_a_history_is_predicted_from_what_others_remember() {
    let mut engine = Engine::new(Config::default());
    warm(&mut engine, (1..=20).map(|day| sample(day * 86_400, 200)).collect());
    let (predicted, batch) = predicted(&mut engine, "a");
    assert_eq!(predicted.as_millis(), 200);
    // Nothing was predicted then, so nothing can be said of how good it was.
    let statistics = engine.state().statistics();
    assert_eq!(statistics.accuracy(statistics.lookup(&Name::fixed("resize"))), None);

    let mut again = Engine::new(Config::default());
    for entry in &batch {
        again.verify(entry).unwrap();
    }
    assert_eq!(hash(&again), hash(&engine));
}

#[test]
fn what_a_type_has_learned_here_counts_more() {
    let mut engine = Engine::new(Config::default());
    warm(&mut engine, vec![sample(60, 200)]);
    engine.take_batch();
    warm(&mut engine, vec![sample(30, 900)]);
    assert_eq!(engine.take_batch(), []);
    assert_eq!(predicted(&mut engine, "a").0.as_millis(), 200);
}

#[test]
fn the_latest_of_too_many_samples_are_taken_and_none_from_the_future() {
    let mut engine = Engine::new(Config::default());
    let future = Sample { started: NOW + Micros(1), ..sample(0, 1) };
    warm(&mut engine, (0..500).map(|ago| sample(500 - ago, 200)).chain([future]).collect());
    let batch = engine.take_batch();
    let [Entry { event: Event::Warmed { samples, .. }, .. }] = &batch[..] else {
        panic!("{batch:?}")
    };
    assert_eq!(samples.len(), 128);
    assert_eq!(samples[127], sample(1, 200));
}

#[test]
fn a_trace_parent_survives_a_snapshot() {
    let trace = TraceParent { trace_id: [1; 16], span_id: [2; 8], flags: 1 };
    let mut engine = Engine::new(Config::default());
    let mut job = JobSpec::new(JobId::fixed("a"), Name::fixed("resize"));
    job.extras_mut().trace_parent = Some(trace);
    engine.handle(NOW, Command::Submit(Submission::one(job))).result.unwrap();
    let restored = restored(&engine);
    let job = restored.state().job(restored.state().job_no("a").unwrap()).unwrap();
    assert_eq!(job.spec.extras().trace_parent, Some(trace));
    assert_eq!(hash(&restored), hash(&engine));
}
