//! A journal of many jobs, written by the engine itself in virtual time, without a server.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use anyhow::{Context as _, Result};
use bellwether_core::model::{
    Config, FailureCause, HeldAttempt, JobId, JobSpec, Micros, Name, Priority, RunId, Seq,
    Strategy, Submission, Timestamp, WorkerId, WorkerSpec,
};
use bellwether_core::{Command, Effect, Engine, Entry, Event, Report};
use bellwether_journal::file::FileOptions;
use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{FileJournal, Journal, SqliteJournal};

const START: Timestamp = Timestamp(1_800_000_000_000_000);
const ARRIVES_EVERY: Micros = Micros(2_000);
/// Commands whose events go into one record.
const RECORD_COMMANDS: usize = 64;
/// Jobs of one run; every tenth submission is one.
const RUN_JOBS: usize = 3;

/// What the scheduler wrote, record by record.
pub(crate) struct Recording {
    pub(crate) records: Vec<Vec<Entry>>,
    pub(crate) decisions: usize,
}

struct Driver {
    engine: Engine,
    now: Timestamp,
    workers: Vec<(WorkerId, u64)>,
    /// What ends when.
    agenda: BTreeMap<(Timestamp, Seq), (usize, HeldAttempt, bool)>,
    effects: VecDeque<Effect>,
    record: Vec<Entry>,
    commands: usize,
    recording: Recording,
}

impl Recording {
    pub(crate) fn of(jobs: usize) -> Result<Recording> {
        let config = Config { shadow: Some(Strategy::RoundRobin), ..Config::default() };
        let mut driver = Driver {
            engine: Engine::new(Config::default()),
            now: START,
            workers: Vec::new(),
            agenda: BTreeMap::new(),
            effects: VecDeque::new(),
            record: Vec::new(),
            commands: 0,
            recording: Recording { records: Vec::new(), decisions: 0 },
        };
        driver.command(Command::Configure { config: Box::new(config), expected_version: None })?;
        for number in 0..12 {
            let (class, percent) = if number % 3 == 0 { ("slow", 250) } else { ("fast", 100) };
            let id = WorkerId::new(&format!("w{number:02}"))?;
            let spec = WorkerSpec { class: Name::new(class)?, ..WorkerSpec::new(id.clone(), 4) };
            driver.workers.push((id, percent));
            driver.command(Command::Register {
                spec,
                held: Vec::new(),
                admission: Default::default(),
            })?;
        }
        let mut made = 0;
        let mut submissions = 0;
        while made < jobs {
            submissions += 1;
            let submission = submission(submissions, made, jobs)?;
            made += submission.jobs.len();
            driver.until(driver.now + ARRIVES_EVERY)?;
            driver.command(Command::Submit(submission))?;
        }
        driver.until(Timestamp(u64::MAX))?;
        driver.close();
        Ok(driver.recording)
    }

    /// The decision in the middle: the record that it is in, and its place in it.
    pub(crate) fn middle_decision(&self) -> Result<(usize, usize)> {
        let mut left = self.decisions / 2;
        for (record, entries) in self.records.iter().enumerate() {
            for (place, entry) in entries.iter().enumerate() {
                if matches!(entry.event, Event::Assigned { .. }) {
                    if left == 0 {
                        return Ok((record, place));
                    }
                    left -= 1;
                }
            }
        }
        anyhow::bail!("there are no decisions")
    }

    pub(crate) fn write(&self, dir: &Path) -> Result<()> {
        self.append_to(FileJournal::open(dir, FileOptions::default())?)
    }

    pub(crate) fn write_to_database(&self, dir: &Path) -> Result<()> {
        self.append_to(SqliteJournal::open(dir, SqliteOptions::default())?)
    }

    fn append_to(&self, mut journal: impl Journal) -> Result<()> {
        let epoch = journal.epoch();
        for entries in &self.records {
            let head = journal.head().seq;
            journal.append(epoch, head, entries)?;
        }
        Ok(())
    }
}

fn submission(number: usize, made: usize, jobs: usize) -> Result<Submission> {
    let job = |index: usize| -> Result<JobSpec> {
        let kind = Name::new(["resize", "encode", "index"][index % 3])?;
        let mut job = JobSpec::new(JobId::new(&format!("job-{index}"))?, kind);
        job.priority = [Priority::Normal, Priority::High, Priority::Low][index % 7 % 3];
        job.extras_mut().input_bytes = Some(1 << (index % 11));
        Ok(job)
    };
    if !number.is_multiple_of(10) || made + RUN_JOBS > jobs {
        return Ok(Submission::one(job(made)?));
    }
    let mut members = Vec::new();
    for index in made..made + RUN_JOBS {
        let mut member = job(index)?;
        if index > made {
            member.depend_on(JobId::new(&format!("job-{made}"))?);
        }
        members.push(member);
    }
    let run = Some(RunId::new(&format!("run-{number}"))?);
    Ok(Submission::of(run, members))
}

impl Driver {
    /// Lets everything happen that is due.
    fn until(&mut self, then: Timestamp) -> Result<()> {
        while self.engine.state().totals().live > 0 {
            let end = self.agenda.keys().next().map(|(at, _)| *at);
            // One that has passed is seen to at once, and time goes on.
            let deadline = self.engine.next_deadline().map(|at| at.max(self.now + Micros(1)));
            let due = [end, deadline].into_iter().flatten().min().filter(|due| *due <= then);
            let Some(due) = due else { break };
            self.now = self.now.max(due);
            if end != Some(due) {
                self.beat()?;
                self.command(Command::Tick)?;
                continue;
            }
            let (_, (worker, attempt, fails)) = self.agenda.pop_first().context("it was there")?;
            let report = match fails {
                false => Report::Complete { result: Default::default() },
                true => Report::Fail {
                    cause: FailureCause::Failed,
                    error: "it slipped".to_owned(),
                    retry_after: None,
                },
            };
            let worker = self.workers[worker].0.clone();
            self.command(Command::Report { worker, attempt, report })?;
        }
        if then.0 != u64::MAX {
            self.now = then;
        }
        Ok(())
    }

    fn beat(&mut self) -> Result<()> {
        for number in 0..self.workers.len() {
            let worker = self.workers[number].0.clone();
            self.command(Command::Heartbeat { worker, beat: Default::default() })?;
        }
        Ok(())
    }

    fn command(&mut self, command: Command) -> Result<()> {
        self.handle(command)?;
        while let Some(effect) = self.effects.pop_front() {
            if let Effect::Offer { worker, offer } = effect {
                let number = (worker.0 - 1) as usize;
                let (id, percent) = self.workers[number].clone();
                let (attempt, report) = (offer.attempt, Report::Acknowledge);
                self.handle(Command::Report { worker: id, attempt, report })?;
                let mixed = attempt.job.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
                let takes = Micros((20_000 + mixed % 60_000) * percent / 100);
                let fails = mixed % 97 == 0 && offer.number == 1;
                let key = (self.now + takes, Seq(attempt.token.0));
                self.agenda.insert(key, (number, attempt, fails));
            }
        }
        Ok(())
    }

    fn handle(&mut self, command: Command) -> Result<()> {
        self.engine.handle(self.now, command).result?;
        self.record.extend(self.engine.take_batch());
        self.engine.durable(self.engine.last_seq());
        self.effects.extend(self.engine.take_effects());
        self.commands += 1;
        if self.commands.is_multiple_of(RECORD_COMMANDS) {
            self.close();
        }
        Ok(())
    }

    fn close(&mut self) {
        let entries = std::mem::take(&mut self.record);
        let decided = |entry: &&Entry| matches!(entry.event, Event::Assigned { .. });
        self.recording.decisions += entries.iter().filter(decided).count();
        if !entries.is_empty() {
            self.recording.records.push(entries);
        }
    }
}
