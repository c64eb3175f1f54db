//! The journal on its own thread: order, joined batches, and the end after a failure.

use std::sync::mpsc::channel;

use bellwether_core::model::Seq;
use bellwether_journal::conformance::{read_all, samples::Samples};
use bellwether_journal::thread::{NotTaken, Outcome};
use bellwether_journal::{AppendError, JournalThread, MemoryJournal, MemoryStore};

#[test]
fn batches_become_durable_in_order_and_come_back() {
    let store = MemoryStore::new();
    let journal = MemoryJournal::open(&store).unwrap();
    let (tell, told) = channel();
    let thread =
        JournalThread::start(Box::new(journal), 4, move |outcome| tell.send(outcome).unwrap())
            .unwrap();
    let entries = Samples::new(1, Seq(0)).entries(1_000);
    for batch in entries.chunks(10) {
        let mut batch = batch.to_vec();
        while let Err(NotTaken::Busy(again)) = thread.append(batch) {
            batch = again;
            std::thread::yield_now();
        }
    }
    let journal = thread.stop();
    assert_eq!(read_all(journal.as_ref(), Seq(1)), entries);
    let mut back = Vec::new();
    for outcome in told {
        let Outcome::Durable(durable) = outcome else { panic!("{outcome:?}") };
        back.extend(durable.entries);
        assert_eq!(durable.head.seq, back.last().unwrap().seq);
    }
    assert_eq!(back, entries);
}

#[test]
fn nothing_is_appended_after_a_failure() {
    let store = MemoryStore::new();
    let journal = MemoryJournal::open(&store).unwrap();
    let entries = Samples::new(1, Seq(0)).entries(20);
    store.limit(Some(0));
    let (tell, told) = channel();
    let thread =
        JournalThread::start(Box::new(journal), 4, move |outcome| tell.send(outcome).unwrap())
            .unwrap();
    thread.append(entries[..10].to_vec()).unwrap();
    let outcome = told.recv().unwrap();
    assert!(matches!(outcome, Outcome::Failed(AppendError::Full)), "{outcome:?}");
    store.limit(None);
    // It may take a moment until the thread has left its inbox.
    while thread.append(entries[10..].to_vec()) != Err(NotTaken::Stopped) {
        std::thread::yield_now();
    }
    let mut journal = thread.stop();
    assert_eq!(journal.head().seq, Seq(0));
    journal.append(journal.epoch(), Seq(0), &entries).unwrap();
}
