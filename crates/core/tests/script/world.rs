//! An engine with its surroundings: a virtual clock, workers that send heartbeats by themselves,
//! and a journal that is durable at once.

use std::collections::BTreeMap;

use bellwether_core::model::{
    Admission, Config, Epoch, Handoff, HandoffSignature, Heartbeat, HeldAttempt, JobNo, Micros,
    Receiver, Timestamp, Token, WorkerKey, WorkerSpec,
};
use bellwether_core::place::predictor::{
    Features, Prediction, Predictor, PredictorError, Statistics, predictor,
};
use bellwether_core::{Answer, Command, Effect, Engine, Entry, Event, Rejection};
use bellwether_journal::state;
use sha2::{Digest as _, Sha256};

use super::parse::{self, Words};

/// Where the clock starts; output counts from here.
pub(crate) const START: Timestamp = Timestamp(1_000_000_000_000);

#[derive(Debug)]
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) now: Timestamp,
    pub(crate) journal: Vec<Entry>,
    pub(crate) effects: Vec<Effect>,
    /// Workers that live, by name.
    pub(crate) workers: BTreeMap<String, LiveWorker>,
    /// Every offer ever made of a job: who got it, under which token.
    offers: BTreeMap<JobNo, Vec<(String, HeldAttempt)>>,
    first_config: Config,
    predictor_fails: bool,
    /// What workers come with.
    pub(crate) admission: Admission,
}

#[derive(Debug, Clone)]
pub(crate) struct LiveWorker {
    pub(crate) spec: WorkerSpec,
    pub(crate) beat: Heartbeat,
    pub(crate) next_beat: Timestamp,
    pub(crate) silent: bool,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<Answer, Rejection>,
    pub(crate) batch: Vec<Entry>,
}

impl World {
    pub(crate) fn new(config: Config) -> World {
        World {
            engine: Engine::new(config.clone()),
            now: START,
            journal: Vec::new(),
            effects: Vec::new(),
            workers: BTreeMap::new(),
            offers: BTreeMap::new(),
            first_config: config,
            predictor_fails: false,
            admission: Admission::default(),
        }
    }

    /// Sends a command and makes what came of it durable. A refusal must have changed nothing.
    pub(crate) fn send(&mut self, command: Command) -> Outcome {
        self.now = Timestamp(self.now.0 + 1);
        let before = hash(&self.engine);
        let handled = self.engine.handle(self.now, command.clone());
        let after = hash(&self.engine);
        let batch = self.make_durable();
        if handled.result.is_err() {
            // Jobs may be placed meanwhile, because time has passed.
            let untouched =
                if batch.is_empty() { before == after } else { batch.iter().all(places) };
            assert!(untouched, "half applied: {command:?} {batch:?}");
        }
        Outcome { result: handled.result, batch }
    }

    fn make_durable(&mut self) -> Vec<Entry> {
        let batch = self.engine.take_batch();
        if let Some(last) = batch.last() {
            self.engine.durable(last.seq);
        }
        self.effects.extend(self.engine.take_effects());
        for entry in &batch {
            if let Event::Assigned { job, worker, .. } = &entry.event {
                let worker = self.engine.state().worker(*worker).expect("it was just chosen");
                let attempt = HeldAttempt { job: *job, token: entry.seq.into() };
                self.offers.entry(*job).or_default().push((worker.id().to_string(), attempt));
            }
        }
        self.journal.extend(batch.iter().cloned());
        batch
    }

    pub(crate) fn tick(&mut self) -> Outcome {
        self.send(Command::Tick)
    }

    pub(crate) fn register(&mut self, spec: WorkerSpec, held: Vec<HeldAttempt>) -> Outcome {
        let done =
            self.send(Command::Register { spec: spec.clone(), held, admission: self.admission });
        if done.result.is_ok() {
            let next_beat = self.now + self.engine.state().config().heartbeat_interval;
            let beat = Heartbeat::default();
            let id = spec.id.to_string();
            self.workers.insert(id, LiveWorker { spec, beat, next_beat, silent: false });
        }
        done
    }

    /// Lets time pass: heartbeats of workers that are not silent, and a tick at every deadline.
    pub(crate) fn wait(&mut self, span: Micros, mut seen: impl FnMut(&World, Vec<Entry>)) {
        let until = self.now + span;
        // A deadline that does not move would keep us here for ever.
        for _ in 0..1_000_000 {
            let beat = self.workers.iter().filter(|(_, worker)| !worker.silent);
            let beat = beat.map(|(id, worker)| (worker.next_beat, id.clone())).min();
            let deadline = self.engine.next_deadline();
            let next = [beat.as_ref().map(|(at, _)| *at), deadline].into_iter().flatten().min();
            let Some(next) = next.filter(|at| *at <= until) else {
                self.now = until;
                return;
            };
            self.now = self.now.max(next - Micros(1));
            let batch = match beat {
                Some((at, id)) if at == next => self.beat(&id),
                _ => self.send(Command::Tick).batch,
            };
            seen(self, batch);
        }
        panic!("a deadline stays where it is: {:?}", self.engine.next_deadline());
    }

    /// A heartbeat; one of a worker that was given up makes it register again, empty-handed.
    fn beat(&mut self, id: &str) -> Vec<Entry> {
        let interval = self.engine.state().config().heartbeat_interval;
        let worker = self.workers.get_mut(id).expect("only known workers beat");
        worker.next_beat = self.now + interval;
        let (spec, beat) = (worker.spec.clone(), worker.beat);
        let Outcome { result, batch } =
            self.send(Command::Heartbeat { worker: spec.id.clone(), beat });
        match result {
            Ok(_) => batch,
            Err(Rejection::UnknownWorker { .. }) => self.register(spec, vec![]).batch,
            Err(other) => panic!("a heartbeat was refused: {other}"),
        }
    }

    /// The offer of a job that a report is about: the latest, the latest to this worker, or the
    /// n-th of all.
    pub(crate) fn offer(&self, job: &str, by: Option<&str>, nth: Option<usize>) -> Option<Offered> {
        let no = self.engine.state().job_no(job).or_else(|| self.forgotten(job))?;
        let offers = self.offers.get(&no)?;
        if let Some(nth) = nth {
            return offers.get(nth - 1).cloned();
        }
        offers.iter().rfind(|(worker, _)| by.is_none_or(|by| by == worker)).cloned()
    }

    /// What the holder of an attempt signs, but for what the words change.
    pub(crate) fn handoff(&self, worker: &str, attempt: HeldAttempt, words: &Words<'_>) -> Handoff {
        let state = self.engine.state();
        let job = state.job(attempt.job).expect("a job that is known");
        let key = self.workers.get(worker).and_then(|worker| worker.spec.public_key);
        let key = words.get("key").map(parse::key).or(key).unwrap_or(WorkerKey([0; 32]));
        let previous = state.handoffs_of(attempt.job).last().map(|last| last.signature);
        let lasts = words.get("lasts").map_or(Micros::from_secs(60), parse::span);
        let payload =
            words.get("payload").map_or(job.spec.payload.clone(), |text| text.to_owned().into());
        let mark = attempt.token.0 as u8;
        Handoff {
            from: parse::name(worker),
            job: words.get("job").map_or_else(|| job.spec.id.clone(), parse::name),
            receiver: Receiver::parse(words.get("to").expect("to whom")).expect("a name"),
            payload_hash: Sha256::digest(&payload).into(),
            key,
            token: words.get("token").map_or(attempt.token, |text| Token(parse::number(text))),
            epoch: Epoch(1),
            expires: state.wall_ahead().on_the_wall(self.now + lasts),
            previous: if words.says("unchained") {
                HandoffSignature([9; 64])
            } else {
                previous.unwrap_or(HandoffSignature::NONE)
            },
            signature: HandoffSignature([mark; 64]),
        }
    }

    /// The number of a job that the engine no longer knows by name.
    fn forgotten(&self, id: &str) -> Option<JobNo> {
        self.journal.iter().rev().find_map(|entry| {
            let Event::Submitted { first, jobs, .. } = &entry.event else { return None };
            let position = jobs.iter().position(|job| job.spec.id.as_str() == id)?;
            Some(JobNo(first.0 + position as u64))
        })
    }

    pub(crate) fn job_name(&self, no: JobNo) -> String {
        if let Some(job) = self.engine.state().job(no) {
            return job.spec.id.to_string();
        }
        let name = self.journal.iter().find_map(|entry| {
            let Event::Submitted { first, jobs, .. } = &entry.event else { return None };
            let offset = no.0.checked_sub(first.0)?;
            Some(jobs.get(offset as usize)?.spec.id.to_string())
        });
        name.unwrap_or_else(|| format!("#{no}"))
    }

    /// A new scheduler from the journal, as after a crash. Its first tick starts all terms.
    pub(crate) fn restart(&mut self) -> Outcome {
        self.engine = self.replayed();
        self.break_predictor(self.predictor_fails);
        self.send(Command::Tick)
    }

    pub(crate) fn restart_from_snapshot(&mut self) -> Outcome {
        self.engine = restored(&self.engine);
        self.break_predictor(self.predictor_fails);
        self.send(Command::Tick)
    }

    /// From now on every prediction fails, also after a restart; or none does.
    pub(crate) fn break_predictor(&mut self, fails: bool) {
        self.predictor_fails = fails;
        let kind = self.engine.state().config().predictor;
        self.engine.set_predictor(if fails { Box::new(Failing) } else { predictor(kind) });
    }

    fn replayed(&self) -> Engine {
        let mut engine = Engine::new(self.first_config.clone());
        for entry in &self.journal {
            engine.replay(entry);
        }
        engine
    }

    /// What must hold after every history.
    pub(crate) fn check_promises(&self) {
        let live = hash(&self.engine);
        assert_eq!(hash(&self.replayed()), live, "replay gives another state");
        assert_eq!(hash(&restored(&self.engine)), live, "the snapshot gives another state");
        let mut engine = Engine::new(self.first_config.clone());
        for entry in &self.journal {
            if let Err(mismatch) = engine.verify(entry) {
                panic!("{mismatch}; recorded: {entry:?}");
            }
        }
        assert_eq!(hash(&engine), live, "verification gives another state");
    }
}

fn places(entry: &Entry) -> bool {
    matches!(
        entry.event,
        Event::Assigned { .. }
            | Event::PredictorFailed { .. }
            | Event::BreakerOpened { .. }
            | Event::BreakerClosed
    )
}

pub(crate) type Offered = (String, HeldAttempt);

pub(crate) fn restored(engine: &Engine) -> Engine {
    state::decode(&state::encode(engine.state())).expect("a snapshot can be read back")
}

pub(crate) fn hash(engine: &Engine) -> [u8; 32] {
    state::hash(engine.state())
}

#[derive(Debug)]
struct Failing;

impl Predictor for Failing {
    fn predict(
        &self,
        _: &Statistics,
        _: &Features,
        _: Option<u32>,
    ) -> Result<Prediction, PredictorError> {
        Err(PredictorError::Unavailable("it was told to fail".to_owned()))
    }
}
