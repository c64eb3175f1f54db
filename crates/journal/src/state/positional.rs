//! Formats 1 and 2: every field in its place, without numbers, as the first version wrote them. They
//! are turned into the messages of the schema, so nothing that is added later touches this file.
//! Integers are varints, enums the number of their variant, options and lists have one byte or their
//! length before them.

use std::collections::BTreeMap;

use bellwether_wire::v1::{self, job_facts::State, worker_facts::Status};
use prost::encoding::decode_varint;

type Read<T> = Result<T, &'static str>;

const ENDS_EARLY: &str = "it ends early";

/// The header, and all else in one piece. `traced` is format 2, in which the trace parents follow.
pub(super) fn read(bytes: &[u8], traced: bool) -> Read<(v1::SnapshotHeader, v1::SnapshotPiece)> {
    let mut r = Reader { rest: bytes };
    let (mut header, mut piece) = (v1::SnapshotHeader::default(), v1::SnapshotPiece::default());
    header.format = super::FORMAT;
    (header.seq, header.at) = (r.u64()?, r.u64()?);
    header.config = Some(config(&mut r)?);
    (header.config_version, header.last_job, header.last_run) = (r.u64()?, r.u64()?, r.u64()?);
    header.last_worker = r.u32()?;
    piece.jobs = r.list(job)?;
    piece.runs = r.list(|r| {
        let (run, id, remembered, live) = (r.u64()?, r.text()?, r.u32()?, r.u32()?);
        Ok(v1::RunFacts { run, id, remembered, live })
    })?;
    piece.workers = r.list(worker)?;
    piece.paused = r.list(Reader::text)?;
    statistics(&mut r, &mut header, &mut piece)?;
    let (failures, open_until) = (r.u32()?, r.option(Reader::u64)?);
    header.breaker = Some(v1::BreakerFacts { failures, open_until });
    piece.acknowledgements = r.list(|r| {
        let (r#type, samples, mean, deviation) = (r.u32()?, r.u32()?, r.u64()?, r.u64()?);
        Ok(v1::AcknowledgementFacts { r#type, samples, mean, deviation })
    })?;
    header.shadow = Some(v1::ShadowFacts {
        decisions: r.u64()?,
        agreed: r.u64()?,
        live_finish: r.u64()?,
        shadow_finish: r.u64()?,
        round_robin_finish: r.u64()?,
        turn: 0,
    });
    piece.models = r.list(|r| Ok(v1::ModelFacts { model: r.text()?, took: r.u64()? }))?;
    (header.turn, header.token_max) = (r.u32()?, r.u64()?);
    (piece.ended, piece.gone) = (r.list(end)?, r.list(end)?);
    piece.last_runs = r.list(|r| {
        let (r#type, sender, worker) = (r.u32()?, r.u32()?, r.u32()?);
        Ok(v1::LastRunFacts { r#type, sender, worker })
    })?;
    piece.keys = r.list(|r| Ok(v1::KeyFacts { at: r.u64()?, key: r.text()?, job: r.u64()? }))?;
    header.totals = Some(v1::TotalsFacts {
        live: r.u64()?,
        payload_bytes: r.u64()?,
        submitted: r.u64()?,
        completed: r.u64()?,
        assigned: r.u64()?,
        hedged: r.u64()?,
        end_gap: r.u64()?,
        last_end: r.u64()?,
        mean_duration: r.u64()?,
        work: 0,
        tried_at: 0,
    });
    if traced {
        let traces = r.list(|r| Ok((r.u64()?, r.bytes()?)))?;
        let mut traces: BTreeMap<u64, bytes::Bytes> = traces.into_iter().collect();
        for job in &mut piece.jobs {
            if let (Some(trace), Some(spec)) = (traces.remove(&job.job), &mut job.spec) {
                spec.trace_parent = trace;
            }
        }
    }
    if r.rest.is_empty() { Ok((header, piece)) } else { Err("something follows it") }
}

fn end(r: &mut Reader<'_>) -> Read<v1::EndFacts> {
    Ok(v1::EndFacts { at: r.u64()?, number: r.u64()? })
}

fn job(r: &mut Reader<'_>) -> Read<v1::JobFacts> {
    let job = r.u64()?;
    let spec = job_spec(r)?;
    let came_with = spec.rank;
    Ok(v1::JobFacts {
        job,
        spec: Some(spec),
        state: Some(match r.u32()? {
            0 => State::Waiting(r.u32()?),
            1 => State::Delayed(r.u64()?),
            2 => State::Ready(true),
            3 => State::Active(v1::AttemptsFacts { attempts: r.list(attempt)? }),
            4 => State::Completed(v1::CompletedFacts { token: r.u64()?, result_hash: r.hash()? }),
            5 => State::Failed(r.variant()?),
            6 => State::Cancelled(true),
            7 => State::Skipped(r.u64()?),
            8 => State::DeadLettered(r.variant()?),
            _ => return Err("a job is in no state that there is"),
        }),
        run: r.option(Reader::u64)?.unwrap_or_default(),
        submitted_at: r.u64()?,
        attempts: r.u32()?,
        failures: r.u32()?,
        crashes: r.u32()?,
        returns: r.u32()?,
        escalated: r
            .option(|r| Ok(v1::Escalation { priority: r.variant()?, role: r.optional_text()? }))?,
        pinned: r.optional_text()?,
        rank_moved: r.i64()?.wrapping_sub(came_with),
        ended_at: r.u64()?,
        broken: r.u32()?,
        dependents: r.list(Reader::u64)?,
        locality: r.option(Reader::u32)?.unwrap_or_default(),
        last: r.u64()?,
        avoid: 0,
    })
}

fn job_spec(r: &mut Reader<'_>) -> Read<v1::JobSpec> {
    let mut spec = v1::JobSpec { id: r.text()?, node: r.optional_text()?, ..Default::default() };
    let mut requirements = v1::Requirements { r#type: r.text()?, ..Default::default() };
    match r.u32()? {
        0 => {}
        1 => requirements.role = r.text()?,
        2 => requirements.receiver = r.text()?,
        _ => return Err("a job has no target that there is"),
    }
    (requirements.cpu, requirements.memory) = (r.u32()?, r.u64()?);
    requirements.capabilities = r.list(Reader::text)?;
    requirements.model = r.optional_text()?;
    spec.requirements = Some(requirements);
    (spec.priority, spec.guarantee, spec.on_failure) = (r.variant()?, r.variant()?, r.variant()?);
    spec.payload = r.bytes()?;
    spec.waits_for = r.list(Reader::u64)?;
    (spec.timeout, spec.retry) = (Some(r.u64()?), Some(r.u32()?));
    (spec.sender, spec.idempotency_key) = (r.optional_text()?, r.optional_text()?);
    spec.not_before = r.u64()?;
    spec.tags = r.list(Reader::text)?;
    spec.escalation = r.option(|r| {
        let priority = r.option(Reader::variant)?.unwrap_or_default();
        Ok(v1::Escalation { priority, role: r.optional_text()? })
    })?;
    (spec.input_bytes, spec.predicted) = (Some(r.u64()?), r.u64()?);
    (spec.rank, spec.doomed) = (r.i64()?, r.bool()?);
    Ok(spec)
}

fn attempt(r: &mut Reader<'_>) -> Read<v1::AttemptFacts> {
    let (token, worker) = (r.u64()?, r.u32()?);
    let (running, since, at) = (r.u32()? == 1, r.u64()?, r.u64()?);
    let stalled_at = if running { r.option(Reader::u64)? } else { None };
    Ok(v1::AttemptFacts {
        token,
        worker,
        since,
        quiet_at: if running { 0 } else { at },
        timeout_at: running.then_some(at),
        stalled_at,
        offered_at: r.u64()?,
        predicted: r.u64()?,
        hedge: r.bool()?,
        short: r.bool()?,
    })
}

fn worker(r: &mut Reader<'_>) -> Read<v1::WorkerFacts> {
    let worker = r.u32()?;
    let spec = v1::WorkerSpec {
        id: r.text()?,
        endpoint: r.text()?,
        zone: r.optional_text()?,
        class: r.text()?,
        roles: r.list(Reader::text)?,
        capabilities: r.list(Reader::text)?,
        models: r.list(Reader::text)?,
        loads_models: r.bool()?,
        cpu: r.u32()?,
        memory: r.u64()?,
        slots: r.u32()?,
        public_key: r.option(Reader::hash)?.unwrap_or_default(),
        instance: r.u64()?,
        types: Vec::new(),
        speed_permille: 0,
    };
    Ok(v1::WorkerFacts {
        worker,
        spec: Some(spec),
        status: Status::try_from(r.variant()?).map_err(|_| "a worker has no status")?.into(),
        draining: r.bool()?,
        models: r.list(Reader::text)?,
        beat: Some(v1::Heartbeat {
            cpu_permille: r.u32()?,
            memory_permille: r.u32()?,
            load_permille: r.u32()?,
            queue_depth: r.u32()?,
            overloaded: r.bool()?,
        }),
        beat_at: r.u64()?,
        foreign_load_permille: r.u32()?,
        foreign_queue: r.u32()?,
        held: r.list(|r| Ok(v1::AttemptEvent { job: r.u64()?, token: r.u64()? }))?,
        used_cpu: r.u32()?,
        used_memory: r.u64()?,
        busy: r.u64()?,
        completed: 0,
        failed: 0,
        left: false,
        silent_since: 0,
        pace_permille: 0,
        seen_at: 0,
        short: r.u32()?,
        changed_at: r.u64()?,
        last: r.u64()?,
        unhandled: Vec::new(),
    })
}

fn statistics(
    r: &mut Reader<'_>,
    header: &mut v1::SnapshotHeader,
    piece: &mut v1::SnapshotPiece,
) -> Read<()> {
    piece.names = r.list(Reader::text)?;
    piece.cells = r.list(|r| {
        let (what, place) = (r.u64()?, r.u64()?);
        let number = |value: u64| (value & 0xff_ffff) as u32;
        Ok(v1::CellFacts {
            r#type: number(what),
            sender: (what >> 56 == 0).then_some(number(what >> 24)),
            size: (what >> 48) as u32 & 0xff,
            cpu: (place >> 24) as u32,
            machine: number(place).checked_sub(1),
            durations: Some(durations(r)?),
        })
    })?;
    piece.types = r.list(|r| {
        let mut history = v1::TypeFacts { r#type: r.u32()?, ..Default::default() };
        (history.samples, history.latest) = (r.u32()?, r.u64()?);
        (history.average, history.average_error) = (r.f32()?, r.f32()?);
        (history.finest_error, history.judged) = (r.f32()?, r.u32()?);
        history.typical = r.option(durations)?;
        for _ in 0..2 {
            history.machines.extend(r.option(Reader::u32)?);
        }
        // What is configured follows from the configuration.
        r.option(Reader::u64)?;
        (history.predicted, history.near) = (r.u32()?, r.u32()?);
        (history.recent_error, history.usual_error) = (r.f32()?, r.f32()?);
        history.drifting = r.bool()?;
        Ok(history)
    })?;
    piece.machines = r.list(|r| {
        let (machine, slowness, comparisons) = (r.u32()?, r.f32()?, r.u32()?);
        Ok(v1::MachineFacts { machine, slowness, comparisons })
    })?;
    (header.slowness_mean, header.slowness_jobs) = (r.f32()?, r.u32()?);
    // The default duration and the threshold of drift are the configuration's.
    r.u64()?;
    r.u32()?;
    Ok(())
}

fn durations(r: &mut Reader<'_>) -> Read<v1::DurationFacts> {
    let (samples, latest, estimate, error) = (r.u32()?, r.u64()?, r.f32()?, r.f32()?);
    let clusters: Vec<f32> = (0..8).map(|_| r.f32()).collect::<Read<_>>()?;
    let (centres, weights) = (clusters[..4].to_vec(), clusters[4..].to_vec());
    Ok(v1::DurationFacts { samples, latest, estimate, error, centres, weights })
}

fn config(r: &mut Reader<'_>) -> Read<v1::Config> {
    Ok(v1::Config {
        priorities: None,
        retry_backoff: 0,
        limits: Vec::new(),
        prefetch_max: 0,
        strategy: r.variant()?,
        shadow: r.option(Reader::variant)?.unwrap_or_default(),
        predictor: r.variant()?,
        weights: Some(v1::Weights { wait: r.u32()?, load: r.u32()?, priority: r.u32()? }),
        rank_duration_percent: r.u32()?,
        rank_priority_point: r.u64()?,
        rank_bonus_max: r.u64()?,
        prefetch: r.u32()?,
        prefetch_horizon: r.u64()?,
        max_queue_per_worker: r.u32()?,
        hold_max: r.u32()?,
        hold_margin_percent: r.u32()?,
        rank_path_percent: r.u32()?,
        job_timeout_default: r.u64()?,
        retry_default: r.u32()?,
        max_retry: r.u32()?,
        retry_base: r.u64()?,
        retry_cap: r.u64()?,
        max_crashes: r.u32()?,
        heartbeat_interval: r.u64()?,
        unreachable_after: r.u64()?,
        stall_after: r.u64()?,
        hedge_after: r.u64()?,
        hedge_after_min: r.u64()?,
        hedge_budget_permille: r.u32()?,
        fallback_threshold: r.u32()?,
        breaker_cooldown: r.u64()?,
        duration_default: r.u64()?,
        duration_by_type: r
            .list(|r| Ok(v1::DurationOfType { r#type: r.text()?, duration: r.u64()? }))?,
        model_load_default: r.u64()?,
        drift_percent: r.u32()?,
        jobs_max: r.u64()?,
        payload_bytes_total_max: r.u64()?,
        payload_bytes_max: r.u64()?,
        throttle_percent: r.u32()?,
        reject_percent: r.u32()?,
        retain_jobs: r.u64()?,
        retain_for: r.u64()?,
        idempotency_for: r.u64()?,
        idempotency_max: r.u64()?,
        forget_workers_after: r.u64()?,
    })
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn take(&mut self, length: usize) -> Read<&[u8]> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(ENDS_EARLY)?;
        self.rest = rest;
        Ok(taken)
    }

    fn u64(&mut self) -> Read<u64> {
        decode_varint(&mut self.rest).map_err(|_| ENDS_EARLY)
    }

    fn u32(&mut self) -> Read<u32> {
        u32::try_from(self.u64()?).map_err(|_| "a number is too large for its place")
    }

    fn i64(&mut self) -> Read<i64> {
        let zigzag = self.u64()?;
        Ok((zigzag >> 1) as i64 ^ -((zigzag & 1) as i64))
    }

    fn f32(&mut self) -> Read<f32> {
        let bytes = self.take(4)?.try_into().expect("four bytes were taken");
        Ok(f32::from_le_bytes(bytes))
    }

    fn bool(&mut self) -> Read<bool> {
        match self.take(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err("a flag is neither set nor not"),
        }
    }

    /// Variants are numbered from 0 here, and from 1 in the schema, in the same order.
    fn variant(&mut self) -> Read<i32> {
        i32::try_from(self.u64()? + 1).map_err(|_| "a variant is none that there is")
    }

    fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        if self.bool()? { read(self).map(Some) } else { Ok(None) }
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let length = self.u64()?;
        (0..length).map(|_| read(self)).collect()
    }

    fn bytes(&mut self) -> Read<bytes::Bytes> {
        let length = usize::try_from(self.u64()?).map_err(|_| ENDS_EARLY)?;
        Ok(bytes::Bytes::copy_from_slice(self.take(length)?))
    }

    fn hash(&mut self) -> Read<bytes::Bytes> {
        Ok(bytes::Bytes::copy_from_slice(self.take(32)?))
    }

    fn text(&mut self) -> Read<String> {
        let bytes = self.bytes()?.to_vec();
        String::from_utf8(bytes).map_err(|_| "a name is not text")
    }

    /// No name is empty, so an empty one stands for none.
    fn optional_text(&mut self) -> Read<String> {
        Ok(self.option(Reader::text)?.unwrap_or_default())
    }
}
