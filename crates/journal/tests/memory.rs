//! The memory journal keeps every promise of the trait.

use bellwether_core::model::Seq;
use bellwether_journal::conformance::samples::Samples;
use bellwether_journal::conformance::{self, Bed};
use bellwether_journal::{AppendError, Journal, MemoryJournal, MemoryStore};

struct MemoryBed(MemoryStore);

impl Bed for MemoryBed {
    fn open(&mut self) -> Box<dyn Journal> {
        Box::new(MemoryJournal::open(&self.0).expect("the store is sound"))
    }

    fn opens_twice(&self) -> bool {
        true
    }
}

#[test]
fn conforms() {
    conformance::run(|| MemoryBed(MemoryStore::new()));
}

#[test]
fn full_store_takes_appends_again_once_there_is_room() {
    let store = MemoryStore::new();
    let mut journal = MemoryJournal::open(&store).unwrap();
    let entries = Samples::new(1, Seq(0)).entries(4);
    store.limit(Some(1));
    let result = journal.append(journal.epoch(), Seq(0), &entries);
    assert!(matches!(result, Err(AppendError::Full)));
    store.limit(None);
    journal.append(journal.epoch(), Seq(0), &entries).unwrap();
    assert_eq!(conformance::read_all(&journal, Seq(1)), entries);
}

#[test]
fn flipped_bit_is_found_wherever_it_is() {
    let store = MemoryStore::new();
    let mut journal = MemoryJournal::open(&store).unwrap();
    let entries = Samples::new(2, Seq(0)).entries(3);
    journal.append(journal.epoch(), Seq(0), &entries).unwrap();
    for byte in 0..store.bytes() {
        store.damage(0, byte, 3);
        MemoryJournal::open(&store).unwrap_err();
        store.damage(0, byte, 3);
    }
    MemoryJournal::open(&store).unwrap();
}
