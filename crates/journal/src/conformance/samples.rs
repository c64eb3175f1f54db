//! Made-up entries of every kind, the same for the same seed.

use std::num::NonZeroU32;
use std::sync::Arc;

use bellwether_core::event::{Basis, DeadReason, Loser, RunHeader, Score, Shadow, Terms};
use bellwether_core::model::config::{Backoff, PredictorKind, Priorities, Weights};
use bellwether_core::model::{
    AcceptedJob, Actor, ActorNo, Aside, Checkpoint, Config, Epoch, Escalation, Extras,
    FailureCause, Guarantee, Handoff, HandoffSignature, Heartbeat, JobId, JobNo, JobSpec,
    JobStatus, KeyLimit, KeySet, KeyStanding, KeyTerms, KeyUse, Micros, Name, OnFailure, OnLimit,
    Priority, Receiver, Requirements, Resources, RevokeReason, RunId, RunNo, Sample, Seq, Strategy,
    Target, Ticket, Timestamp, Token, TraceParent, WallAhead, WorkerId, WorkerKey, WorkerNo,
    WorkerSpec,
};
use bellwether_core::{Decision, Entry, Event, Moved, Reason};
use bytes::Bytes;

/// How many kinds of events there are.
pub const KINDS: u64 = 46;

#[derive(Debug)]
pub struct Samples {
    state: u64,
    next: Seq,
    at: Timestamp,
}

impl Samples {
    /// The first entry follows `after`.
    pub fn new(seed: u64, after: Seq) -> Samples {
        Samples { state: seed, next: after.next(), at: Timestamp(1_700_000_000_000_000) }
    }

    /// Entries of kinds chosen by the seed.
    pub fn entries(&mut self, count: usize) -> Vec<Entry> {
        (0..count)
            .map(|_| {
                let kind = self.below(KINDS);
                self.entry(kind)
            })
            .collect()
    }

    /// Entries of a few bytes each.
    pub fn small_entries(&mut self, count: usize) -> Vec<Entry> {
        (0..count).map(|_| self.entry(2)).collect()
    }

    /// One entry of each kind.
    pub fn every_kind(&mut self) -> Vec<Entry> {
        (0..KINDS).map(|kind| self.entry(kind)).collect()
    }

    fn entry(&mut self, kind: u64) -> Entry {
        let seq = self.next;
        self.next = seq.next();
        self.at = self.at + Micros(self.below(5_000));
        let parent = (self.chance() && seq.0 > 1).then(|| Seq(seq.0 - 1 - self.below(seq.0 - 1)));
        let (event, at) = (self.event(kind), self.at);
        let moved = (0..self.below(3)).map(|_| self.moved()).collect();
        let actor = ActorNo(self.below(3) as u32);
        Entry { seq, at, parent, actor, event, moved }
    }

    fn moved(&mut self) -> Moved {
        Moved { job: JobNo(self.number()), to: self.one_of(&JobStatus::ALL) }
    }

    fn event(&mut self, kind: u64) -> Event {
        let (job, token) = (JobNo(self.number()), Token(self.number()));
        let worker = WorkerNo(self.below(1 << 32) as u32);
        match kind {
            0 => Event::Submitted {
                run: self
                    .chance()
                    .then(|| RunHeader { run: RunNo(7), id: RunId::fixed("nightly") }),
                first: job,
                jobs: (0..self.below(3)).map(|_| self.accepted_job()).collect(),
            },
            1 => Event::Assigned {
                job,
                worker,
                hedge: self.chance(),
                decision: Box::new(self.decision()),
            },
            2 => Event::Started { job, token },
            3 => Event::Granted { job, token },
            4 => Event::Progressed { job, token, permille: 500, note: self.text() },
            5 => {
                let result = self.bytes();
                let result_hash = blake3::hash(&result).into();
                Event::Completed { job, token, result, result_hash }
            }
            6 => Event::AttemptFailed { job, token, cause: self.cause(), error: self.text() },
            7 => {
                let reason = self.one_of(&[
                    RevokeReason::HedgeLost,
                    RevokeReason::Cancelled,
                    RevokeReason::GivenUp,
                    RevokeReason::Unknown,
                    RevokeReason::HandedOff,
                ]);
                Event::Revoked { job, token, reason }
            }
            8 => {
                let avoid = self.chance().then(|| WorkerNo(1 + self.below(9) as u32));
                Event::Retried { job, not_before: Timestamp(self.number()), avoid }
            }
            9 => Event::Escalated { job, priority: self.priority(), role: self.name() },
            10 => {
                let reason = self.one_of(&[DeadReason::RetriesUsedUp, DeadReason::Poison]);
                Event::DeadLettered { job, reason }
            }
            11 => Event::Failed { job, cause: self.cause() },
            12 => Event::Skipped { job, because: JobNo(self.number()) },
            13 => Event::Cancelled { job, reason: self.text() },
            14 => Event::Reopened { job },
            15 => Event::Pinned { job, worker },
            16 => Event::WorkerJoined { worker, spec: Arc::new(self.worker_spec()) },
            17 => Event::WorkerReturned { worker },
            18 => Event::WorkerReported { worker, beat: self.heartbeat() },
            19 => Event::WorkerDraining { worker },
            20 => Event::WorkerUndrained { worker },
            21 => Event::WorkerLost { worker },
            22 => Event::WorkerLeft { worker },
            23 => Event::ModelLoaded {
                worker,
                model: Name::fixed("llama-70b"),
                took: Micros(self.number()),
            },
            24 => Event::Paused { kind: Name::fixed("resize") },
            25 => Event::Unpaused { kind: Name::fixed("resize") },
            26 => Event::Configured { version: self.number(), config: Box::new(self.config()) },
            27 => Event::PredictorFailed { job, error: self.text() },
            28 => Event::BreakerOpened { until: Timestamp(self.number()) },
            29 => Event::BreakerClosed,
            30 => Event::Due { job },
            31 => Event::DriftDetected {
                kind: Name::fixed("resize"),
                error_percent: 80,
                usual_percent: 20,
            },
            32 => Event::Warmed {
                kind: Name::fixed("resize"),
                samples: (0..self.below(3)).map(|_| self.sample()).collect(),
            },
            35 => Event::WorkerInvited {
                worker: WorkerId::fixed("worker-1"),
                ticket: Ticket(blake3::hash(b"ticket").into()),
                terms: Box::new(self.key_terms()),
                expires: Timestamp(self.number()),
            },
            36 => Event::WorkerKeyBound {
                worker: WorkerId::fixed("worker-1"),
                key: WorkerKey(blake3::hash(b"key").into()),
                standing: self.one_of(&KeyStanding::ALL),
                terms: Box::new(self.key_terms()),
                ticket: self.chance().then(|| Ticket(blake3::hash(b"ticket").into())),
            },
            37 => Event::WorkerKeyRotated {
                worker: WorkerId::fixed("worker-1"),
                key: WorkerKey(blake3::hash(b"another key").into()),
            },
            38 => Event::WorkerKeyRevoked { worker: WorkerId::fixed("worker-1") },
            39 => Event::HandedOff { job, token, handoff: Box::new(self.handoff()) },
            33 => Event::TermsExtended { by: Micros(self.number()) },
            40 => Event::ActorNamed {
                number: ActorNo(self.below(1 << 32) as u32),
                actor: Actor { name: Name::fixed("ci"), peer: self.name() },
            },
            41 => Event::WorkerSilent { worker },
            42 => Event::WorkerHeard { worker },
            43 => Event::Checkpointed { checkpoint: Box::new(self.checkpoint()) },
            45 => {
                let key = Name::fixed("tenant-1");
                Event::SkippedByKey { job, key, holder: JobNo(self.number()) }
            }
            44 => Event::Noted { name: Name::fixed("queue orders"), value: Name::fixed("17") },
            _ => Event::ClockStepped { from: self.wall_ahead(), to: self.wall_ahead() },
        }
    }

    fn checkpoint(&mut self) -> Checkpoint {
        Checkpoint {
            scheduler: Name::fixed("urn:uuid:ours"),
            position: Seq(self.number()),
            chain: blake3::hash(b"chain").into(),
            epoch: Epoch(self.number()),
            at: Timestamp(self.number()),
            key: WorkerKey(blake3::hash(b"key").into()),
            signature: HandoffSignature([self.below(256) as u8; 64]),
        }
    }

    fn key_terms(&mut self) -> KeyTerms {
        let namespace = self.labels().first().cloned();
        KeyTerms { roles: self.labels(), types: self.labels(), namespace }
    }

    fn handoff(&mut self) -> Handoff {
        let receiver = match self.chance() {
            true => Receiver::Role(Name::fixed("worker-2")),
            false => Receiver::Worker(WorkerId::fixed("worker-2")),
        };
        Handoff {
            from: WorkerId::fixed("worker-1"),
            job: JobId::fixed("job-1"),
            receiver,
            payload_hash: blake3::hash(b"payload").into(),
            key: WorkerKey(blake3::hash(b"key").into()),
            token: Token(self.number()),
            epoch: Epoch(self.number()),
            expires: Timestamp(self.number()),
            previous: HandoffSignature::NONE,
            signature: HandoffSignature([7; 64]),
        }
    }

    fn wall_ahead(&mut self) -> WallAhead {
        let size = self.number() as i64;
        WallAhead(if self.chance() { size } else { size.wrapping_neg() })
    }

    fn accepted_job(&mut self) -> AcceptedJob {
        AcceptedJob {
            spec: Arc::new(self.job_spec()),
            dependencies: (0..self.below(4)).map(|_| JobNo(self.number())).collect(),
            predicted: Micros(self.number()),
            rank: self.number() as i64,
            doomed: self.chance(),
        }
    }

    fn job_spec(&mut self) -> JobSpec {
        let target = match self.below(3) {
            0 => Target::Any,
            1 => Target::Role(Name::fixed("renderer")),
            _ => Target::Receiver(WorkerId::fixed("worker-3")),
        };
        JobSpec {
            id: JobId::fixed(&format!("job-{}", self.number())),
            node: self.name(),
            requirements: Arc::new(Requirements {
                kind: Name::fixed("image_generation"),
                target,
                resources: Resources { cpu: self.below(4_000) as u32, memory: self.number() },
                capabilities: self.labels(),
                model: self.name(),
            }),
            priority: self.priority(),
            guarantee: self.one_of(&[
                Guarantee::AtMostOnce,
                Guarantee::AtLeastOnce,
                Guarantee::ExactlyOnce,
            ]),
            on_failure: self.one_of(&[OnFailure::Skip, OnFailure::Run]),
            payload: self.bytes(),
            dependencies: self.labels().into_iter().map(JobId::from).collect(),
            timeout: Some(Micros(self.number())),
            retry: Some(self.below(6) as u32),
            sender: self.name(),
            idempotency_key: self.name(),
            tags: self.labels(),
            aside: Aside::boxed(self.keys(), self.extras()),
        }
    }

    fn extras(&mut self) -> Extras {
        Extras {
            delay: Micros(self.below(2).saturating_mul(self.number())),
            not_before: Timestamp(self.below(2).saturating_mul(self.number())),
            escalation: self.chance().then(|| {
                let priority = self.chance().then(|| self.priority());
                Escalation { priority, role: self.name() }
            }),
            // Longer than any payload here, which is what no hint means.
            input_bytes: self.chance().then(|| 1_000_000 + self.below(1_000_000)),
            trace_parent: self.chance().then(|| self.trace_parent()),
        }
    }

    fn keys(&mut self) -> Option<Arc<KeySet>> {
        let each = |number: u64, samples: &mut Self| KeyUse {
            key: Name::fixed(&format!("key-{number}")),
            weight: NonZeroU32::MIN.saturating_add(samples.below(3) as u32),
            limit: NonZeroU32::new(samples.below(3) as u32),
            on_limit: samples.chance().then(|| samples.one_of(&OnLimit::ALL)),
        };
        KeySet::of((0..self.below(4)).map(|number| each(number, self)).collect())
    }

    fn trace_parent(&mut self) -> TraceParent {
        let (trace, span) = (self.random().max(1), self.random().max(1));
        TraceParent {
            trace_id: u128::from(trace).to_be_bytes(),
            span_id: span.to_be_bytes(),
            flags: u8::from(self.chance()),
        }
    }

    fn sample(&mut self) -> Sample {
        Sample {
            sender: self.name(),
            input_bytes: self.number(),
            cpu: self.below(64_000) as u32,
            class: Name::fixed("default"),
            started: Timestamp(self.number()),
            took: Micros(self.number()),
        }
    }

    fn worker_spec(&mut self) -> WorkerSpec {
        WorkerSpec {
            endpoint: self.text(),
            zone: self.name(),
            types: self.labels(),
            roles: self.labels(),
            capabilities: self.labels(),
            models: self.labels(),
            loads_models: self.chance(),
            resources: Resources { cpu: self.below(64_000) as u32, memory: self.number() },
            public_key: self.chance().then(|| WorkerKey(blake3::hash(b"key").into())),
            instance: self.number(),
            speed_permille: self.below(10_000) as u32,
            ..WorkerSpec::new(WorkerId::fixed("worker-1"), 1 + self.below(64) as u32)
        }
    }

    fn decision(&mut self) -> Decision {
        let reason = match self.below(13) {
            0 => Reason::OnlyWorker,
            1 => Reason::LeastLoaded { depth: self.below(10) as u32 },
            2 => Reason::ResourceFit {
                free_cpu: 4_000,
                required_cpu: self.below(4_000) as u32,
                free_memory: self.number(),
                required_memory: self.number(),
            },
            3 => Reason::DataLocality,
            4 => Reason::PreviouslyExecuted,
            5 => Reason::SameZone,
            6 => Reason::PredictedBest,
            7 => Reason::NextInTurn,
            8 => Reason::StableHash,
            9 => Reason::SparesFastSlots,
            10 => Reason::NotWhereItFailed,
            11 => Reason::ToLearn,
            _ => Reason::Hedge,
        };
        Decision {
            strategy: self.one_of(&Strategy::ALL),
            fallback: self.chance(),
            score: Score(self.number() as i64),
            predicted_wait: Micros(self.number()),
            predicted_duration: Micros(self.number()),
            confidence_percent: self.below(101) as u8,
            load_model: self.chance(),
            reason,
            losers: (0..self.below(4))
                .map(|_| Loser {
                    worker: WorkerNo(self.below(100) as u32),
                    score: Score(-(self.below(1_000_000) as i64)),
                    finish: Micros(self.number()),
                    terms: self.terms(),
                })
                .collect(),
            shadow: self.chance().then(|| Shadow {
                worker: WorkerNo(self.below(100) as u32),
                predicted_finish: Micros(self.number()),
                live_finish: Micros(self.number()),
                round_robin_finish: Micros(self.number()),
                round_robin: self.chance().then(|| WorkerNo(1 + self.below(100) as u32)),
            }),
            basis: self.chance().then(|| Basis {
                weights: Weights { wait: self.below(1_000) as u32, load: 400, priority: 0 },
                terms: self.terms(),
                priority: Score(self.below(1_000_001) as i64),
                samples: self.below(100) as u32,
                candidates: self.below(4) as u32,
            }),
        }
    }

    fn terms(&mut self) -> Terms {
        let mut term = || Score(self.below(1_000_001) as i64);
        Terms { wait: term(), load: term() }
    }

    fn config(&mut self) -> Config {
        Config {
            strategy: self.one_of(&Strategy::ALL),
            shadow: self.chance().then_some(Strategy::RoundRobin),
            predictor: self.one_of(&PredictorKind::ALL),
            retry_backoff: self.one_of(&Backoff::ALL),
            priorities: Priorities { low: self.below(25) as u32, ..Priorities::default() },
            duration_by_type: vec![(Name::fixed("resize"), Micros(self.number()))],
            limits: vec![KeyLimit {
                pattern: Name::fixed("tenant-*"),
                max: self.below(5) as u32,
                on_limit: self.one_of(&OnLimit::ALL),
            }],
            ..Config::default()
        }
    }

    fn heartbeat(&mut self) -> Heartbeat {
        Heartbeat {
            cpu_permille: self.below(1_001) as u32,
            memory_permille: self.below(1_001) as u32,
            load_permille: self.below(1_001) as u32,
            queue_depth: self.below(10) as u32,
            overloaded: self.chance(),
        }
    }

    fn cause(&mut self) -> FailureCause {
        self.one_of(&[
            FailureCause::Failed,
            FailureCause::TimedOut,
            FailureCause::Stalled,
            FailureCause::WorkerLost,
            FailureCause::Undelivered,
            FailureCause::Returned,
            FailureCause::Permanent,
            FailureCause::NoHandler,
        ])
    }

    fn priority(&mut self) -> Priority {
        self.one_of(&Priority::ALL)
    }

    fn name(&mut self) -> Option<Name> {
        self.chance().then(|| Name::fixed(&format!("name-{}", self.below(1_000))))
    }

    fn labels(&mut self) -> Box<[Name]> {
        let count = self.below(4);
        (0..count).map(|label| Name::fixed(&format!("label-{label}"))).collect()
    }

    fn text(&mut self) -> String {
        "the lamp went out ".repeat(self.below(12) as usize)
    }

    fn bytes(&mut self) -> Bytes {
        let len = self.one_of(&[0, 1, 20, 127, 128, 300, 20_000]);
        let byte = self.below(256) as u8;
        vec![byte; len].into()
    }

    /// Of any length, zero included.
    fn number(&mut self) -> u64 {
        let bits = self.below(65);
        self.random().checked_shr(64 - bits as u32).unwrap_or(0)
    }

    fn chance(&mut self) -> bool {
        self.below(2) == 1
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random() % bound
    }

    // splitmix64
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
