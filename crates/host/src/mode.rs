//! What a host may do just now.

use bellwether_core::model::Timestamp;

use crate::unavailable::Unavailable;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It applies what others decided and decides nothing.
    Following,
    /// It decides, appends and answers.
    Reigning,
    /// The journal has no room. Nothing is taken until a look at `probe_at` finds space.
    Full { probe_at: Timestamp },
    /// An append failed, so the engine is ahead of the journal. It is built anew from what is
    /// there; `full` if there will still be no room for more.
    Rebuilding { full: bool },
    /// Another scheduler has the journal. This one has fallen silent.
    Deposed,
    /// It was told to end.
    Stopped,
}

impl Mode {
    /// Why work is refused at once, if it is.
    pub(crate) fn refuses(self) -> Option<Unavailable> {
        match self {
            Mode::Reigning | Mode::Rebuilding { .. } => None,
            Mode::Full { .. } => Some(Unavailable::DiskFull),
            Mode::Deposed => Some(Unavailable::Deposed),
            Mode::Following => Some(Unavailable::Following),
            Mode::Stopped => Some(Unavailable::ShuttingDown),
        }
    }

    /// Why not even a question is answered, if it is not: what this host knows may be wrong.
    pub(crate) fn is_silent(self) -> Option<Unavailable> {
        match self {
            Mode::Deposed => Some(Unavailable::Deposed),
            Mode::Stopped => Some(Unavailable::ShuttingDown),
            Mode::Reigning | Mode::Rebuilding { .. } | Mode::Full { .. } | Mode::Following => None,
        }
    }

    /// A follower is told of no ends: whoever waits for one asks the leader.
    pub(crate) fn is_following(self) -> Option<Unavailable> {
        (self == Mode::Following).then_some(Unavailable::Following)
    }

    pub fn is_full(self) -> bool {
        matches!(self, Mode::Full { .. } | Mode::Rebuilding { full: true })
    }
}
