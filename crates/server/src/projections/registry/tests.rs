//! Whichever way the registry came to know of a history, it says the same, and what the core says.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bellwether_core::model::{
    Config, Escalation, FailureCause, HeldAttempt, JobId, JobNo, JobSpec, JobStatus, Micros, Name,
    OnFailure, Priority, Seq, Submission, Timestamp, WorkerId, WorkerSpec,
};
use bellwether_core::{Command, Engine, Entry, Report};
use bellwether_journal::sqlite::LogCopier;
use bellwether_wire::{Mirror as _, v1};

use super::partitions::{Partitions, Retention};
use super::projection::{Pace, Projection};
use super::row::{Fresh, Row};
use super::{query, schema, store};

const HISTORIES: u64 = 40;
const STEPS: u64 = 150;

struct History {
    engine: Engine,
    entries: Vec<Entry>,
    now: Timestamp,
    random: Random,
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        // Xorshift: the same seed, the same history.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound.max(1)
    }

    fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

impl History {
    fn play(seed: u64) -> History {
        let mut history = History {
            engine: Engine::new(Config::default()),
            entries: Vec::new(),
            now: Timestamp(1_763_000_000_000_000),
            random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
        };
        for worker in ["w1", "w2"] {
            let spec = WorkerSpec::new(WorkerId::fixed(worker), 2);
            history.send(Command::Register {
                spec,
                held: Vec::new(),
                admission: Default::default(),
            });
        }
        for _ in 0..STEPS {
            history.step();
        }
        history
    }

    fn send(&mut self, command: Command) {
        // What is refused is part of the history.
        drop(self.engine.handle(self.now, command));
        self.entries.extend(self.engine.take_batch());
    }

    fn step(&mut self) {
        self.now = self.now + Micros::from_millis(self.random.below(300));
        match self.random.below(12) {
            0..=3 => {
                let job = self.new_job();
                self.send(Command::Submit(Submission::one(job)));
            }
            4..=8 => self.report(),
            9 => self.with_job(|job| Command::Retry { job, force: true }),
            10 if self.random.one_in(3) => {
                self.with_job(|job| Command::Cancel { job, reason: String::new() });
            }
            _ => {
                self.now = self.now + Micros::from_secs(self.random.below(5));
                self.send(Command::Tick);
            }
        }
    }

    fn new_job(&mut self) -> JobSpec {
        let known: Vec<JobId> =
            self.engine.state().jobs().map(|(_, job)| job.spec.id.clone()).collect();
        let mut job = JobSpec::new(JobId::fixed(&format!("j{}", known.len())), Name::fixed("t"));
        job.retry = Some(self.random.below(3) as u32);
        if self.random.one_in(3) {
            job.extras_mut().delay = Micros::from_millis(self.random.below(3_000));
        }
        if self.random.one_in(4) {
            job.on_failure = OnFailure::Run;
        }
        if self.random.one_in(3) {
            job.extras_mut().escalation =
                Some(Escalation { priority: Some(Priority::High), role: None });
        }
        if !known.is_empty() && self.random.one_in(2) {
            let back = 1 + self.random.below(known.len().min(6) as u64) as usize;
            job.dependencies = Box::new([known[known.len() - back].clone()]);
        }
        job
    }

    fn report(&mut self) {
        let state = self.engine.state();
        let held = state.workers().flat_map(|(_, worker)| {
            worker.held.iter().map(|attempt| (worker.id().clone(), *attempt))
        });
        let held: Vec<(WorkerId, HeldAttempt)> = held.collect();
        if held.is_empty() {
            return;
        }
        let (worker, attempt) = held[self.random.below(held.len() as u64) as usize].clone();
        let fail = |cause| Report::Fail { cause, error: "boom".to_owned(), retry_after: None };
        let report = match self.random.below(10) {
            0..=2 => Report::Acknowledge,
            3 => Report::Progress { permille: 500, note: "half".to_owned() },
            4..=6 => Report::Complete { result: "ok".into() },
            7 => fail(FailureCause::Permanent),
            8 => fail(FailureCause::Returned),
            _ => fail(FailureCause::Failed),
        };
        self.send(Command::Report { worker, attempt, report });
    }

    fn with_job(&mut self, command: impl FnOnce(JobId) -> Command) {
        let jobs = self.engine.state().jobs().map(|(_, job)| job.spec.id.clone());
        let jobs: Vec<JobId> = jobs.collect();
        if !jobs.is_empty() {
            let chosen = self.random.below(jobs.len() as u64) as usize;
            self.send(command(jobs[chosen].clone()));
        }
    }
}

struct Folder {
    _dir: tempfile::TempDir,
    path: std::path::PathBuf,
}

fn folder() -> Folder {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("registry.sqlite");
    Folder { _dir: dir, path }
}

const RETENTION: Retention =
    Retention { jobs_max: 1_000_000, keep_for: Duration::from_secs(100_000_000_000) };

fn projection(folder: &Folder) -> Projection {
    let connection = schema::open(&folder.path, RETENTION).unwrap();
    let beside = schema::open_beside(&folder.path).unwrap();
    let log = LogCopier::start("registry-log", beside, || ()).unwrap();
    Projection::open(connection, log, RETENTION).unwrap()
}

fn write_all(projection: &mut Projection) {
    projection.write(projection.position(), Pace::Quick).unwrap();
}

fn follow(projection: &mut Projection, entries: &[Entry]) {
    entries.iter().for_each(|entry| projection.project(entry).unwrap());
}

/// All that is in the file, once everything is written.
fn jobs(folder: &Folder, mut projection: Projection, last: u64) -> BTreeMap<u64, v1::Job> {
    write_all(&mut projection);
    let connection = schema::open_for_reading(&folder.path).unwrap();
    let rows = (1..=last).filter_map(|no| store::load(&connection, JobNo(no)).unwrap());
    rows.map(|row| (row.job.job, row.job)).collect()
}

fn last(history: &History) -> u64 {
    history.engine.state().jobs().map(|(no, _)| no.0).max().unwrap_or(0)
}

fn agrees_with_the_core(history: &History, jobs: &BTreeMap<u64, v1::Job>) {
    for (no, job) in history.engine.state().jobs() {
        let shown = &jobs[&no.0];
        let counts = (shown.failures, shown.crashes);
        assert_eq!(shown.state, job.state.status().to_wire(), "{}", job.spec.id);
        assert_eq!(counts, (job.counts.failures, job.counts.crashes), "{}", job.spec.id);
        assert_eq!(shown.ended_at, job.ended().map_or(0, |at| at.0), "{}", job.spec.id);
    }
}

#[test]
fn it_follows_the_core_whatever_is_written_or_forgotten_on_the_way() {
    for seed in 0..HISTORIES {
        let mut history = History::play(seed);
        let (straight, winding) = (folder(), folder());
        let mut followed = projection(&straight);
        follow(&mut followed, &history.entries);
        let followed = jobs(&straight, followed, last(&history));
        agrees_with_the_core(&history, &followed);

        let mut wound = projection(&winding);
        for entry in &history.entries {
            wound.project(entry).unwrap();
            match history.random.below(30) {
                0 => write_all(&mut wound),
                1 => {
                    let up_to = history.random.below(entry.seq.0 + 1);
                    wound.write(Seq(up_to), Pace::Quick).unwrap();
                }
                2 => {
                    wound.rewind().unwrap();
                    let read = history.entries.iter().take_while(|read| read.seq <= entry.seq);
                    read.for_each(|entry| wound.project(entry).unwrap());
                }
                3 => {
                    drop(wound);
                    wound = projection(&winding);
                    let read = history.entries.iter().take_while(|read| read.seq <= entry.seq);
                    read.for_each(|entry| wound.project(entry).unwrap());
                }
                _ => {}
            }
        }
        assert_eq!(jobs(&winding, wound, last(&history)), followed, "seed {seed}");
    }
}

#[test]
fn it_goes_on_from_a_state_as_from_what_led_to_it() {
    for seed in 0..HISTORIES {
        let mut history = History::play(seed);
        let half = history.random.below(history.entries.len() as u64) as usize;
        let mut engine = Engine::new(Config::default());
        history.entries[..half].iter().for_each(|entry| engine.replay(entry));
        let folder = folder();
        let mut imported = projection(&folder);
        imported.import(engine.state()).unwrap();
        follow(&mut imported, &history.entries[half..]);
        agrees_with_the_core(&history, &jobs(&folder, imported, last(&history)));
    }
}

/// Writes so many jobs that have completed, one each second from `first` on, and forgets what need
/// not be kept.
fn write_completed(
    connection: &rusqlite::Connection,
    retention: Retention,
    numbers: std::ops::Range<u64>,
) -> Partitions {
    let mut partitions = Partitions::load(connection, retention).unwrap();
    let transaction = connection.unchecked_transaction().unwrap();
    for no in numbers.clone() {
        let mut spec = JobSpec::new(JobId::fixed(&format!("j{no}")), Name::fixed("t"));
        spec.payload = vec![7; 1_000].into();
        let (spec, at) = (Arc::new(spec), Timestamp(no * 1_000_000));
        let status = JobStatus::Ready;
        let fresh = Fresh { spec, run: None, status, seq: Seq(no), since: Seq(no), at, by: None };
        let mut row = Row::of(JobNo(no), &fresh);
        row.enter(JobStatus::Completed, at);
        let home = partitions.home(&transaction, &row).unwrap();
        store::save(&transaction, JobNo(no), &row, home).unwrap();
    }
    partitions.forget(&transaction, numbers.end * 1_000_000).unwrap();
    partitions.save(&transaction).unwrap();
    transaction.commit().unwrap();
    partitions
}

fn kept(connection: &rusqlite::Connection) -> u64 {
    let counted = query::ended_counts(connection).unwrap().iter().map(|state| state.count).sum();
    let rows = "SELECT count(*) FROM ended_jobs";
    let rows: i64 = connection.query_row(rows, [], |row| row.get(0)).unwrap();
    assert_eq!(rows.unsigned_abs(), counted, "what is counted is what is there");
    counted
}

#[test]
fn as_many_jobs_are_kept_as_are_to_be_and_at_most_a_tenth_more() {
    let folder = folder();
    let retention = Retention { jobs_max: 1_000, ..RETENTION };
    let connection = schema::open(&folder.path, retention).unwrap();
    for batch in 0..30 {
        let numbers = 1 + batch * 170..1 + (batch + 1) * 170;
        let written = numbers.end - 1;
        write_completed(&connection, retention, numbers);
        let kept = kept(&connection);
        assert!(kept >= written.min(1_000) && kept <= 1_100, "{kept} of {written}");
    }
}

#[test]
fn jobs_are_kept_for_as_long_as_they_are_to_be_and_at_most_a_fifth_longer() {
    let folder = folder();
    let retention = Retention { keep_for: Duration::from_secs(100), ..RETENTION };
    let connection = schema::open(&folder.path, retention).unwrap();
    for batch in 0..30 {
        let numbers = 1 + batch * 10..1 + (batch + 1) * 10;
        let written = numbers.end - 1;
        write_completed(&connection, retention, numbers);
        let kept = kept(&connection);
        assert!(kept >= written.min(100) && kept <= 122, "{kept} of {written}");
    }
}

#[test]
fn space_that_is_no_longer_needed_is_given_back() {
    let folder = folder();
    // So many that what may stay free, 200 pages and a fifth, is little beside them.
    let retention = Retention { jobs_max: 30_000, ..RETENTION };
    let connection = schema::open(&folder.path, retention).unwrap();
    write_completed(&connection, retention, 1..30_000);
    let size = || std::fs::metadata(&folder.path).unwrap().len();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let before = size();
    let retention = Retention { jobs_max: 2_000, ..RETENTION };
    let mut partitions = write_completed(&connection, retention, 30_000..30_001);
    // One page at a time would be enough.
    for _ in 0..before / 4_096 {
        partitions.shrink(&connection).unwrap();
    }
    assert!(size() < before / 3, "{} of {before} bytes", size());
}

#[test]
fn the_log_is_copied_into_the_file_while_writes_go_on() {
    const COMMITS_MAX: u64 = 100_000;
    let folder = folder();
    let mut projection = projection(&folder);
    let beside = schema::open_beside(&folder.path).unwrap();
    beside.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
    let mut longest = 0;
    // Each commit adds some pages; without anybody who copies them it would go on like that.
    for commit in 1..=COMMITS_MAX {
        beside.execute("UPDATE position SET reached = reached + 1", []).unwrap();
        write_all(&mut projection);
        let pages = schema::log_pages(&beside).unwrap();
        if pages < longest / 2 {
            assert!(longest > schema::LOG_PAGES, "copied at {longest} pages, commit {commit}");
            return;
        }
        longest = longest.max(pages);
    }
    panic!("{longest} pages are in the log after {COMMITS_MAX} commits");
}

#[test]
fn a_file_of_the_version_before_is_carried_over() {
    let folder = folder();
    let connection = rusqlite::Connection::open(&folder.path).unwrap();
    connection.execute_batch(include_str!("former_schema.sql")).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    for no in 1..=3_000_u64 {
        let ended_at = if no % 3 == 0 { 0 } else { no };
        let job = v1::Job { job: no, ended_at, position: no, ..Default::default() };
        let spec = v1::JobSpec::new(format!("j{no}"), "t");
        let (body, spec) =
            (prost::Message::encode_to_vec(&job), prost::Message::encode_to_vec(&spec));
        let state = if ended_at == 0 { v1::JobState::Ready } else { v1::JobState::Completed };
        let inside = (no % 2 == 0).then_some(&spec);
        let number = store::signed(no);
        let row = rusqlite::params![
            number,
            format!("j{no}"),
            state as i32,
            number,
            store::signed(ended_at),
            body,
            inside
        ];
        let sql = "INSERT INTO jobs VALUES (?1, ?2, 't', '', ?3, '', ?4, ?5, ?6, ?7)";
        connection.prepare_cached(sql).unwrap().execute(row).unwrap();
        if inside.is_none() {
            let sql = "INSERT INTO specs VALUES (?1, ?2)";
            connection.execute(sql, rusqlite::params![number, spec]).unwrap();
        }
        connection.execute("INSERT INTO tags VALUES ('even', ?1)", [number]).unwrap();
    }
    connection.execute_batch("COMMIT").unwrap();
    drop(connection);
    let retention = Retention { jobs_max: 1_000, ..RETENTION };
    let connection = schema::open(&folder.path, retention).unwrap();
    assert_eq!(store::position(&connection).unwrap().complete, Seq(3_000));
    assert_eq!(kept(&connection), 1_000);
    let tagged = v1::ListJobsRequest { tag: "even".to_owned(), limit: 1, ..Default::default() };
    assert_eq!(query::count(&connection, &tagged).unwrap(), (2_000, 3_000));
    for no in [3, 6, 1_501, 2_998, 3_000] {
        let found = query::job(&connection, &format!("j{no}")).unwrap().unwrap();
        assert_eq!(found.spec.unwrap().id, format!("j{no}"));
    }
    assert!(query::job(&connection, "j1").unwrap().is_none(), "there are newer ones enough");
    write_completed(&connection, retention, 3_001..3_301);
    assert!(kept(&connection) <= 1_100);
}
