//! The keys that workers prove themselves with. Signatures are verified at the edge; what is kept
//! here is which key speaks for which worker.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Name, Timestamp, WorkerId, WorkerSpec};
use crate::words;

/// An Ed25519 public key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct WorkerKey(pub [u8; 32]);

impl fmt::Display for WorkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for WorkerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The hash of a one-time token that a worker joins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Ticket(pub [u8; 32]);

/// How a worker that nobody has heard of comes in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyPolicy {
    /// Its key is bound to its id when it first registers; one without a key may come, too.
    #[default]
    FirstUse,
    /// With a key that an operator has approved, or with a ticket.
    Approved,
}

words!(KeyPolicy: FirstUse => "first_use", Approved => "approved");

/// What a registration comes with, besides what the worker says of itself. The edge has checked
/// that the worker holds the key that its description names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Admission {
    pub policy: KeyPolicy,
    pub ticket: Option<Ticket>,
}

/// What a key may be used for. Lists that are empty limit nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyTerms {
    /// Sorted, without repeats.
    pub roles: Box<[Name]>,
    /// The same.
    pub types: Box<[Name]>,
    /// None: the one that there is without a name.
    pub namespace: Option<Name>,
}

/// The namespace that everything is in that names none. There is no other yet.
pub const NAMESPACE_DEFAULT: &str = "default";

impl KeyTerms {
    /// What the worker claims and the key does not carry.
    pub fn exceeded_by(&self, spec: &WorkerSpec) -> Option<(&'static str, String)> {
        let beyond = |bound: &[Name], claimed: &[Name]| {
            let extra = claimed.iter().find(|name| bound.binary_search(name).is_err());
            (!bound.is_empty()).then_some(extra).flatten().map(Name::to_string)
        };
        // Whoever is bound to another one has no business here.
        if self.namespace.is_some() {
            return Some(("namespace", NAMESPACE_DEFAULT.to_owned()));
        }
        if let Some(role) = beyond(&self.roles, &spec.roles) {
            return Some(("role", role));
        }
        if !self.types.is_empty() && spec.types.is_empty() {
            return Some(("type", "any".to_owned()));
        }
        beyond(&self.types, &spec.types).map(|kind| ("type", kind))
    }
}

/// Which key speaks for a worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyBinding {
    pub key: WorkerKey,
    pub standing: KeyStanding,
    pub terms: KeyTerms,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyStanding {
    /// It was the first that came under this id, and is forgotten with the worker.
    FirstUse,
    /// An operator wants it.
    Approved,
    /// Nobody may come under this id until an operator approves a key for it.
    Revoked,
}

words!(
    KeyStanding:
    FirstUse => "first_use", Approved => "approved", Revoked => "revoked",
);

/// A ticket that was given out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitation {
    pub worker: WorkerId,
    pub terms: KeyTerms,
    pub expires: Timestamp,
}
