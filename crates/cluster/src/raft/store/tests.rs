//! The store against openraft's own suite.

use openraft::testing::{StoreBuilder, Suite};
use tempfile::TempDir;

use super::*;
use crate::raft::types::{Records, StorageError};

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
