//! Records written by hand are those that the generated code writes, and read back the same.

use bellwether_core::model::{Epoch, Seq};
use bellwether_journal::conformance::samples::Samples;
use bellwether_journal::{Chain, Head, Recorder};
use bellwether_wire::event::{entries_from_wire, record_to_wire};
use bellwether_wire::v1;
use proptest::prelude::*;
use prost::Message;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn both_ways_agree(seed: u64, after in 0_u64..1 << 40, count in 1_usize..20, epoch: u64) {
        let head = Head { seq: Seq(after), chain: Chain([7; 32]) };
        let entries = Samples::new(seed, head.seq).entries(count);
        let mut recorder = Recorder::new(head);
        let draft = recorder.draft(Epoch(epoch), &entries);

        let generated = record_to_wire(Epoch(epoch), &entries).encode_to_vec();
        prop_assert_eq!(draft.bytes, &generated[..]);
        prop_assert_eq!(draft.head, Head {
            seq: Seq(after + count as u64),
            chain: head.chain.after(&generated),
        });

        let decoded = v1::Record::decode(&generated[..]).unwrap();
        prop_assert_eq!(entries_from_wire(decoded).unwrap(), entries);
    }
}

#[test]
fn every_kind_of_event_is_written_and_read() {
    for seed in 0..200 {
        let entries = Samples::new(seed, Seq(0)).every_kind();
        let mut recorder = Recorder::new(Head::GENESIS);
        let draft = recorder.draft(Epoch(1), &entries);
        assert_eq!(draft.bytes, record_to_wire(Epoch(1), &entries).encode_to_vec());
        let decoded = v1::Record::decode(draft.bytes).unwrap();
        assert_eq!(entries_from_wire(decoded).unwrap(), entries);
    }
}
