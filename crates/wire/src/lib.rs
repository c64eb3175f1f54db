//! The one schema, on the wire and on disk, and the way between it and the core's types.
//!
//! Everything from outside is parsed here, once: what comes out of a `*_from_wire` function has
//! valid names, known kinds and bounded lists, and the error of one that does not names the field.
//! With the feature `json` the same holds for jobs that people write as JSON or YAML.
//! Schedulers and clients of one machine agree here, too, on where a token lies.
//!
//! Deliberately absent: transport. The gRPC stubs are generated behind the features `client` and
//! `server`, and used elsewhere.

pub mod checkpoint;
pub mod concurrency;
pub mod config;
pub mod decision;
pub mod event;
pub mod explained;
pub mod handoff;
pub mod job;
#[cfg(feature = "json")]
pub mod json;
pub mod key;
pub mod local_token;
pub mod malformed;
pub mod mirror;
pub mod private;
pub mod rejection;
pub mod signing;
pub mod snapshot;
pub mod words;
pub mod worker;

/// For those who speak the schema and have no other need of the core.
// Workers find handlers by the rule that placement goes by.
pub use bellwether_core::handlers_of;
pub use bellwether_core::model::{
    Epoch, Handoff, HandoffSignature, JobId, Name, Receiver, Timestamp, Token, TraceParent,
    WorkerId, WorkerKey,
};
pub use malformed::{Malformed, Problem};
pub use mirror::Mirror;

/// The generated messages.
#[cfg_attr(
    any(feature = "client", feature = "server"),
    expect(clippy::allow_attributes, reason = "the generated stubs allow what they need")
)]
pub mod v1 {
    include!(concat!(env!("OUT_DIR"), "/bellwether.v1.rs"));
}

/// The schema itself, for gRPC reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
