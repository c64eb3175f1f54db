//! Several simulated schedulers, of which one at a time decides.
//!
//! Each runs the real host and the real member; what stands for openraft is a model of a log that is
//! agreed upon by votes: terms, replication, a majority that has synced. Messages between them are lost
//! by partitions of all kinds, machines stop, die and lose their disks, clocks run unequally, members
//! come and go, while clients and workers go on as in [`crate::faults`].
//!
//! Deliberately absent: openraft itself, and journals that schedulers share; both are tried for real.

mod chaos;
mod defect;
mod disk;
pub(crate) mod due;
mod invariants;
mod log;
mod network;
mod node;
mod process;
mod reign;
mod replica;
mod routes;
pub(crate) mod sight;
mod sinks;
mod truth;
pub(crate) mod world;

pub use defect::{LogDefect, SeatDefect, planted};
pub use invariants::names as invariant_names;
