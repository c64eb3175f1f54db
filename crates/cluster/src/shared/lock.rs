//! Who may stand, where something else than the log is to choose.

/// A lock that one member holds at a time, as far as it can tell. It only elects: a member that holds it
/// still waits for the lease in the log, and the log refuses whoever was deposed.
pub trait Lock: Send {
    /// Whether this member has it now. It goes on trying to get it by itself.
    fn is_held(&self) -> bool;

    /// Lets another have it first.
    fn release(&self);
}
