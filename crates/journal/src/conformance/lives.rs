//! The journal of plain jobs, to measure with.

use std::sync::Arc;

use bellwether_core::event::{Basis, Loser, Score, Terms};
use bellwether_core::model::config::Weights;
use bellwether_core::model::{
    AcceptedJob, ActorNo, JobId, JobNo, JobSpec, Micros, Name, Requirements, Resources, Seq,
    Strategy, Target, Timestamp, Token, WorkerNo,
};
use bellwether_core::{Decision, Entry, Event, Reason};
use bytes::Bytes;

/// The four events of each job, the first of which follows `after`: 80 bytes an event.
pub fn plain_lives(after: Seq, jobs: usize) -> Vec<Entry> {
    let requirements = Arc::new(Requirements {
        kind: Name::fixed("resize"),
        target: Target::Any,
        resources: Resources::default(),
        capabilities: Box::default(),
        model: None,
    });
    let mut entries = Vec::new();
    for number in 0..jobs as u64 {
        let first = after.0 + 1 + 4 * number;
        let job = JobNo(1_000_000 + first / 4);
        let token = Token(first + 1);
        let events = [
            Event::Submitted { run: None, first: job, jobs: vec![accepted(job, &requirements)] },
            Event::Assigned {
                job,
                worker: WorkerNo(17),
                hedge: false,
                decision: Box::new(decision()),
            },
            Event::Started { job, token },
            Event::Completed {
                job,
                token,
                result: Bytes::new(),
                result_hash: blake3::hash(b"").into(),
            },
        ];
        entries.extend(events.into_iter().zip(first..).map(|(event, seq)| Entry {
            seq: Seq(seq),
            at: Timestamp(1_763_000_000_000_000 + number),
            parent: (seq > 1).then(|| Seq(seq - 1)),
            actor: ActorNo::default(),
            event,
            moved: Box::default(),
        }));
    }
    entries
}

fn accepted(job: JobNo, requirements: &Arc<Requirements>) -> AcceptedJob {
    let id = JobId::fixed(&format!("0199f8a1-7b7c-7d3e-8e21-{job:012}"));
    let spec = JobSpec {
        requirements: Arc::clone(requirements),
        payload: Bytes::from_static(&[b'x'; 100]),
        timeout: Some(Micros::from_secs(90)),
        retry: Some(3),
        ..JobSpec::new(id, requirements.kind.clone())
    };
    AcceptedJob {
        spec: Arc::new(spec),
        dependencies: Box::default(),
        predicted: Micros(5_000),
        rank: 1_763_000_000_000_000,
        doomed: false,
    }
}

fn decision() -> Decision {
    let terms = Terms { wait: Score(712_345), load: Score(500_000) };
    let loser = Loser { worker: WorkerNo(3), score: Score(712_345), finish: Micros(7_654), terms };
    Decision {
        strategy: Strategy::Predictive,
        fallback: false,
        score: Score(812_345),
        predicted_wait: Micros(1_234),
        predicted_duration: Micros(5_678),
        confidence_percent: 80,
        load_model: false,
        reason: Reason::PredictedBest,
        losers: vec![loser, loser, loser],
        shadow: None,
        basis: Some(Basis {
            weights: Weights { wait: 400, load: 400, priority: 200 },
            terms,
            priority: Score(500_000),
            samples: 1_234,
            candidates: 4,
        }),
    }
}
