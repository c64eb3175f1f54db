//! What those who watch are told.

use bellwether_core::model::{JobStatus, Seq, Timestamp};
use bellwether_core::{AttemptEnd, Decision, Event};

use super::live::{LiveJob, LiveOffer, Workers};

#[derive(Debug)]
pub(crate) enum Sighting<'a> {
    Submitted {
        job: &'a LiveJob,
    },
    Decided {
        job: &'a LiveJob,
        offer: &'a LiveOffer,
        decision: &'a Decision,
        workers: &'a Workers,
    },
    Started {
        offer: &'a LiveOffer,
    },
    OfferEnded {
        job: &'a LiveJob,
        offer: &'a LiveOffer,
        end: AttemptEnd<'a>,
        at: Timestamp,
        seq: Seq,
    },
    Ended {
        job: &'a LiveJob,
        how: JobStatus,
        at: Timestamp,
    },
    /// Anything else, with the job that it is about.
    Other {
        event: &'a Event,
        job: Option<&'a LiveJob>,
    },
}
