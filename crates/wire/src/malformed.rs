//! Why something from outside could not be read.

use std::fmt;

use bellwether_core::model::ids::NameError;
use bellwether_core::model::{JobId, Micros, Name, excerpt, is_made_by_scheduler};

/// The longest timeout, delay or other span that is accepted: a hundred years, far from where
/// adding it to a time could overflow.
pub const SPAN_MAX: Micros = Micros::from_secs(100 * 366 * 86_400);

/// A field that can't be what it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Malformed {
    /// Its path, as `jobs[3].tags[0]`.
    pub field: String,
    pub problem: Problem,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    #[error("is missing")]
    Missing,
    #[error(transparent)]
    Name(#[from] NameError),
    #[error("has {given} entries; at most {max} are allowed")]
    TooMany { given: usize, max: usize },
    #[error("is {given}; {wanted}")]
    NotAllowed { given: String, wanted: &'static str },
    #[error("is not known{}", suggestion(.nearest.as_deref()))]
    Unknown { nearest: Option<String> },
    #[error("stands twice; say it once")]
    Twice,
    #[error("excludes {other}; give one of them")]
    Excludes { other: &'static str },
    #[error("has no value; give it one, as --set {name}=VALUE or in `set`")]
    Unset { name: String },
    #[error("{what} can't be read: {why}")]
    Unreadable { what: String, why: String },
    #[error("has {given} jobs; at most {max} can depend on it")]
    TooWide { given: usize, max: usize },
    #[error("waits for itself, by way of what it depends on")]
    Cycle,
}

fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}

impl Malformed {
    pub fn new(field: impl AsRef<str>, problem: impl Into<Problem>) -> Malformed {
        let field = excerpt(field.as_ref()).into_owned();
        Malformed { field, problem: problem.into() }
    }

    pub fn missing(field: &str) -> Malformed {
        Malformed::new(field, Problem::Missing)
    }

    pub fn not_allowed(field: &str, given: impl fmt::Display, wanted: &'static str) -> Malformed {
        let given = excerpt(&given.to_string()).into_owned();
        Malformed::new(field, Problem::NotAllowed { given, wanted })
    }

    /// The same problem, seen from outside of the message it is in.
    #[must_use]
    pub fn within(self, outer: impl fmt::Display) -> Malformed {
        Malformed { field: format!("{outer}.{}", self.field), problem: self.problem }
    }
}

/// A name, or an id, which is one.
pub(crate) fn name<N: From<Name>>(field: &str, text: &str) -> Result<N, Malformed> {
    if text.is_empty() {
        return Err(Malformed::missing(field));
    }
    Name::new(text).map(N::from).map_err(|error| Malformed::new(field, error))
}

/// No name is empty, so an empty one stands for none.
pub(crate) fn optional_name<N: From<Name>>(
    field: &str,
    text: &str,
) -> Result<Option<N>, Malformed> {
    if text.is_empty() { Ok(None) } else { name(field, text).map(Some) }
}

/// An id that somebody gives to a job. Those that the scheduler makes are unique because nobody else makes
/// them.
pub(crate) fn chosen_id(field: &str, id: Option<JobId>) -> Result<Option<JobId>, Malformed> {
    match id {
        Some(id) if is_made_by_scheduler(&id) => {
            let wanted =
                "ids of this form are made by the scheduler; leave it out or choose another";
            Err(Malformed::not_allowed(field, id, wanted))
        }
        id => Ok(id),
    }
}

pub(crate) fn names<N: From<Name>, T: AsRef<str>>(
    field: &str,
    list: &[T],
    max: usize,
) -> Result<Vec<N>, Malformed> {
    at_most(field, list.len(), max)?;
    list.iter()
        .enumerate()
        .map(|(index, text)| {
            Name::new(text.as_ref())
                .map(N::from)
                .map_err(|error| Malformed::new(format!("{field}[{index}]"), error))
        })
        .collect()
}

/// Names of which order and repetition mean nothing.
pub(crate) fn label_set<T: AsRef<str>>(
    field: &str,
    list: &[T],
    max: usize,
) -> Result<Box<[Name]>, Malformed> {
    let mut names: Vec<Name> = names(field, list, max)?;
    names.sort_unstable();
    names.dedup();
    Ok(names.into())
}

pub(crate) fn at_most(field: &str, given: usize, max: usize) -> Result<(), Malformed> {
    if given > max {
        return Err(Malformed::new(field, Problem::TooMany { given, max }));
    }
    Ok(())
}

pub(crate) fn span(field: &str, micros: u64) -> Result<Micros, Malformed> {
    if micros > SPAN_MAX.0 {
        return Err(Malformed::not_allowed(field, Micros(micros), "at most 100 years are allowed"));
    }
    Ok(Micros(micros))
}

pub(crate) fn hash(field: &str, bytes: &[u8]) -> Result<[u8; 32], Malformed> {
    bytes.try_into().map_err(|_| {
        Malformed::not_allowed(field, format!("{} bytes long", bytes.len()), "it must be 32 bytes")
    })
}

/// Cuts a text that is longer than what is kept, at a character.
pub(crate) fn cut(mut text: String) -> String {
    const MAX: usize = bellwether_core::model::limits::TEXT_BYTES_MAX;
    if text.len() > MAX {
        text.truncate(text.floor_char_boundary(MAX));
    }
    text
}
