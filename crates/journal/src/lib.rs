//! The fenced, hash-chained journal: what the scheduler knows is what lies here.
//!
//! [`Journal`] is the trait; a backend makes appends durable, refuses those of a scheduler that has
//! been replaced, and gives back exactly what was appended or says where it can't. [`Recorder`]
//! turns entries into the bytes of a record and advances the chain. [`conformance`] is the suite
//! that every backend passes.
//!
//! Deliberately absent: what events mean, and any repair. A torn record that was never acknowledged
//! is cut; every other damage is reported and left as it is.

pub mod chain;
mod codec;
pub mod conformance;
pub mod copy;
pub mod disk;
pub mod envelope;
pub mod file;
pub mod journal;
pub mod lease;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod recorder;
#[cfg(feature = "redis")]
pub mod redis;
pub mod shared;
pub mod snapshot;
#[cfg(feature = "sqlite")]
pub mod sqlite;
pub mod state;
pub mod thread;

pub use chain::{Chain, Head};
pub use codec::decode::Record;
pub use codec::salvage::{Salvaged, salvage};
pub use copy::{Copied, TakesCopies};
pub use envelope::Envelope;
pub use file::FileJournal;
pub use journal::{
    AppendError, Damage, Flaw, Journal, OpenError, ReadError, Reader, Records, TruncateError,
};
pub use lease::Lease;
pub use memory::{MemoryJournal, MemoryStore};
pub use recorder::Recorder;
pub use snapshot::{OpenSnapshot, Snapshot, SnapshotError, SnapshotWriter, Snapshots};
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteJournal;
pub use thread::{Durable, JournalThread};
