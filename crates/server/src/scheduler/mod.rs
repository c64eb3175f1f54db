//! The loop that owns the engine, and how to talk to it.

mod durability;
mod handle;
mod message;
mod outbox;
mod recovery;
mod reply;
mod run;
mod session;
mod snapshots;
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
