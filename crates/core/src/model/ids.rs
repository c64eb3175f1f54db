//! Names that people give, and numbers that the scheduler gives.
//!
//! Names arrive once, in the event that introduces a job, run or worker; every later event refers
//! to it by number. Numbers are never reused, so a message about a forgotten job can't be mistaken
//! for one about its successor of the same name.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::excerpt::excerpt;
use super::limits::NAME_BYTES_MAX;

/// A name given by a user: a job type, a role, a tag. Not empty, at most [`NAME_BYTES_MAX`] bytes,
/// no control characters.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name(Arc<str>);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a name is empty")]
    Empty,
    #[error("the name {start:?} has {bytes} bytes; at most {NAME_BYTES_MAX} are allowed")]
    TooLong { start: String, bytes: usize },
    #[error("the name {0:?} has a control character")]
    Control(String),
}

impl Name {
    pub fn new(text: &str) -> Result<Name, NameError> {
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > NAME_BYTES_MAX {
            let start = excerpt(text).into_owned();
            return Err(NameError::TooLong { start, bytes: text.len() });
        }
        if text.chars().any(char::is_control) {
            return Err(NameError::Control(excerpt(text).into_owned()));
        }
        Ok(Name(Arc::from(text)))
    }

    /// For names that the program itself writes.
    ///
    /// # Panics
    /// If the text is not a valid name.
    pub fn fixed(text: &str) -> Name {
        Name::new(text).expect("the program writes valid names")
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $id:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $id(Name);

        impl $id {
            /// # Errors
            /// As [`Name::new`].
            pub fn new(text: &str) -> Result<$id, NameError> {
                Name::new(text).map($id)
            }

            /// For ids that the program itself writes.
            ///
            /// # Panics
            /// If the text is not a valid name.
            pub fn fixed(text: &str) -> $id {
                $id(Name::fixed(text))
            }

            pub fn as_str(&self) -> &str {
                self.0.as_str()
            }

            /// The id as the name that it is, where names of several kinds are kept together.
            pub fn as_name(&self) -> &Name {
                &self.0
            }
        }

        impl From<Name> for $id {
            fn from(name: Name) -> $id {
                $id(name)
            }
        }

        impl AsRef<str> for $id {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl std::borrow::Borrow<str> for $id {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }
    };
}

id!(
    /// What a job is called by whoever submitted it, or by the scheduler if they did not say.
    JobId
);
id!(
    /// What a run is called.
    RunId
);
id!(
    /// What a worker calls itself.
    WorkerId
);

macro_rules! number {
    ($(#[$doc:meta])* $name:ident, $inner:ty) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        pub struct $name(pub $inner);

        impl $name {
            #[must_use]
            pub fn next(self) -> $name {
                $name(self.0 + 1)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number!(
    /// The position of an event in the journal, from 1: the scheduler's logical time.
    Seq, u64
);
number!(
    /// The fencing token of an attempt: the position of its assignment in the journal, so it grows
    /// across restarts and failovers.
    Token, u64
);
number!(
    /// The reign of one scheduler over the journal.
    Epoch, u64
);
number!(
    /// A job, in order of submission.
    JobNo, u64
);
number!(
    /// A run of more than one job, in order of submission.
    RunNo, u64
);
number!(
    /// A worker, in order of first registration.
    WorkerNo, u32
);

number!(
    /// Whoever caused an event from outside, in order of first appearance; 0 is the scheduler itself,
    /// or the worker that the event is about.
    ActorNo, u32
);

impl From<Seq> for Token {
    fn from(seq: Seq) -> Token {
        Token(seq.0)
    }
}

/// A worker or none, in the four bytes of a number: no worker has the number 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MaybeWorker(u32);

impl MaybeWorker {
    pub fn get(self) -> Option<WorkerNo> {
        (self.0 != 0).then_some(WorkerNo(self.0))
    }

    /// 0 is none.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl From<u32> for MaybeWorker {
    fn from(number: u32) -> MaybeWorker {
        MaybeWorker(number)
    }
}

impl From<Option<WorkerNo>> for MaybeWorker {
    fn from(worker: Option<WorkerNo>) -> MaybeWorker {
        MaybeWorker(worker.map_or(0, |worker| worker.0))
    }
}
