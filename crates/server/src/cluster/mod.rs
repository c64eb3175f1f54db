//! This scheduler among others: the thread that takes part, who leads, and what starts and ends with a
//! reign.

mod members;
mod open;
mod reign;
mod standing;
mod thread;

pub(crate) use members::{Members, NotTransferred};
pub(crate) use open::{Addresses, open};
pub use open::{ClusterOpenError, recover};
pub(crate) use reign::{EngageError, Means, Reign};
pub(crate) use standing::Standing;
pub(crate) use thread::{Heard, Room, Seat, StepFrom};
