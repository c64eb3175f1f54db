//! Why the scheduler takes no work at all for now. Reasons that concern one wish are rejections.

use bellwether_core::model::Micros;

/// The code of whoever leads no more, or never did.
pub const NOT_LEADER: &str = "not_leader";

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    #[error("the disk is full; nothing new is taken until there is space again")]
    DiskFull,
    #[error(
        "the data directory takes as much of the disk as disk_max allows; nothing new is taken until \
         it takes less: raise disk_max, or lower history_jobs_max"
    )]
    DiskMax,
    #[error("the scheduler is shutting down; connect again in a moment")]
    ShuttingDown,
    #[error("the scheduler is busy; slow down and try again")]
    Busy,
    #[error("the journal could not take it and the state was rebuilt; nothing was changed")]
    Rebuilt,
    #[error(
        "it is not known whether the journal has kept it; look what became of it, or send it again \
         with the same idempotency key"
    )]
    Unknown,
    #[error("another scheduler has taken over; ask that one")]
    Deposed,
    #[error("this scheduler follows another; ask that one")]
    Following,
    #[error("the snapshot could not be written; the scheduler's log says why")]
    NotSaved,
}

impl Unavailable {
    pub fn code(self) -> &'static str {
        match self {
            Unavailable::DiskFull => "disk_full",
            Unavailable::DiskMax => "disk_max",
            Unavailable::ShuttingDown => "shutting_down",
            Unavailable::Busy => "busy",
            Unavailable::Rebuilt => "rebuilt",
            Unavailable::Unknown => "outcome_unknown",
            Unavailable::Deposed | Unavailable::Following => NOT_LEADER,
            Unavailable::NotSaved => "not_saved",
        }
    }

    pub fn retry_after(self) -> Micros {
        match self {
            Unavailable::DiskFull | Unavailable::DiskMax | Unavailable::NotSaved => {
                Micros::from_secs(5)
            }
            Unavailable::ShuttingDown => Micros::from_secs(1),
            Unavailable::Busy => Micros::from_millis(200),
            Unavailable::Rebuilt | Unavailable::Unknown => Micros::from_millis(10),
            Unavailable::Deposed | Unavailable::Following => Micros::from_millis(50),
        }
    }

    /// Whether what was asked for may have happened all the same.
    pub fn is_unknown(self) -> bool {
        match self {
            Unavailable::Unknown | Unavailable::ShuttingDown => true,
            Unavailable::DiskFull
            | Unavailable::DiskMax
            | Unavailable::Busy
            | Unavailable::Rebuilt
            | Unavailable::Deposed
            | Unavailable::Following
            | Unavailable::NotSaved => false,
        }
    }
}
