//! This scheduler among others: the thread that takes part, who leads, and what starts and ends with a
//! reign.

mod members;
mod open;
mod raft;
mod reign;
mod standing;
mod thread;

pub(crate) use members::{Members, NotRemoved, NotTransferred};
pub(crate) use open::{Addresses, Opened, open};
pub use open::{ClusterOpenError, recover};
pub use raft::{Enrolled, init, join};
pub(crate) use reign::{EngageError, Means, Reign};
pub(crate) use standing::Standing;
pub(crate) use thread::{Heard, Room, Seat, StepFrom};
