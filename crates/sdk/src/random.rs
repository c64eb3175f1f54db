//! What must differ between processes.

use uuid::Uuid;

/// An id that nobody else has; later ones sort after earlier ones.
pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

pub(crate) fn random() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    // The version and variant bits are fixed in one half each, not in both.
    high ^ low
}
