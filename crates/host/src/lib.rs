//! The driver around the engine, without I/O: what to append, whom to answer, when to wake.
//!
//! A [`Host`] is told what comes (`handle_*`) and asked what to do about it (`poll_*`). The server drives it with threads and channels, the simulator with virtual time.
//!
//! The order of calls: [`Host::new`], which follows; [`Host::handle_entries`] for what the journal
//! holds behind the snapshot; [`Host::reign`]. Then rounds: say what time it is
//! ([`Host::handle_time`]); handle as many messages as have come, unless [`Host::must_wait`] (then [`Host::defer`], and [`Host::poll_deferred`] later);
//! [`Host::poll_batch`], append it, and say what became of it ([`Host::handle_durable`],
//! [`Host::handle_failure`]); [`Host::drain_outgoing`], [`Host::poll_reply`] and
//! [`Host::poll_watched`]. At [`Host::next_deadline`] call [`Host::handle_tick`]. In every round,
//! [`Host::poll_snapshot`] as long as it gives something.
//!
//! A driver whose journal can be taken by another scheduler says before anything is sent whether that
//! may have happened ([`Host::handle_lease`]). When its reign is over it calls [`Host::follow`].
//!
//! Nobody is told anything, not even a refusal, before what it rests on is durable. A disk that is
//! full, a journal that another scheduler has taken and one that is only followed are states of
//! the host ([`Mode`]), not ends of the process.
//!
//! Deliberately absent: clocks, threads, channels, files, and every decision of the scheduler,
//! which is the engine's.

mod clock;
mod commands;
pub mod defect;
mod durability;
mod edge;
mod host;
mod lease;
mod mode;
mod outbox;
mod reply;
mod session;
mod snapshots;
mod unavailable;
mod waiters;

pub use clock::Reading;
pub use defect::Defect;
pub use durability::{BATCHES_IN_FLIGHT_MAX, Failure};
pub use edge::{Edge, Observer, Unobserved};
pub use host::Host;
pub use mode::Mode;
pub use outbox::{End, Outgoing, Refusal, Registered};
pub use reply::{Reply, Settled, WaitStarted};
pub use session::{NumberedReport, Registration, ReportNumber, SessionInput, SessionKey};
pub use snapshots::{SnapshotRule, SnapshotWork, restore};
pub use unavailable::{NOT_LEADER, Unavailable};
pub use waiters::{Ended, Progress};

/// A map for look-ups: its order is fixed by what it holds, and nothing is to depend on it.
type FixedMap<K, V> = hashbrown::HashMap<K, V, rustc_hash::FxBuildHasher>;
