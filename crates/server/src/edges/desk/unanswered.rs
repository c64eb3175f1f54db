//! Why there is no answer.

use bellwether_core::Rejection;
use bellwether_wire::rejection::rejection_to_wire;
use bellwether_wire::{Malformed, v1};

use crate::event_loop::Unavailable;
use crate::projections::history::{CursorError, HistoryError};
use crate::projections::logs::LogsError;
use crate::projections::registry::LookupError;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Unanswered {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error(transparent)]
    Lookup(#[from] LookupError),
    #[error(transparent)]
    Logs(#[from] LogsError),
    #[error(transparent)]
    History(#[from] HistoryError),
    #[error("the next events were not taken in time; come back for them with the last position")]
    TooSlow,
    #[error("job {id} is not known")]
    UnknownJob { id: String },
    #[error("run {id} is not known")]
    UnknownRun { id: String },
}

impl From<Malformed> for Unanswered {
    fn from(why: Malformed) -> Unanswered {
        Unanswered::Refused(Refused::Malformed(why))
    }
}

impl From<CursorError> for Unanswered {
    fn from(why: CursorError) -> Unanswered {
        match why {
            CursorError::Read(why) => why.into(),
            CursorError::Names(why) => why.into(),
        }
    }
}

/// Why a wish was not fulfilled.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    /// It could not even be read.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// It was understood, and refused.
    #[error(transparent)]
    Rejected(#[from] Rejection),
}

impl From<&Refused> for v1::Rejection {
    fn from(refused: &Refused) -> v1::Rejection {
        match refused {
            Refused::Malformed(why) => v1::Rejection::from(why),
            Refused::Rejected(why) => rejection_to_wire(why),
        }
    }
}
