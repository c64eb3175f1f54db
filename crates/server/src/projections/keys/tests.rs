use bellwether_core::model::{JobId, JobSpec, Name};

use super::entry::Taken;
use super::merge::Merge;
use super::run_writer::write;
use super::*;

const SECOND: u64 = 1_000_000;

/// Keys of the jobs of these numbers, which were taken a second after each other.
fn run(dir: &Path, jobs: std::ops::RangeInclusive<u64>) -> Arc<Run> {
    let after = JobNo(jobs.start() - 1);
    let taken: Vec<Taken> = jobs
        .map(|job| Taken {
            start: Start::of_key(&key(job)),
            job: JobNo(job),
            print: job as u16,
            at: Timestamp(job * SECOND),
        })
        .collect();
    Arc::new(write(dir, after, &taken).unwrap())
}

fn key(job: u64) -> Name {
    Name::fixed(&format!("key {job}"))
}

fn merged(dir: &Path, runs: Vec<Arc<Run>>, now: u64, expires_after: u64) -> Run {
    let (now, expires_after) = (Timestamp(now * SECOND), Micros(expires_after * SECOND));
    let merge = Merge { runs, now, expires_after };
    merge.run(dir, &Default::default()).unwrap().unwrap()
}

fn found(run: &Run, job: u64) -> Option<u64> {
    let known = run.find(Start::of_key(&key(job))).unwrap()?;
    assert_eq!(known.print, job as u16);
    assert!(known.at >= Timestamp(job * SECOND));
    Some(known.job.0)
}

fn names(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = names.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_merged_run_has_the_keys_of_all_and_no_others() {
    let dir = tempfile::tempdir().unwrap();
    let bounds = [(1, 1_000), (1_001, 1_001), (1_002, 9_000), (9_001, 20_000)];
    let runs = bounds.iter().map(|(first, last)| run(dir.path(), *first..=*last)).collect();
    let merged = merged(dir.path(), runs, 20_000, 1_000_000);
    assert_eq!((merged.after, merged.last, merged.keys), (JobNo(0), JobNo(20_000), 20_000));
    for job in 1..=20_000 {
        assert_eq!(found(&merged, job), Some(job));
    }
    assert!((20_001..30_000).all(|job| found(&merged, job).is_none()));
}

#[test]
fn a_merge_leaves_out_what_had_its_time_and_keeps_the_latest_of_a_key() {
    let dir = tempfile::tempdir().unwrap();
    let old = run(dir.path(), 1..=100);
    let again = Taken {
        start: Start::of_key(&key(7)),
        job: JobNo(150),
        print: 7,
        at: Timestamp(150 * SECOND),
    };
    let young = Arc::new(write(dir.path(), JobNo(100), &[again]).unwrap());
    let both = merged(dir.path(), vec![old.clone(), young.clone()], 150, 1_000);
    assert_eq!((both.keys, found(&both, 7), found(&both, 8)), (100, Some(150), Some(8)));
    let later = merged(dir.path(), vec![old, young], 201, 100);
    assert_eq!((later.keys, found(&later, 7), found(&later, 8)), (1, Some(150), None));
    assert_eq!(later.newest(), Timestamp(150 * SECOND));
}

#[test]
fn an_end_in_the_middle_of_a_merge_leaves_all_keys_and_no_file_that_nobody_needs() {
    let dir = tempfile::tempdir().unwrap();
    let runs = [
        run(dir.path(), 1..=10),
        run(dir.path(), 11..=20),
        run(dir.path(), 21..=30),
        run(dir.path(), 31..=40),
    ];
    // The merged one has taken the place of its last; the others were not removed yet, or only one of
    // them was.
    merged(dir.path(), runs[1..].to_vec(), 40, 1_000);
    std::fs::write(dir.path().join("keys-merged.unfinished"), "half").unwrap();
    runs[1].remove().unwrap();
    let opened = open(dir.path()).unwrap();
    let bounds: Vec<_> = opened.iter().map(|run| (run.after.0, run.last.0)).collect();
    assert_eq!(bounds, [(0, 10), (10, 40)]);
    assert_eq!(names(dir.path()).len(), 2, "{:?}", names(dir.path()));
    assert!((1..=40).all(|job| opened.iter().any(|run| found(run, job) == Some(job))));
}

#[test]
fn a_run_that_is_missing_or_damaged_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let runs = [run(dir.path(), 1..=10), run(dir.path(), 11..=20), run(dir.path(), 21..=30)];
    runs[1].remove().unwrap();
    assert!(matches!(open(dir.path()), Err(KeysError::Missing { .. })));
    for place in [10, 5_000, 9_000, 13_000] {
        let path = runs[0].path();
        let mut bytes = std::fs::read(path).unwrap();
        bytes[place] ^= 1;
        std::fs::write(path, &bytes).unwrap();
        let read = Run::open(path.to_owned());
        let looked = read.and_then(|run| {
            (1..=10).try_for_each(|job| run.find(Start::of_key(&key(job))).map(drop))
        });
        assert!(matches!(looked, Err(KeysError::Damaged { .. })), "byte {place}: {looked:?}");
        bytes[place] ^= 1;
        std::fs::write(path, &bytes).unwrap();
    }
}

#[test]
fn keys_and_ids_of_one_name_are_apart_and_their_time_ends() {
    let dir = tempfile::tempdir().unwrap();
    let id = JobId::fixed("a");
    let taken = Taken { start: Start::of_id(&id), job: JobNo(3), print: 0, at: Timestamp(SECOND) };
    let run = Arc::new(write(dir.path(), JobNo(0), &[taken]).unwrap());
    let keys = Keys::default();
    keys.replace(Files { kept: JobNo(3), runs: vec![run] });
    keys.set_expires_after(Micros(SECOND));
    let mut job = JobSpec::new(id, Name::fixed("t"));
    job.idempotency_key = Some(Name::fixed("a"));
    let submission = Submission::one(job);
    keys.set_now(Timestamp(2 * SECOND));
    let seen = keys.look(&submission).unwrap();
    assert_eq!((seen.found.len(), seen.ids), (0, vec![(0, JobNo(3))]));
    keys.set_now(Timestamp(2 * SECOND + 1));
    assert_eq!(keys.look(&submission).unwrap().ids, []);
}
