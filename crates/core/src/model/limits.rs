//! Bounds that no configuration lifts.

/// Longest id, type, role, capability, model, tag or idempotency key.
pub const NAME_BYTES_MAX: usize = 256;
/// Jobs in one run.
pub const RUN_JOBS_MAX: usize = 100_000;
/// Dependencies of one job.
pub const DEPENDENCIES_MAX: usize = 10_000;
/// Tags of one job; capabilities, roles and models of one worker or job.
pub const LABELS_MAX: usize = 64;
/// Concurrency keys of one job.
pub const KEYS_MAX: usize = 8;
/// Limits on keys that the settings may have.
pub const KEY_LIMITS_MAX: usize = 1_000;
/// Types of jobs that one worker has handlers for.
pub const TYPES_MAX: usize = 1_024;
/// Slots of one worker.
pub const WORKER_SLOTS_MAX: u32 = 10_000;
/// A thousand times as fast as the machine that workers compare themselves with.
pub const SPEED_PERMILLE_MAX: u32 = 1_000_000;
/// Workers whose keys are remembered.
pub const WORKER_KEYS_MAX: usize = 100_000;
/// Times that one job may be handed off.
pub const HANDOFFS_MAX: usize = 16;
/// Tickets that are open at a time.
pub const INVITATIONS_MAX: usize = 1_000;
/// Longest error or progress text that is kept; the rest is cut.
pub const TEXT_BYTES_MAX: usize = 4_096;
/// Losers that a decision record names.
pub const LOSERS_MAX: usize = 3;
/// Offers of one attempt slot: the first, and its hedge.
pub const OFFERS_MAX: usize = 2;
/// Distinct prediction keys; past it, new keys share their coarser one.
pub const PREDICTION_KEYS_MAX: usize = 200_000;
/// Distinct types, senders and worker classes that predictions tell apart.
pub const INTERNED_MAX: usize = 100_000;
/// Samples of one type that history from elsewhere may bring.
pub const SAMPLES_MAX: usize = 128;
/// Things that one leader leaves for the next.
pub const NOTES_MAX: usize = 1_000;
/// People and programs whose names are remembered for the events that they cause.
pub const ACTORS_MAX: usize = 1_000;
