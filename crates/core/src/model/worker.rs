//! A worker as it registers and reports.

use serde::{Deserialize, Serialize};

use super::{JobNo, Name, Resources, Token, WorkerId, WorkerKey};
use crate::words;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerSpec {
    pub id: WorkerId,
    pub endpoint: String,
    pub zone: Option<Name>,
    /// The kind of machine: workers of one class are expected to be equally fast.
    pub class: Name,
    /// The types of jobs that it has handlers for; empty if it takes any, as workers of before
    /// did. Sorted, without repeats; so are the other lists.
    pub types: Box<[Name]>,
    pub roles: Box<[Name]>,
    pub capabilities: Box<[Name]>,
    pub models: Box<[Name]>,
    /// It can load a model that is not warm yet.
    pub loads_models: bool,
    /// Zero means not limited.
    pub resources: Resources,
    pub slots: u32,
    pub public_key: Option<WorkerKey>,
    /// Differs between two processes of one id: a new instance has lost what the old one held.
    pub instance: u64,
    /// How fast it measured itself to be when it joined, in thousandths; 0 if it did not. What it
    /// shows in practice overrides it.
    pub speed_permille: u32,
}

impl WorkerSpec {
    pub fn new(id: WorkerId, slots: u32) -> WorkerSpec {
        WorkerSpec {
            id,
            endpoint: String::new(),
            zone: None,
            class: Name::fixed("default"),
            types: Box::default(),
            roles: Box::default(),
            capabilities: Box::default(),
            models: Box::default(),
            loads_models: false,
            resources: Resources::default(),
            slots,
            public_key: None,
            instance: 1,
            speed_permille: 0,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum WorkerStatus {
    /// Idle or busy: it takes jobs.
    Open,
    /// It said, or its load says, that it takes no more for now.
    Overloaded,
    /// It finishes what it has.
    Draining,
    /// Not heard of for longer than the configured time, or it left.
    Unreachable,
}

words!(
    WorkerStatus:
    Open => "open", Overloaded => "overloaded", Draining => "draining",
    Unreachable => "unreachable",
);

/// What a worker says of itself every few seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeat {
    pub cpu_permille: u32,
    pub memory_permille: u32,
    /// 1000 is fully loaded.
    pub load_permille: u32,
    /// Jobs that it holds and has not started, ours and others'.
    pub queue_depth: u32,
    pub overloaded: bool,
}

/// An attempt that a worker says it holds when it (re)connects: it runs it, or has its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HeldAttempt {
    pub job: JobNo,
    pub token: Token,
}
