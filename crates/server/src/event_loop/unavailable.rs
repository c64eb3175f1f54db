//! Why the loop takes no work at all for now. Reasons that concern one wish are rejections.

use bellwether_core::model::Micros;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    #[error("the disk is full; nothing new is taken until there is space again")]
    DiskFull,
    #[error("the scheduler is shutting down; connect again in a moment")]
    ShuttingDown,
    #[error("the scheduler is busy; slow down and try again")]
    Busy,
    #[error("the journal could not take it and the state was rebuilt; nothing was changed")]
    Rebuilt,
}

impl Unavailable {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Unavailable::DiskFull => "disk_full",
            Unavailable::ShuttingDown => "shutting_down",
            Unavailable::Busy => "busy",
            Unavailable::Rebuilt => "rebuilt",
        }
    }

    pub(crate) fn retry_after(self) -> Micros {
        match self {
            Unavailable::DiskFull => Micros::from_secs(5),
            Unavailable::ShuttingDown => Micros::from_secs(1),
            Unavailable::Busy => Micros::from_millis(200),
            Unavailable::Rebuilt => Micros::from_millis(10),
        }
    }
}
