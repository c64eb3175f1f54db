//! The facts of the state as bytes, and back. Equal states give equal bytes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use serde::ser::SerializeSeq as _;
use serde::{Deserialize, Serialize, Serializer};

use crate::engine::Engine;
use crate::index::timers::Timer;
use crate::model::table::{Key, Table};
use crate::model::{
    Config, JobNo, Micros, Name, RunNo, Seq, Timestamp, Token, TraceParent, WorkerNo,
};
use crate::place::breaker::Breaker;
use crate::place::hedge::Hedging;
use crate::place::predictor::Statistics;
use crate::place::shadow::ShadowTotals;
use crate::state::{Job, JobState, Run, State, Totals, Worker};

/// The first format, followed by the trace parents of jobs that have one.
const FORMAT: u32 = 2;
const FIRST_FORMAT: u32 = 1;

/// More than most jobs take without their payloads. Room that stays empty costs nothing, while a list
/// that grows is copied.
const JOB_BYTES: usize = 256;

#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    #[error("the snapshot cannot be read: {0}")]
    Malformed(#[from] postcard::Error),
    #[error("the snapshot has format {found}; this version reads {FIRST_FORMAT} to {FORMAT}")]
    Format { found: u32 },
}

/// `J`, `R` and `W` are owned when a snapshot is read and borrowed when it is written.
#[derive(Serialize, Deserialize)]
struct Facts<J, R, W, S, C> {
    format: u32,
    seq: Seq,
    now: Timestamp,
    config: C,
    config_version: u64,
    last_job: JobNo,
    last_run: RunNo,
    last_worker: WorkerNo,
    jobs: J,
    runs: R,
    workers: W,
    paused: BTreeSet<Name>,
    statistics: S,
    breaker: Breaker,
    hedging: Hedging,
    shadow: ShadowTotals,
    model_loads: BTreeMap<Name, Micros>,
    turn: WorkerNo,
    token_max: Token,
    ended: VecDeque<(Timestamp, JobNo)>,
    gone: VecDeque<(Timestamp, WorkerNo)>,
    last_runs: BTreeMap<(u32, u32), WorkerNo>,
    keys: VecDeque<(Timestamp, Name, JobNo)>,
    totals: Totals,
}

/// A table as it is read: a list of pairs, which is never made when it is written.
struct Pairs<'a, K, V>(&'a Table<K, V>);

impl<K: Key + Serialize, V: Serialize> Serialize for Pairs<'_, K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        self.0.iter().try_for_each(|pair| list.serialize_element(&pair))?;
        list.end()
    }
}

pub(crate) fn encode(engine: &Engine) -> Vec<u8> {
    let state = &engine.state;
    let facts = Facts {
        format: FORMAT,
        seq: state.seq,
        // The time of the last event: the time of a command that led to none is not a fact.
        now: state.event_time,
        config: &state.config,
        config_version: state.config_version,
        last_job: state.last_job,
        last_run: state.last_run,
        last_worker: state.last_worker,
        jobs: Pairs(&state.jobs),
        runs: Pairs(&state.runs),
        workers: Pairs(&state.workers),
        paused: state.paused.clone(),
        statistics: &state.statistics,
        breaker: state.breaker,
        hedging: state.hedging.clone(),
        shadow: state.shadow,
        model_loads: state.model_loads.clone(),
        turn: state.turn,
        token_max: state.token_max,
        ended: state.ended.clone(),
        gone: state.gone.clone(),
        last_runs: state.last_runs.clone(),
        keys: state.keys.clone(),
        totals: state.totals,
    };
    let traces: Vec<(JobNo, Vec<u8>)> = state
        .jobs
        .iter()
        .filter_map(|(no, job)| Some((no, job.spec.trace_parent.as_deref()?.to_bytes().to_vec())))
        .collect();
    let plain = "facts are plain data and memory is not limited";
    let payload_bytes = usize::try_from(state.totals.payload_bytes).unwrap_or_default();
    let expected = state.jobs.len() * JOB_BYTES + payload_bytes;
    let bytes = postcard::to_extend(&facts, Vec::with_capacity(expected)).expect(plain);
    postcard::to_extend(&traces, bytes).expect(plain)
}

pub(crate) fn decode(bytes: &[u8]) -> Result<State, SnapshotError> {
    let (found, _) = postcard::take_from_bytes::<u32>(bytes)?;
    if !(FIRST_FORMAT..=FORMAT).contains(&found) {
        return Err(SnapshotError::Format { found });
    }
    type Pairs<K, V> = Vec<(K, V)>;
    type Read =
        Facts<Pairs<JobNo, Job>, Pairs<RunNo, Run>, Pairs<WorkerNo, Worker>, Statistics, Config>;
    let (facts, rest): (Read, &[u8]) = postcard::take_from_bytes(bytes)?;
    let traces: Vec<(JobNo, Vec<u8>)> =
        if found == FIRST_FORMAT { Vec::new() } else { postcard::from_bytes(rest)? };
    let mut state = State {
        seq: facts.seq,
        now: facts.now,
        event_time: facts.now,
        config: facts.config,
        config_version: facts.config_version,
        last_job: facts.last_job,
        last_run: facts.last_run,
        last_worker: facts.last_worker,
        paused: facts.paused,
        statistics: facts.statistics,
        breaker: facts.breaker,
        hedging: facts.hedging,
        shadow: facts.shadow,
        model_loads: facts.model_loads,
        turn: facts.turn,
        token_max: facts.token_max,
        ended: facts.ended,
        gone: facts.gone,
        last_runs: facts.last_runs,
        keys: facts.keys,
        totals: facts.totals,
        ..State::default()
    };
    for (no, run) in facts.runs {
        state.index.run_ids.insert(run.id.clone(), no);
        state.runs.insert(no, run);
    }
    for (_, key, no) in &state.keys {
        state.index.keys.insert(key.clone(), *no);
    }
    for (no, job) in facts.jobs {
        state.index.ids.insert(job.spec.id.clone(), no);
        state.jobs.insert(no, job);
    }
    for (no, bytes) in traces {
        if let Some(job) = state.jobs.get_mut(no)
            && let Ok(trace_parent) = TraceParent::from_bytes(&bytes)
        {
            Arc::make_mut(&mut job.spec).trace_parent = Some(Box::new(trace_parent));
        }
    }
    for (no, worker) in facts.workers {
        state.index.worker_ids.insert(worker.spec.id.clone(), no);
        state.workers.insert(no, worker);
    }
    rebuild(&mut state);
    Ok(state)
}

/// Derives the index from the facts.
fn rebuild(state: &mut State) {
    let workers: Vec<WorkerNo> = state.workers.keys().collect();
    for no in workers {
        state.enter_kind(no);
        state.relist_worker(no);
    }
    let jobs: Vec<JobNo> = state.jobs.keys().collect();
    for no in jobs {
        let features = state.statistics.features(&state.expect_job(no).spec);
        state.expect_job_mut(no).features = features;
        if state.expect_job(no).state.has_ended() {
            continue;
        }
        state.share_requirements(no);
        state.enter_class(no);
        let job = state.jobs.get(no).expect("it was there a line ago");
        match &job.state {
            JobState::Ready => state.index.classes.push(job.class, (job.rank, no)),
            JobState::Delayed { until } => state.index.timers.set(*until, Timer::Delayed(no)),
            JobState::Active(attempts) => {
                for attempt in attempts {
                    let timer = Timer::Attempt(no, attempt.token);
                    state.index.timers.set(attempt.phase.deadline(), timer);
                }
            }
            JobState::Waiting { .. }
            | JobState::Completed { .. }
            | JobState::Failed { .. }
            | JobState::Cancelled
            | JobState::Skipped { .. }
            | JobState::DeadLettered { .. } => {}
        }
    }
    state.index.dirty = true;
}
