//! The loop that owns the engine, and how to talk to it.

pub(crate) mod clock;
mod durability;
pub mod fatal;
mod handle;
mod message;
mod outbox;
mod recovery;
mod reply;
mod run;
mod session;
mod snapshots;
pub(crate) mod space;
mod unavailable;
mod view;
mod waiters;

pub(crate) use handle::Handle;
pub(crate) use message::{
    NumberedReport, Registration, ReportNumber, SessionInput, SessionKey, Taken,
};
pub(crate) use outbox::{End, Outgoing, Refusal, SESSION_MESSAGES_MAX};
pub use recovery::RecoverError;
pub(crate) use recovery::recover;
pub(crate) use run::{Loop, Parts};
pub(crate) use unavailable::Unavailable;
pub(crate) use view::View;
pub(crate) use waiters::Ended;
