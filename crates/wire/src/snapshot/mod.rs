//! The state as a snapshot keeps it. Jobs are written by the journal, by hand, because there are
//! a million of them; all else, and all reading, goes through the generated types.

mod job;
mod statistics;
mod worker;

use bellwether_core::model::table::{Key, Table};
use bellwether_core::model::{
    Actor, ActorNo, Attempt, HeldAttempt, JobNo, KnownActor, Micros, MovedKey, Name, RunNo, Seq,
    TakenKey, Timestamp, Token, WallAhead, WorkerNo,
};
use bellwether_core::place::breaker::Breaker;
use bellwether_core::place::hedge::AckTimes;
use bellwether_core::place::predictor::StatisticsFacts;
use bellwether_core::place::shadow::ShadowTotals;
use bellwether_core::state::{JobState, Run, Totals};
use bellwether_core::{Engine, State};

pub use self::statistics::{cell_to_wire, machine_to_wire, type_to_wire};
pub use self::worker::worker_to_wire;
use crate::config::{config_from_wire, config_to_wire};
use crate::handoff::handoff_from_wire;
pub use crate::handoff::handoffs_to_wire;
use crate::key::{invitation_from_wire, key_facts_from_wire};
pub use crate::key::{invitation_to_wire, key_facts_to_wire};
use crate::malformed::{Malformed, name, optional_name};
use crate::v1;

pub fn header_to_wire(format: u32, state: &State) -> v1::SnapshotHeader {
    let (slowness_mean, slowness_jobs) = state.statistics.slowness();
    let (totals, breaker, shadow) = (&state.totals, &state.breaker, &state.shadow);
    v1::SnapshotHeader {
        format,
        seq: state.seq.0,
        // The time of the last event: the time of a command that led to none is not a fact.
        at: state.event_time.0,
        config: Some(config_to_wire(&state.config)),
        config_version: state.config_version,
        last_job: state.last_job.0,
        last_run: state.last_run.0,
        last_worker: state.last_worker.0,
        turn: state.turn.0,
        token_max: state.token_max.0,
        totals: Some(v1::TotalsFacts {
            live: totals.live,
            payload_bytes: totals.payload_bytes,
            submitted: totals.submitted,
            completed: totals.completed,
            assigned: totals.assigned,
            hedged: totals.hedged,
            end_gap: totals.end_gap.0,
            last_end: totals.last_end.0,
            mean_duration: totals.mean_duration.0,
            work: totals.work.0,
            tried_at: totals.tried_at.0,
        }),
        breaker: Some(v1::BreakerFacts {
            failures: breaker.failures,
            open_until: breaker.open_until.map(|until| until.0),
        }),
        shadow: Some(v1::ShadowFacts {
            decisions: shadow.decisions,
            agreed: shadow.agreed,
            live_finish: shadow.live_finish,
            shadow_finish: shadow.shadow_finish,
            round_robin_finish: shadow.round_robin_finish,
            turn: shadow.turn.0,
        }),
        slowness_mean,
        slowness_jobs,
        wall_ahead: state.wall_ahead.0,
        moved_key_at: state.moved_key.at.0,
        moved_key_job: state.moved_key.job.0,
        moved_id_at: state.moved_id.at.0,
        moved_id_job: state.moved_id.job.0,
        last_actor: state.actors.last.0,
        notes: state
            .notes
            .iter()
            .map(|(name, value)| v1::Noted { name: name.to_string(), value: value.to_string() })
            .collect(),
    }
}

/// Gathers the facts of a state, piece by piece.
#[derive(Debug)]
pub struct Restoring {
    state: State,
    statistics: StatisticsFacts,
}

impl Restoring {
    pub fn new(header: v1::SnapshotHeader) -> Result<Restoring, Malformed> {
        let missing = |field| move || Malformed::missing(field);
        let config = header.config.as_ref().ok_or_else(missing("config"))?;
        let totals = header.totals.ok_or_else(missing("totals"))?;
        let (breaker, shadow) =
            (header.breaker.unwrap_or_default(), header.shadow.unwrap_or_default());
        let mut state = State::default();
        state.seq = Seq(header.seq);
        state.event_time = Timestamp(header.at);
        state.wall_ahead = WallAhead(header.wall_ahead);
        let (at, job) = (Timestamp(header.moved_key_at), JobNo(header.moved_key_job));
        state.moved_key = MovedKey { at, job };
        let (at, job) = (Timestamp(header.moved_id_at), JobNo(header.moved_id_job));
        state.moved_id = MovedKey { at, job };
        state.config = config_from_wire(config).map_err(|error| error.within("config"))?;
        state.config_version = header.config_version;
        for note in &header.notes {
            state.notes.insert(name("notes", &note.name)?, name("notes", &note.value)?);
        }
        state.last_job = JobNo(header.last_job);
        state.last_run = RunNo(header.last_run);
        state.last_worker = WorkerNo(header.last_worker);
        state.turn = WorkerNo(header.turn);
        state.actors.last = ActorNo(header.last_actor);
        state.token_max = Token(header.token_max);
        state.totals = Totals {
            live: totals.live,
            payload_bytes: totals.payload_bytes,
            submitted: totals.submitted,
            completed: totals.completed,
            assigned: totals.assigned,
            hedged: totals.hedged,
            end_gap: Micros(totals.end_gap),
            last_end: Timestamp(totals.last_end),
            mean_duration: Micros(totals.mean_duration),
            work: Micros(totals.work),
            tried_at: Micros(totals.tried_at),
        };
        state.breaker =
            Breaker { failures: breaker.failures, open_until: breaker.open_until.map(Timestamp) };
        state.shadow = ShadowTotals {
            decisions: shadow.decisions,
            agreed: shadow.agreed,
            live_finish: shadow.live_finish,
            shadow_finish: shadow.shadow_finish,
            round_robin_finish: shadow.round_robin_finish,
            turn: WorkerNo(shadow.turn),
        };
        let statistics = StatisticsFacts {
            slowness_mean: header.slowness_mean,
            slowness_jobs: header.slowness_jobs,
            ..StatisticsFacts::default()
        };
        Ok(Restoring { state, statistics })
    }

    pub fn take(&mut self, piece: v1::SnapshotPiece) -> Result<(), Malformed> {
        let state = &mut self.state;
        for wire in piece.jobs {
            let (no, job) = job::job_from_wire(wire)?;
            insert("jobs", &mut state.jobs, state.last_job, no, job)?;
        }
        for wire in piece.runs {
            let id = name("runs.id", &wire.id)?;
            let run = Run { id, remembered: wire.remembered, live: wire.live };
            insert("runs", &mut state.runs, state.last_run, RunNo(wire.run), run)?;
        }
        for wire in piece.workers {
            let (no, worker) = worker::worker_from_wire(wire)?;
            insert("workers", &mut state.workers, state.last_worker, no, worker)?;
        }
        for end in piece.ended {
            state.ended.push_back((Timestamp(end.at), JobNo(end.number)));
        }
        for end in piece.gone {
            let number = u32::try_from(end.number).map_err(|_| {
                Malformed::not_allowed("gone", end.number, "workers have numbers of 32 bits")
            })?;
            state.gone.push_back((Timestamp(end.at), WorkerNo(number)));
        }
        for wire in piece.keys {
            let (name, job) = (name("keys.key", &wire.key)?, JobNo(wire.job));
            state.keys.push_back(TakenKey { at: Timestamp(wire.at), name, job });
        }
        for wire in piece.ids {
            let (name, job) = (name("ids.key", &wire.key)?, JobNo(wire.job));
            state.ids.push_back(TakenKey { at: Timestamp(wire.at), name, job });
        }
        for paused in &piece.paused {
            state.paused.insert(name("paused", paused)?);
        }
        for wire in &piece.models {
            state.model_loads.insert(name("models.model", &wire.model)?, Micros(wire.took));
        }
        for wire in piece.actors {
            let peer = optional_name("actors.peer", &wire.peer)?;
            let actor = Actor { name: name("actors.name", &wire.name)?, peer };
            let known = KnownActor { actor, heard: Seq(wire.heard) };
            state.actors.insert(ActorNo(wire.number), known);
        }
        for wire in piece.last_runs {
            state.last_runs.insert((wire.r#type, wire.sender), WorkerNo(wire.worker));
        }
        for wire in piece.worker_keys {
            let (worker, bound) =
                key_facts_from_wire(wire).map_err(|error| error.within("worker_keys"))?;
            state.worker_keys.insert(worker, bound);
        }
        for wire in piece.invitations {
            let (ticket, open) =
                invitation_from_wire(wire).map_err(|error| error.within("invitations"))?;
            state.invitations.insert(ticket, open);
        }
        for wire in piece.handoffs {
            let chain = wire.handoffs.iter().map(handoff_from_wire).collect::<Result<_, _>>();
            let chain = chain.map_err(|error| error.within("handoffs"))?;
            state.handoffs.insert(JobNo(wire.job), chain);
        }
        for wire in piece.acknowledgements {
            let v1::AcknowledgementFacts { r#type, samples, mean, deviation } = wire;
            state.hedging.by_type.insert(r#type, AckTimes { samples, mean, deviation });
        }
        statistics::take(&mut self.statistics, &piece.names, &piece.cells, &piece.types)?;
        self.statistics.machines.extend(piece.machines.iter().map(statistics::machine_from_wire));
        Ok(())
    }

    /// The engine with this state, unless its facts contradict each other.
    pub fn finish(mut self) -> Result<Engine, Malformed> {
        check(&self.state)?;
        self.state.statistics = self.statistics.into_statistics(&self.state.config);
        Ok(Engine::restore(self.state))
    }
}

/// Whatever is named is there: jobs and workers name each other, and so do jobs and their runs.
fn check(state: &State) -> Result<(), Malformed> {
    let wanted = "it must be one that is there";
    let missing = |field, number: u64| Err(Malformed::not_allowed(field, number, wanted));
    for (no, worker) in state.workers.iter() {
        for held in &worker.held {
            let is_it = |attempt: &Attempt| attempt.token == held.token && attempt.worker == no;
            let job = state.jobs.get(held.job).map(|job| &job.state);
            if !matches!(job, Some(JobState::Active(attempts)) if attempts.iter().any(is_it)) {
                return missing("workers.held.job", held.job.0);
            }
        }
    }
    for (no, job) in state.jobs.iter() {
        if let Some(run) = job.run.filter(|run| state.runs.get(*run).is_none()) {
            return missing("jobs.run", run.0);
        }
        let JobState::Active(attempts) = &job.state else { continue };
        for attempt in attempts {
            let held = HeldAttempt { job: no, token: attempt.token };
            let worker = state.workers.get(attempt.worker);
            if !worker.is_some_and(|worker| worker.held.contains(&held)) {
                return missing("jobs.active.worker", attempt.worker.0.into());
            }
        }
    }
    Ok(())
}

/// A number that was never given would make the table as large as it is high.
fn insert<K: Key + Ord, V: Clone>(
    field: &str,
    table: &mut Table<K, V>,
    last: K,
    number: K,
    value: V,
) -> Result<(), Malformed> {
    if number.position() == 0 || number > last {
        let wanted = "it must be one that was given";
        return Err(Malformed::not_allowed(field, number.position(), wanted));
    }
    table.insert(number, value);
    Ok(())
}

pub fn actor_to_wire(number: ActorNo, known: &KnownActor) -> v1::ActorFacts {
    v1::ActorFacts {
        number: number.0,
        name: known.actor.name.to_string(),
        peer: known.actor.peer.as_ref().map_or_else(String::new, Name::to_string),
        heard: known.heard.0,
    }
}

/// Models and how long they take to load.
pub fn model_to_wire(model: &Name, took: Micros) -> v1::ModelFacts {
    v1::ModelFacts { model: model.to_string(), took: took.0 }
}
