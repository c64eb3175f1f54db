//! The engine alone, on one thread: drives it through the whole life of many jobs and takes the
//! time.
//!
//! Every slot is busy and a constant number of jobs waits, so each completion assigns the next
//! job and each submission refills the queue. Time inside the engine is virtual.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::Context;
use bellwether_core::model::{
    Config, Epoch, HeldAttempt, JobId, JobSpec, KeyLimit, KeySet, KeyUse, Micros, Name, OnLimit,
    Submission, Timestamp, WorkerId, WorkerNo, WorkerSpec,
};
use bellwether_core::{Answer, Command, Effect, Engine, Event, Report};
use bellwether_journal::{Head, Recorder};
use clap::Args;
use serde::Serialize;

use crate::figures::{Sheet, quantile};

const SLOTS: u32 = 4;
/// Jobs whose commands go into one batch for the journal.
const WAVE: usize = 64;
/// Fewer waiting jobs than this grow the memory by too little to be measured: so many are put
/// into an engine of their own.
const MEMORY_JOBS_MIN: u64 = 200_000;
/// Job types, so that there is more than one queue.
const KINDS: usize = 16;
/// Longer than any measurement: nothing here may run into a timeout.
const FOR_EVER: Micros = Micros::from_secs(100 * 365 * 86_400);
const PAGE_BYTES: u64 = 4_096;

/// Measure the engine on one thread, without I/O: submit, assign, acknowledge, complete, with
/// every event encoded and hash-chained.
#[derive(Debug, Clone, Copy, Args)]
pub struct Options {
    /// Workers, four slots each
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub workers: u32,
    /// Jobs that wait in the queue all the time
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(0..=20_000_000))]
    pub waiting: u64,
    /// Jobs to measure
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub jobs: u64,
    /// Concurrency keys that the jobs share, each with a limit of one; 0 is none
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=10_000_000))]
    pub keys: u64,
}

#[derive(Debug, Serialize)]
pub struct Measurement {
    jobs_per_s: f64,
    /// The time in the engine of a command that led to assignments, per assignment.
    decision_ns: Percentiles,
    /// Growth of the resident memory while the waiting jobs came in, their payloads empty.
    bytes_per_waiting_job: f64,
    nanos_per_job: Nanos,
}

#[derive(Debug, Serialize)]
struct Percentiles {
    p50: u64,
    p99: u64,
}

/// Where the time went.
#[derive(Debug, Default, Serialize)]
struct Nanos {
    submit: f64,
    acknowledge: f64,
    complete: f64,
    journal: f64,
    release: f64,
}

impl Measurement {
    #[must_use]
    pub fn sheet(&self) -> Sheet {
        let nanos = &self.nanos_per_job;
        let mut sheet = Sheet::new(&["", "measured"]);
        for (name, value) in [
            ("jobs/s", self.jobs_per_s),
            ("decision ns, p50", self.decision_ns.p50 as f64),
            ("decision ns, p99", self.decision_ns.p99 as f64),
            ("bytes per waiting job", self.bytes_per_waiting_job),
            ("ns per job, submit", nanos.submit),
            ("ns per job, acknowledge", nanos.acknowledge),
            ("ns per job, complete and assign", nanos.complete),
            ("ns per job, encode and hash", nanos.journal),
            ("ns per job, release effects", nanos.release),
        ] {
            sheet.row(name, &[value]);
        }
        sheet.closing = format!("\nlimited by: {}\n", nanos.largest());
        sheet
    }
}

impl Nanos {
    fn largest(&self) -> &'static str {
        let parts = [
            (self.submit, "submitting"),
            (self.acknowledge, "acknowledging"),
            (self.complete, "completing and assigning"),
            (self.journal, "encoding and hashing events"),
            (self.release, "releasing effects"),
        ];
        parts.into_iter().max_by(|a, b| a.0.total_cmp(&b.0)).expect("there are five parts").1
    }
}

/// Calls `step` for every job that was submitted as waiting or has completed.
pub fn measure(load: Options, mut step: impl FnMut(&'static str)) -> anyhow::Result<Measurement> {
    let (mut bench, grown) = Bench::with_waiting(load, load.waiting, || step("waiting"))?;
    let bytes_per_waiting_job = if load.waiting >= MEMORY_JOBS_MIN {
        grown as f64 / load.waiting as f64
    } else {
        let (_, grown) = Bench::with_waiting(load, MEMORY_JOBS_MIN, || ())?;
        grown as f64 / MEMORY_JOBS_MIN as f64
    };

    bench.spent = Nanos::default();
    bench.decisions.clear();
    let mut took = Duration::ZERO;
    let mut done = 0;
    while done < load.jobs {
        let running = bench.running.len() as u64;
        anyhow::ensure!(running > 0, "no job is running");
        let wave = (load.jobs - done).min(WAVE as u64).min(running);
        // What a client does to make a job is not the engine's time.
        let jobs = (0..wave).map(|_| bench.new_job()).collect::<anyhow::Result<Vec<_>>>()?;
        let start = Instant::now();
        bench.wave(jobs)?;
        took += start.elapsed();
        (0..wave).for_each(|_| step("measured"));
        done += wave;
    }
    bench.decisions.sort_unstable();
    let per_job = |nanos: f64| nanos / done as f64;
    Ok(Measurement {
        jobs_per_s: done as f64 / took.as_secs_f64(),
        decision_ns: Percentiles {
            p50: quantile(&bench.decisions, 0.5),
            p99: quantile(&bench.decisions, 0.99),
        },
        bytes_per_waiting_job,
        nanos_per_job: Nanos {
            submit: per_job(bench.spent.submit),
            acknowledge: per_job(bench.spent.acknowledge),
            complete: per_job(bench.spent.complete),
            journal: per_job(bench.spent.journal),
            release: per_job(bench.spent.release),
        },
    })
}

struct Bench {
    engine: Engine,
    now: Timestamp,
    kinds: Vec<Name>,
    workers: Vec<WorkerId>,
    next_job: u64,
    keys: u64,
    /// Acknowledged, oldest first.
    running: VecDeque<(WorkerNo, HeldAttempt)>,
    offered: Vec<(WorkerNo, HeldAttempt)>,
    recorder: Recorder,
    spent: Nanos,
    decisions: Vec<u64>,
    /// The last event and the time of each command since the last commit.
    timed: Vec<(u64, u64)>,
}

impl Bench {
    fn new(load: Options) -> anyhow::Result<Bench> {
        let pattern = Name::fixed("key-*");
        let config = Config {
            unreachable_after: FOR_EVER,
            stall_after: FOR_EVER,
            jobs_max: 100_000_000,
            limits: vec![KeyLimit { pattern, max: 1, on_limit: OnLimit::Queue }],
            ..Config::default()
        };
        let mut bench = Bench {
            engine: Engine::new(config),
            now: Timestamp(1),
            kinds: (0..KINDS).map(|kind| Name::fixed(&format!("kind-{kind}"))).collect(),
            workers: Vec::new(),
            next_job: 0,
            keys: load.keys,
            running: VecDeque::new(),
            offered: Vec::new(),
            recorder: Recorder::new(Head::default()),
            spent: Nanos::default(),
            decisions: Vec::new(),
            timed: Vec::new(),
        };
        for number in 0..load.workers {
            let id = WorkerId::fixed(&format!("worker-{number:06}"));
            let spec = WorkerSpec::new(id.clone(), SLOTS);
            let answer = bench
                .handle(Command::Register {
                    spec,
                    held: Vec::new(),
                    admission: Default::default(),
                })?
                .0;
            let Answer::Registered { worker, .. } = answer else {
                anyhow::bail!("a registration was answered with {answer:?}");
            };
            let index = worker.0 as usize;
            if bench.workers.len() <= index {
                bench.workers.resize(index + 1, id.clone());
            }
            bench.workers[index] = id;
        }
        bench.commit()?;
        Ok(bench)
    }

    /// Every slot is taken and so many jobs wait; and by how much their coming has grown the
    /// resident memory.
    fn with_waiting(
        load: Options,
        waiting: u64,
        mut step: impl FnMut(),
    ) -> anyhow::Result<(Bench, u64)> {
        let mut bench = Bench::new(load)?;
        bench.fill()?;
        let before = resident_bytes()?;
        for number in 1..=waiting {
            let job = bench.new_job()?;
            bench.submit(job)?;
            if number % WAVE as u64 == 0 {
                bench.commit()?;
            }
            step();
        }
        bench.commit()?;
        Ok((bench, resident_bytes()?.saturating_sub(before)))
    }

    /// Submits until a job has to wait: every slot and every prefetch is taken.
    fn fill(&mut self) -> anyhow::Result<()> {
        loop {
            let job = self.new_job()?;
            self.submit(job)?;
            self.commit()?;
            if self.offered.is_empty() {
                return Ok(());
            }
            self.acknowledge()?;
        }
    }

    /// For each of these jobs, completes one that runs, submits it, and acknowledges the one that
    /// was assigned instead.
    fn wave(&mut self, jobs: Vec<JobSpec>) -> anyhow::Result<()> {
        for job in jobs {
            let (worker, attempt) = self.running.pop_front().expect("a wave is at most what runs");
            let report = Report::Complete { result: Default::default() };
            self.spent.complete += self.report(worker, attempt, report)?;
            self.spent.submit += self.submit(job)?;
        }
        self.commit()?;
        self.acknowledge()
    }

    fn acknowledge(&mut self) -> anyhow::Result<()> {
        let mut offered = std::mem::take(&mut self.offered);
        for (worker, attempt) in offered.drain(..) {
            self.spent.acknowledge += self.report(worker, attempt, Report::Acknowledge)?;
            self.running.push_back((worker, attempt));
        }
        self.offered = offered;
        Ok(())
    }

    fn report(
        &mut self,
        worker: WorkerNo,
        attempt: HeldAttempt,
        report: Report,
    ) -> anyhow::Result<f64> {
        let worker = self.workers[worker.0 as usize].clone();
        Ok(self.handle(Command::Report { worker, attempt, report })?.1)
    }

    fn new_job(&mut self) -> anyhow::Result<JobSpec> {
        let number = self.next_job;
        self.next_job += 1;
        let kind = self.kinds[number as usize % KINDS].clone();
        let mut job = JobSpec::new(JobId::new(&format!("job-{number:012}"))?, kind);
        if let Some(key) = number.checked_rem(self.keys) {
            job.set_keys(KeySet::of(vec![KeyUse::plain(Name::new(&format!("key-{key:07}"))?)]));
        }
        Ok(job)
    }

    fn submit(&mut self, job: JobSpec) -> anyhow::Result<f64> {
        Ok(self.handle(Command::Submit(Submission::one(job)))?.1)
    }

    /// The answer, and the nanoseconds that it took.
    fn handle(&mut self, command: Command) -> anyhow::Result<(Answer, f64)> {
        self.now = self.now + Micros(1);
        let start = Instant::now();
        let handled = self.engine.handle(self.now, command);
        let nanos = start.elapsed().as_nanos() as u64;
        self.timed.push((handled.seq.0, nanos));
        Ok((handled.result?, nanos as f64))
    }

    /// Encodes and hashes what has happened, and releases its effects.
    fn commit(&mut self) -> anyhow::Result<()> {
        let start = Instant::now();
        let batch = self.engine.take_batch();
        if !batch.is_empty() {
            self.recorder.record(Epoch(1), &batch);
        }
        self.spent.journal += start.elapsed().as_nanos() as f64;

        let mut entries = batch.iter().peekable();
        for (last, nanos) in self.timed.drain(..) {
            let mut assigned = 0;
            while let Some(entry) = entries.next_if(|entry| entry.seq.0 <= last) {
                assigned += u64::from(matches!(entry.event, Event::Assigned { .. }));
            }
            if let Some(each) = nanos.checked_div(assigned) {
                self.decisions.push(each);
            }
        }
        drop(batch);

        let start = Instant::now();
        self.engine.durable(self.engine.last_seq());
        let effects = self.engine.take_effects();
        self.spent.release += start.elapsed().as_nanos() as f64;
        for effect in effects {
            if let Effect::Offer { worker, offer } = effect {
                self.offered.push((worker, offer.attempt));
            }
        }
        Ok(())
    }
}

fn resident_bytes() -> anyhow::Result<u64> {
    let path = "/proc/self/statm";
    let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {path}"))?;
    let pages = text.split_whitespace().nth(1).with_context(|| format!("{path} is too short"))?;
    let pages: u64 = pages.parse().with_context(|| format!("{path} holds no number"))?;
    Ok(pages * PAGE_BYTES)
}
