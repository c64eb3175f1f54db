//! The store against openraft's own suite.

use bellwether_core::model::Epoch;
use bellwether_journal::Recorder;
use bellwether_journal::conformance::samples::Samples;
use bytes::Bytes;
use openraft::storage::RaftLogStorage as _;
use openraft::testing::{StoreBuilder, Suite};
use tempfile::TempDir;

use super::schema::Row;
use super::*;
use crate::raft::types::{LogEntry, Proposal, Records, StorageError};

struct Fresh;

impl StoreBuilder<Records, LogStore, Machine, TempDir> for Fresh {
    async fn build(&self) -> Result<(TempDir, LogStore, Machine), StorageError> {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), MemberId(1), &Bell::default()).unwrap();
        Ok((dir, store.log(), store.machine()))
    }
}

#[test]
fn the_store_is_what_openraft_wants() {
    Suite::test_all(Fresh).unwrap();
}

#[test]
fn the_directory_of_another_member_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    drop(Store::open(dir.path(), MemberId(1), &Bell::default()).unwrap());
    assert_eq!(Store::owner(dir.path()).unwrap(), Some(MemberId(1)));
    let error = Store::open(dir.path(), MemberId(2), &Bell::default()).unwrap_err();
    assert!(error.to_string().contains("belongs to member 1"), "{error}");
}

/// Records that follow each other, with a place in the log each.
fn log_of(records: u64) -> Vec<LogEntry> {
    let mut recorder = Recorder::new(Head::GENESIS);
    let entry = |index| {
        let prior = recorder.head();
        let entries = Samples::new(index, prior.seq).entries(2);
        let draft = recorder.draft(Epoch(1), &entries);
        let (head, record) = (draft.head, Bytes::copy_from_slice(draft.bytes));
        recorder.accept(head);
        let payload = EntryPayload::Normal(Proposal { prior, head, record });
        LogEntry { log_id: place(index), payload }
    };
    (1..=records).map(entry).collect()
}

fn place(index: u64) -> LogId {
    LogId::new(openraft::CommittedLeaderId::new(1, 1), index)
}

fn head_of(entry: &LogEntry) -> Head {
    match &entry.payload {
        EntryPayload::Normal(proposal) => proposal.head,
        EntryPayload::Blank | EntryPayload::Membership(_) => panic!("it has no record"),
    }
}

/// A directory with this log, all of it committed.
fn directory_with(log: &[LogEntry]) -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(dir.path(), MemberId(1)).unwrap();
    let rows: Vec<Row> = log.iter().map(Row::of).collect();
    database.append(&rows).unwrap();
    database.write_committed(&log.last().unwrap().log_id).unwrap();
    (dir, database)
}

fn save_snapshot(dir: &Path, head: Head) {
    let mut snapshot = SnapshotFiles::new(dir).begin(head).unwrap();
    snapshot.write(b"the state").unwrap();
    snapshot.finish().unwrap();
}

/// A start must not take longer the more is kept: a member that is killed again and again would never
/// catch up.
#[test]
fn a_start_reads_only_what_has_happened_since_the_snapshot() {
    let log = log_of(100);
    let (dir, database) = directory_with(&log);
    // Whoever read this would find it damaged.
    let connection = rusqlite::Connection::open(dir.path().join("raft.sqlite")).unwrap();
    connection.execute("UPDATE log SET hash = x'00' WHERE position = 20", []).unwrap();
    let error = Store::open(dir.path(), MemberId(1), &Bell::default()).unwrap_err();
    assert!(error.to_string().contains("does not match its hash"), "{error}");
    save_snapshot(dir.path(), head_of(&log[79]));
    let store = Store::open(dir.path(), MemberId(1), &Bell::default()).unwrap();
    assert_eq!(store.applied().head(), head_of(&log[99]));
    assert_eq!(store.applied().last(), Some(place(100)));
    // It is damaged all the same, for whoever wants to have it.
    let mut records = store.reader().unwrap();
    assert!(records.read(Seq(1)).unwrap().any(|record| record.is_err()));
    records = store.reader().unwrap();
    let since = head_of(&log[79]).seq.next();
    assert_eq!(records.read(since).unwrap().map(Result::unwrap).count(), 20);
    drop((database, connection));
}

#[test]
fn what_is_forgotten_counts_for_nothing_while_it_is_still_there() {
    let log = log_of(1_000);
    let (dir, database) = directory_with(&log);
    save_snapshot(dir.path(), head_of(&log[899]));
    // As if the process had ended when the purge had just been decided.
    let base = Mark { last: Some(place(900)), head: head_of(&log[899]), ..Mark::default() };
    database.write_base(&base).unwrap();
    drop(database);
    let store = Store::open(dir.path(), MemberId(1), &Bell::default()).unwrap();
    let state = block_on(store.log().get_log_state()).unwrap();
    assert_eq!(
        (state.last_purged_log_id, state.last_log_id),
        (Some(place(900)), Some(place(1_000)))
    );
    let begun = std::time::Instant::now();
    while store.reads().entry_at(900).unwrap().is_some() {
        assert!(begun.elapsed().as_secs() < 30, "it is never forgotten");
        std::thread::yield_now();
    }
    assert!(store.reads().entry_at(901).unwrap().is_some());
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}
