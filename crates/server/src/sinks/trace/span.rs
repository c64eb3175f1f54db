//! A span, until it is sent.

use bellwether_core::model::{Name, Timestamp};

#[derive(Debug)]
pub(crate) struct Span {
    pub(super) trace_id: [u8; 16],
    pub(super) span_id: [u8; 8],
    pub(super) parent: Option<[u8; 8]>,
    pub(super) name: &'static str,
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// When the worker said that it began.
    pub(super) started: Option<Timestamp>,
    /// What went wrong.
    pub(super) error: Option<String>,
}

#[derive(Debug)]
pub(super) enum Value {
    Name(Name),
    Text(&'static str),
    Number(i64),
    Share(f64),
}
