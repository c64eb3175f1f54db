//! What must differ between processes.

use bellwether_wire::job::AUTOMATIC_KEY;
use uuid::Uuid;

/// An id that nobody else has; later ones sort after earlier ones.
pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

/// An idempotency key for a job that came without one. See [`AUTOMATIC_KEY`].
pub fn automatic_key() -> String {
    format!("{AUTOMATIC_KEY}{}", new_id())
}

pub(crate) fn random() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    // The version and variant bits are fixed in one half each, not in both.
    high ^ low
}
