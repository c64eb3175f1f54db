//! What a job took in earlier days, as somebody else remembers it.

use super::{Micros, Name, Timestamp};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    pub sender: Option<Name>,
    pub input_bytes: u64,
    /// Millicores.
    pub cpu: u32,
    /// Of the worker that ran it.
    pub class: Name,
    pub started: Timestamp,
    pub took: Micros,
}
