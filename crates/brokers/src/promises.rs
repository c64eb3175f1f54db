//! What a backend can promise by its nature.

/// What can be relied on. The conformance suite checks each of them, or the weaker one by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// How often a message arrives.
    pub delivered: Delivered,
    /// Whether a confirmed message survives a crash of the server, as far as the server syncs its
    /// disk (Redis: `appendonly yes` and `appendfsync always`).
    pub durable: bool,
    /// Whether messages of a higher priority overtake others.
    pub priorities: bool,
    /// Where the id of a delivery comes from.
    pub identity: Identity,
}

/// How often a message arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivered {
    /// Until it is settled: perhaps twice, never lost.
    AtLeastOnce,
    /// Once, or lost with the process that had it in memory. Settling does nothing.
    AtMostOnce,
}

/// Where the id of a delivery comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Every message has one.
    Always,
    /// Only messages whose publisher gave one.
    FromPublisher,
}
