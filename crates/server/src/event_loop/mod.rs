//! The threads and channels around the host, and how to talk to it.

pub(crate) mod clock;
mod durability;
pub mod fatal;
mod handle;
mod message;
mod recovery;
mod reign;
mod retire;
mod run;
pub(crate) mod settings;
mod snapshot;
pub(crate) mod space;
mod view;

pub(crate) use bellwether_host::{
    Ended, NumberedReport, Refusal, ReportNumber, SessionKey, Settled, Unavailable,
};
pub(crate) use handle::Handle;
pub(crate) use message::{
    End, Message, Outgoing, Registration, SESSION_MESSAGES_MAX, SavedSnapshot, SessionInput,
};
pub use recovery::RecoverError;
pub(crate) use recovery::{recover, recover_until};
pub(crate) use run::{Loop, Parts, Place};
pub use settings::SettingsError;
pub(crate) use settings::SettingsFile;
pub(crate) use view::View;
