//! A state with something in every place, as each format kept it and as a journal: whoever comes
//! later opens them all and finds the same.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::mem::take;
use std::path::PathBuf;

use bellwether_core::model::{Config, JobId, JobSpec, Name, Seq, Submission, Timestamp};
use bellwether_core::{Command, Engine, Moment};
use bellwether_journal::state::Encoder;
use bellwether_journal::{FileJournal, SnapshotError, state};
use bellwether_wire::v1;
use expect_test::expect;
use prost::Message as _;

/// Of format 2: the number of jobs with a trace parent, then for each its number and 25 bytes.
const TRACES_BYTES: usize = 1 + 1 + 1 + 25;

fn golden(file: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    fs::read(folder.join(file)).expect("the golden files are there")
}

fn opened(file: &str) -> Engine {
    state::decode(&golden(file)).unwrap()
}

/// The pieces of a snapshot, with their lengths before them.
fn written(pieces: &[v1::SnapshotPiece]) -> Vec<u8> {
    pieces.iter().flat_map(|piece| piece.encode_length_delimited_to_vec()).collect()
}

fn pieces(bytes: &[u8]) -> Vec<v1::SnapshotPiece> {
    let mut rest = bytes;
    std::iter::from_fn(|| {
        (!rest.is_empty()).then(|| v1::SnapshotPiece::decode_length_delimited(&mut rest).unwrap())
    })
    .collect()
}

#[test]
fn every_format_and_the_journal_give_the_same_state() {
    let newest = opened("v3.snapshot");
    assert_eq!(state::encode(opened("v2.snapshot").state()), state::encode(newest.state()));

    let dir = tempfile::tempdir().unwrap();
    let segment = dir.path().join("journal-00000000000000000000.log");
    fs::write(segment, golden("rich.journal")).unwrap();
    let mut replayed = Engine::new(Config::default());
    for record in FileJournal::inspect(dir.path()).unwrap().read(Seq(1)).unwrap() {
        record.unwrap().entries.iter().for_each(|entry| replayed.replay(entry));
    }
    let mut replayed = pieces(&state::encode(replayed.state()));
    let counted = take_what_is_counted_since(&mut replayed);
    assert_eq!(written(&replayed), state::encode(newest.state()));
    // Of these there is nothing in a snapshot of before, and what a replay makes of them stays the same.
    let mut before = pieces(&golden("v3.snapshot"));
    assert_eq!(written(&before), golden("v3.snapshot"));
    let absent = take_what_is_counted_since(&mut before);
    assert_eq!(written(&before), golden("v3.snapshot"));
    let values = absent.split_whitespace().filter_map(|word| word.split_once('='));
    assert!(values.into_iter().all(|(_, is)| ["0", "0.0", "false"].contains(&is)), "{absent}");
    expect![[r#"
        worker 1: completed=0 failed=0 left=false seen_at=0 pace_permille=0
        worker 2: completed=2 failed=1 left=false seen_at=6280040 pace_permille=0
        worker 3: completed=3 failed=1 left=false seen_at=660017 pace_permille=0
        worker 4: completed=1 failed=0 left=true seen_at=6280040 pace_permille=0
        worker 5: completed=1 failed=4 left=false seen_at=660019 pace_permille=0
        worker 6: completed=0 failed=0 left=false seen_at=6280040 pace_permille=0
        worker 7: completed=0 failed=0 left=false seen_at=6280040 pace_permille=0
        worker 8: completed=0 failed=0 left=false seen_at=6280040 pace_permille=0
        worker 9: completed=1 failed=0 left=true seen_at=6320041 pace_permille=0
        worker 10: completed=0 failed=0 left=false seen_at=6280040 pace_permille=0
        worker 11: completed=1 failed=0 left=false seen_at=6390042 pace_permille=0
        worker 12: completed=0 failed=4 left=false seen_at=6280040 pace_permille=0
        worker 13: completed=0 failed=1 left=false seen_at=6280040 pace_permille=0
        type 0: scaled_excess=0.0
        type 1: scaled_excess=0.0
        type 2: scaled_excess=0.0
        ids=59
        totals: work=6390042 tried_at=0
        shadow: turn=0
    "#]]
    .assert_eq(&counted);
}

/// What later versions count as they apply events: taken out, and told by name.
fn take_what_is_counted_since(pieces: &mut [v1::SnapshotPiece]) -> String {
    let mut told = String::new();
    let mut tell = |line: std::fmt::Arguments<'_>| told += &format!("{line}\n");
    for piece in pieces {
        for worker in &mut piece.workers {
            let completed = take(&mut worker.completed);
            let failed = take(&mut worker.failed);
            let left = take(&mut worker.left);
            let (seen_at, pace) = (take(&mut worker.seen_at), take(&mut worker.pace_permille));
            tell(format_args!(
                "worker {}: completed={completed} failed={failed} left={left} seen_at={seen_at} \
                 pace_permille={pace}",
                worker.worker
            ));
        }
        for (number, known) in piece.types.iter_mut().enumerate() {
            let excess = take(&mut known.scaled_excess);
            tell(format_args!("type {number}: scaled_excess={excess:?}"));
        }
        let ids = take(&mut piece.ids).len();
        tell(format_args!("ids={ids}"));
        let Some(header) = &mut piece.header else { continue };
        if let Some(totals) = &mut header.totals {
            let (work, tried_at) = (take(&mut totals.work), take(&mut totals.tried_at));
            tell(format_args!("totals: work={work} tried_at={tried_at}"));
        }
        if let Some(shadow) = &mut header.shadow {
            tell(format_args!("shadow: turn={}", take(&mut shadow.turn)));
        }
    }
    told
}

#[test]
fn golden_state_has_all_that_it_had() {
    let engine = opened("v3.snapshot");
    let state = engine.state();
    let mut jobs = BTreeMap::new();
    for (_, job) in state.jobs() {
        let name = format!("{:?}", job.state);
        let name = name.split([' ', '(']).next().unwrap().to_owned();
        *jobs.entry(name).or_insert(0) += 1;
    }
    let count = |wanted: &dyn Fn(&bellwether_core::Job) -> bool| {
        state.jobs().filter(|(_, job)| wanted(job)).count()
    };
    let workers: Vec<String> = state
        .workers()
        .map(|(_, worker)| {
            let draining = if worker.draining { " draining" } else { "" };
            format!("{} {:?}{draining} holds {}", worker.id(), worker.status, worker.held.len())
        })
        .collect();
    let statistics = state.statistics.facts();
    expect![[r#"
        at 283 of 59 jobs: {"Active": 28, "Cancelled": 2, "Completed": 9, "DeadLettered": 1, "Delayed": 3, "Failed": 3, "Ready": 6, "Skipped": 2, "Waiting": 5}
        hedged 3, pinned 1, escalated 2, traced 1, in runs 12
        keyed Open holds 1
        w1 Open holds 2
        w2 Open draining holds 0
        w3 Unreachable holds 0
        w4 Open holds 1
        m1 Open holds 3
        m2 Overloaded holds 0
        m3 Open draining holds 1
        m4 Unreachable holds 0
        m5 Unreachable holds 0
        m6 Open holds 8
        m7 Open holds 7
        m8 Open holds 8
        keys 3, paused {"frozen"}, models {"sdxl": Micros(3000000)}, breaker Breaker { failures: 0, open_until: Some(Timestamp(1000097335128)) }
        12 names, 22 cells, 3 types, 3 machines
        Totals { live: 42, payload_bytes: 613, submitted: 59, completed: 9, assigned: 68, hedged: 14, end_gap: Micros(2250957), last_end: Timestamp(1000054735100), mean_duration: Micros(113529), work: Micros(0), tried_at: Micros(0) }
    "#]].assert_eq(&format!(
        "at {} of {} jobs: {jobs:?}\n\
         hedged {}, pinned {}, escalated {}, traced {}, in runs {}\n\
         {}\n\
         keys {}, paused {:?}, models {:?}, breaker {:?}\n\
         {} names, {} cells, {} types, {} machines\n\
         {:?}\n",
        state.seq(),
        state.last_job,
        count(&|job| job.offers().len() > 1),
        count(&|job| job.pinned.is_some()),
        count(&|job| job.escalated.is_some()),
        count(&|job| job.spec.extras().trace_parent.is_some()),
        count(&|job| job.run.is_some()),
        workers.join("\n"),
        state.keys.len(),
        state.paused,
        state.model_loads,
        state.breaker,
        statistics.names.len(),
        statistics.cells.len(),
        statistics.types.len(),
        statistics.machines.len(),
        state.totals,
    ));
}

#[test]
fn written_again_it_is_the_same_bytes() {
    assert_eq!(state::encode(opened("v3.snapshot").state()), golden("v3.snapshot"));
}

/// It was the second without the trace parents.
#[test]
fn first_format_is_still_read() {
    let mut bytes = golden("v2.snapshot");
    bytes.truncate(bytes.len() - TRACES_BYTES);
    bytes[0] = 1;
    let first = state::decode(&bytes).unwrap();
    let traced = |engine: &Engine| {
        engine.state().jobs().filter(|(_, job)| job.spec.extras().trace_parent.is_some()).count()
    };
    assert_eq!((traced(&first), traced(&opened("v2.snapshot"))), (0, 1));
    assert_eq!(first.state().totals(), opened("v2.snapshot").state().totals());
}

#[test]
fn field_of_a_later_version_is_passed_over() {
    let known = golden("v3.snapshot");
    let mut later = Vec::new();
    for piece in pieces(&known) {
        let mut bytes = piece.encode_to_vec();
        // Field 900 of the piece is 7, and field 900 of its header and of a new job are texts.
        prost::encoding::uint64::encode(900, &7, &mut bytes);
        if piece.header.is_some() {
            let mut unknown = Vec::new();
            prost::encoding::string::encode(900, &"new".to_owned(), &mut unknown);
            prost::encoding::bytes::encode(1, &unknown, &mut bytes);
        }
        prost::encoding::encode_varint(bytes.len() as u64, &mut later);
        later.extend_from_slice(&bytes);
    }
    assert_ne!(later, known);
    assert_eq!(state::encode(state::decode(&later).unwrap().state()), known);
}

#[test]
fn newer_format_is_refused_with_advice() {
    let mut pieces = pieces(&golden("v3.snapshot"));
    pieces[0].header.as_mut().unwrap().format = 4;
    let error = state::decode(&written(&pieces)).unwrap_err();
    assert!(matches!(error, SnapshotError::Format { found: 4 }));
    expect![[
        "the snapshot has format 4, of a newer version; this one reads formats 1 to 3. Start the \
         version that wrote it, or a later one"
    ]]
    .assert_eq(&error.to_string());
}

#[test]
fn snapshot_that_ends_early_is_refused_in_every_format() {
    for file in ["v2.snapshot", "v3.snapshot"] {
        let bytes = golden(file);
        for length in (0..bytes.len()).step_by(13).chain([bytes.len() - 1]) {
            let error = state::decode(&bytes[..length]).unwrap_err();
            assert!(matches!(error, SnapshotError::Unreadable { .. }), "{length}: {error}");
        }
    }
}

#[test]
fn large_state_is_many_pieces_and_none_may_be_missing() {
    let mut all = pieces(&golden("v3.snapshot"));
    let last = all.pop().unwrap();
    let mut first = last.clone();
    first.pieces = 0;
    let rest = v1::SnapshotPiece { pieces: 2, ..Default::default() };
    let two = [first, rest];
    assert_eq!(
        state::encode(state::decode(&written(&two)).unwrap().state()),
        golden("v3.snapshot")
    );
    state::decode(&written(&two[..1])).unwrap_err();
    let three = [two[0].clone(), v1::SnapshotPiece::default(), two[1].clone()];
    state::decode(&written(&three)).unwrap_err();
}

#[test]
fn number_that_was_never_given_is_refused() {
    let mut pieces = pieces(&golden("v3.snapshot"));
    pieces[0].jobs[0].job = u64::MAX / 2;
    let error = state::decode(&written(&pieces)).unwrap_err();
    assert!(error.to_string().contains("it must be one that was given"), "{error}");
}

fn submit(engine: &mut Engine, number: u64) {
    let id = JobId::new(&format!("job-{number}")).unwrap();
    let mut job = JobSpec::new(id, Name::fixed("resize"));
    job.payload = vec![b'x'; 100].into();
    job.idempotency_key = Some(Name::new(&format!("key-{number}")).unwrap());
    engine.handle(Timestamp(number), Command::Submit(Submission::one(job))).result.unwrap();
}

/// What is behind a slice and what is before it changes, ends, is forgotten and comes new.
fn disturb(engine: &mut Engine, round: u64) {
    for step in 0..20 {
        let job = JobId::new(&format!("job-{}", (round * 20 + step) * 7 % 8_000)).unwrap();
        let now = Timestamp(1_000_000 + round);
        // It may have ended already.
        drop(engine.handle(now, Command::Cancel { job, reason: String::new() }));
    }
    submit(engine, 8_000 + round);
}

#[test]
fn a_snapshot_in_slices_is_of_one_moment_whatever_changes_meanwhile() {
    let config = Config { retain_jobs: 100, idempotency_max: 80_000, ..Config::default() };
    let mut engine = Engine::new(config);
    (0..8_000).for_each(|number| submit(&mut engine, number));
    disturb(&mut engine, 0);
    let expected = state::encode(engine.state());

    engine.freeze();
    let mut encoder = Encoder::new(engine.state(), Moment::Frozen);
    let mut bytes = Vec::new();
    let mut round = 0;
    while !encoder.has_all() {
        bytes.extend(encoder.go_on(engine.state(), 50).unwrap_or_default());
        engine.seen(encoder.seen());
        round += 1;
        disturb(&mut engine, round);
    }
    engine.thaw();
    encoder
        .last_pieces()
        .write(|piece| {
            bytes.extend_from_slice(piece);
            Ok::<(), std::convert::Infallible>(())
        })
        .unwrap();
    assert!(round > 100 && pieces(&bytes).len() > 2, "{round} slices, {} bytes", bytes.len());
    assert!(bytes == expected, "the slices make another state");
    assert!(state::encode(engine.state()) != expected, "it has gone on meanwhile");
}
