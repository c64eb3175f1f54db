//! Every filter of the list of jobs is served by an index, and finds what a look at every row finds.

use std::time::Duration;

use bellwether_wire::v1;
use prost::Message as _;
use rusqlite::{Connection, params};
use rustix::time::{ClockId, clock_gettime};

use super::partitions::{Retention, Slot};
use super::schema::{self, Home};
use super::search::{self, plans};
use super::store::signed;

const ROWS: u64 = 5_000;
/// With BELLWETHER_FULL=1.
const ROWS_FULL: u64 = 1_000_000;
const WITHIN: Duration = Duration::from_millis(50);
const BEGIN: u64 = 1_763_000_000_000_000;
const STEP: u64 = 1_000;
const COMPLETED: i32 = v1::JobState::Completed as i32;
const FAILED: i32 = v1::JobState::Failed as i32;
const READY: i32 = v1::JobState::Ready as i32;
const CANCELLED: i32 = v1::JobState::Cancelled as i32;

struct Filled {
    _folder: tempfile::TempDir,
    connection: Connection,
    rows: u64,
}

/// One in a hundred has not ended, one in fifty failed; nothing was cancelled.
fn filled(rows: u64) -> Filled {
    let folder = tempfile::tempdir().unwrap();
    let retention = Retention { jobs_max: rows, keep_for: Duration::from_secs(86_400) };
    let connection = schema::open(&folder.path().join("registry"), retention).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    let slots: Vec<Slot> = Slot::all().collect();
    for no in 1..=rows {
        let state = match no {
            no if no.is_multiple_of(100) => READY,
            no if no % 50 == 1 => FAILED,
            _ => COMPLETED,
        };
        // Jobs end in about the order in which they came.
        let home = match state {
            READY => Home::Live,
            _ => Home::Ended(slots[((no + no * 7 % 31) * 10 / (rows + 32)) as usize]),
        };
        insert(&connection, no, state, home);
    }
    connection.execute_batch("COMMIT").unwrap();
    // All but the one that would be filled next are full.
    for slot in &slots[..9] {
        schema::index_workers(&connection, Home::Ended(*slot)).unwrap();
    }
    Filled { _folder: folder, connection, rows }
}

fn insert(connection: &Connection, no: u64, state: i32, home: Home) {
    let id = if no % 1_000 == 7 { format!("rare-{no}") } else { format!("job-{no}") };
    let kind = if no.is_multiple_of(997) { "rare" } else { "usual" };
    let run = if no % 200 < 2 { format!("run-{}", no / 200) } else { String::new() };
    let worker = if state == READY { String::new() } else { format!("w{}", no % 20) };
    let job = v1::Job { job: no, state, run_id: run.clone(), ..Default::default() };
    let requirements = Some(v1::Requirements { r#type: kind.to_owned(), ..Default::default() });
    let spec = v1::JobSpec { id: id.clone(), requirements, ..Default::default() };
    if no % 500 == 3 {
        connection
            .prepare_cached("INSERT INTO tags VALUES (?1, 'marked', ?2)")
            .unwrap()
            .execute(params![home.number(), signed(no)])
            .unwrap();
    }
    let sql =
        format!("INSERT INTO {} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)", home.table());
    let ended = if state == READY { 0 } else { BEGIN + no * STEP };
    connection
        .prepare_cached(&sql)
        .unwrap()
        .execute(params![
            signed(no),
            id,
            kind,
            run,
            state,
            worker,
            signed(BEGIN + no * STEP),
            signed(ended),
            job.encode_to_vec(),
            spec.encode_to_vec(),
        ])
        .unwrap();
}

/// Each alone, and those that people put together.
fn filters(rows: u64) -> Vec<(&'static str, v1::ListJobsRequest)> {
    let none = v1::ListJobsRequest::default;
    let at = |no: u64| BEGIN + no * STEP;
    let text = |text: &str| text.to_owned();
    vec![
        ("all", none()),
        ("completed", v1::ListJobsRequest { states: vec![COMPLETED], ..none() }),
        ("failed", v1::ListJobsRequest { states: vec![FAILED], ..none() }),
        ("ready", v1::ListJobsRequest { states: vec![READY], ..none() }),
        ("none was cancelled", v1::ListJobsRequest { states: vec![CANCELLED], ..none() }),
        (
            "several states",
            v1::ListJobsRequest { states: vec![FAILED, CANCELLED, READY], ..none() },
        ),
        ("a type", v1::ListJobsRequest { r#type: text("usual"), ..none() }),
        ("a rare type", v1::ListJobsRequest { r#type: text("rare"), ..none() }),
        ("no such type", v1::ListJobsRequest { r#type: text("absent"), ..none() }),
        ("a run", v1::ListJobsRequest { run_id: text("run-3"), ..none() }),
        ("no such run", v1::ListJobsRequest { run_id: text("run-x"), ..none() }),
        ("a worker", v1::ListJobsRequest { worker: text("w7"), ..none() }),
        ("no such worker", v1::ListJobsRequest { worker: text("w99"), ..none() }),
        ("a tag", v1::ListJobsRequest { tag: text("marked"), ..none() }),
        ("no such tag", v1::ListJobsRequest { tag: text("absent"), ..none() }),
        ("a wide prefix", v1::ListJobsRequest { id_prefix: text("job-"), ..none() }),
        ("a narrow prefix", v1::ListJobsRequest { id_prefix: text("rare-"), ..none() }),
        ("no such prefix", v1::ListJobsRequest { id_prefix: text("x"), ..none() }),
        ("after", v1::ListJobsRequest { submitted_after: at(rows / 2), ..none() }),
        ("before", v1::ListJobsRequest { submitted_before: at(rows / 3), ..none() }),
        ("long ago", v1::ListJobsRequest { submitted_before: at(1) - 1, ..none() }),
        (
            "between",
            v1::ListJobsRequest { submitted_after: at(20), submitted_before: at(90), ..none() },
        ),
        (
            "a page",
            v1::ListJobsRequest { cursor: (rows / 2).to_string(), r#type: text("usual"), ..none() },
        ),
        (
            "a type that failed",
            v1::ListJobsRequest { r#type: text("usual"), states: vec![FAILED], ..none() },
        ),
        (
            "a worker and a tag",
            v1::ListJobsRequest { worker: text("w3"), tag: text("marked"), ..none() },
        ),
        (
            "a worker, completed, of a rare type",
            v1::ListJobsRequest {
                worker: text("w4"),
                states: vec![COMPLETED],
                r#type: text("rare"),
                ..none()
            },
        ),
    ]
}

/// By a look at every row.
fn by_hand(filled: &Filled, wanted: &v1::ListJobsRequest) -> Vec<u64> {
    let mut numbers = Vec::new();
    for home in Home::all() {
        let sql = format!(
            "SELECT no, id, kind, run_id, state, worker, submitted_at FROM {}",
            home.table()
        );
        let mut statement = filled.connection.prepare(&sql).unwrap();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let text = |column: usize| row.get::<_, String>(column).unwrap();
            let no = row.get::<_, i64>(0).unwrap().unsigned_abs();
            let at = row.get::<_, i64>(6).unwrap().unsigned_abs();
            let is = |given: &str, column: usize| given.is_empty() || given == text(column);
            let tagged = wanted.tag.is_empty() || (wanted.tag == "marked" && no % 500 == 3);
            let fits = (wanted.states.is_empty() || wanted.states.contains(&row.get(4).unwrap()))
                && is(&wanted.r#type, 2)
                && is(&wanted.run_id, 3)
                && is(&wanted.worker, 5)
                && tagged
                && text(1).starts_with(&wanted.id_prefix)
                && at >= wanted.submitted_after
                && (wanted.submitted_before == 0 || at <= wanted.submitted_before)
                && wanted.cursor.parse().map_or(true, |cursor: u64| no < cursor);
            if fits {
                numbers.push(no);
            }
        }
    }
    numbers.sort_unstable_by_key(|no| std::cmp::Reverse(*no));
    numbers
}

#[test]
fn every_filter_is_served_by_an_index_and_finds_what_it_should() {
    let filled = filled(ROWS);
    for (name, wanted) in filters(filled.rows) {
        for step in plans::explain(&filled.connection, &wanted) {
            assert!(!step.contains("SCAN"), "{name}: {step}");
        }
        let expected = by_hand(&filled, &wanted);
        let page = search::search(&filled.connection, &wanted).unwrap();
        let found: Vec<u64> = page.jobs.iter().map(|job| job.job).collect();
        assert_eq!(found, expected[..expected.len().min(100)], "{name}");
        assert_eq!(page.next_cursor.is_empty(), expected.len() <= 100, "{name}");
        if wanted.cursor.is_empty() {
            let counted = search::count(&filled.connection, &wanted).unwrap();
            assert_eq!((counted.jobs, counted.more), (expected.len() as u64, false), "{name}");
        }
    }
}

/// What this thread has taken of the processor: others may use it meanwhile.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap())
}

#[test]
fn every_filter_is_quick_over_a_million_jobs() {
    if std::env::var_os("BELLWETHER_FULL").is_none() {
        return;
    }
    let filled = filled(ROWS_FULL);
    for (name, wanted) in filters(filled.rows) {
        let mut times: Vec<Duration> = (0..100)
            .map(|_| {
                let begun = worked();
                search::search(&filled.connection, &wanted).unwrap();
                worked() - begun
            })
            .collect();
        times.sort_unstable();
        eprintln!("{name}: p50 {:?}, p99 {:?}", times[50], times[98]);
        assert!(times[98] < WITHIN, "{name}: {:?}", times[98]);
    }
}
