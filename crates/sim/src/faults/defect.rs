//! Known bugs that can be switched on, to show that the simulator catches them.

use bellwether_core::Engine;

/// A planted bug.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Defect {
    /// Effects leave before their events are durable.
    ReleaseBeforeDurable,
    /// Askers hear of their success before it is durable.
    AcknowledgeBeforeDurable,
    /// A failed append is taken for a good one.
    IgnoreAppendFailure,
    /// A half-written record is taken for a whole one.
    SkipTornTailCheck,
    /// Recovery applies the last event once more.
    ReplayTwice,
    /// Recovery stops one event short.
    ReplayShort,
    /// A snapshot is kept of what is not durable yet.
    SnapshotBeforeDurable,
    /// A bug of the engine itself.
    #[cfg(feature = "defects")]
    Core(bellwether_core::Defect),
}

impl Defect {
    /// Those of the process around the engine.
    pub const HARNESS: [Defect; 7] = [
        Defect::ReleaseBeforeDurable,
        Defect::AcknowledgeBeforeDurable,
        Defect::IgnoreAppendFailure,
        Defect::SkipTornTailCheck,
        Defect::ReplayTwice,
        Defect::ReplayShort,
        Defect::SnapshotBeforeDurable,
    ];

    /// Switches a bug of the engine on in this engine; those of the process are not its business.
    #[cfg(feature = "defects")]
    pub(crate) fn plant(defect: Option<Defect>, engine: &mut Engine) {
        if let Some(Defect::Core(defect)) = defect {
            engine.plant(defect);
        }
    }

    #[cfg(not(feature = "defects"))]
    pub(crate) fn plant(_: Option<Defect>, _: &mut Engine) {}
}
