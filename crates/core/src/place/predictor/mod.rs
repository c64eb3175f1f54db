//! How long a job will take on a worker.
//!
//! There is one set of [`Statistics`], fed by `apply` with what jobs really took and kept in
//! snapshots. A [`Predictor`] is a way of reading it and has no state of its own, so predictors
//! can be exchanged while the scheduler runs and each profits from all history.

mod auto;
mod cell;
mod choice;
mod drift;
mod ema;
mod facts;
mod failing;
mod hierarchical;
mod interner;
mod key;
mod kind;
mod report;
mod speed;
mod statistics;

pub use auto::Auto;
pub use cell::Durations;
pub use drift::{Accuracy, Drift};
pub use ema::Ema;
pub use facts::StatisticsFacts;
pub use hierarchical::Hierarchical;
pub use key::CellKey;
pub use kind::TypeHistory;
pub use report::TypePrediction;
pub use speed::Slowness;
pub use statistics::{Observation, Statistics};

use crate::model::Micros;
use crate::model::config::PredictorKind;

/// What a predictor may know of a job. Names are numbers of [`Statistics::intern`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Features {
    pub kind: u32,
    pub sender: u32,
    /// Half octaves of the input's bytes, see [`size_bucket`].
    pub size_bucket: u8,
    /// Millicores.
    pub cpu: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prediction {
    pub estimate: Micros,
    /// How likely it is to be near, from the number of samples and how wrong they used to be.
    pub confidence_percent: u8,
    /// Finished jobs behind the estimate.
    pub samples: u32,
    /// How much shorter the job may prove to be, in hundredths, because no such job has run on
    /// workers of this class: one would tell.
    pub unsure_percent: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PredictorError {
    #[error("the predictor is unavailable: {0}")]
    Unavailable(String),
}

pub trait Predictor: std::fmt::Debug + Send {
    /// The duration of a job on a worker of `class`; on average over workers if none is given.
    fn predict(
        &self,
        statistics: &Statistics,
        features: &Features,
        class: Option<u32>,
    ) -> Result<Prediction, PredictorError>;
}

/// The predictor that the configuration names.
pub fn predictor(kind: PredictorKind) -> Box<dyn Predictor> {
    match kind {
        PredictorKind::Ema => Box::new(Ema),
        PredictorKind::Hierarchical => Box::new(Hierarchical),
        PredictorKind::Auto => Box::new(Auto),
        PredictorKind::Failing => Box::new(failing::Failing),
    }
}

/// Half octaves: sizes in one bucket differ by less than a factor of the square root of 2.
/// 0 is for no input at all; the highest is 128.
pub fn size_bucket(bytes: u64) -> u8 {
    let Some(octave) = bytes.checked_ilog2() else { return 0 };
    // The leading 32 bits, as a fraction from 1/2 to 1; the upper half octave starts where its
    // square reaches 1/2.
    let leading = (bytes << (63 - octave)) >> 32;
    let upper = leading * leading >= 1 << 63;
    1 + 2 * octave as u8 + u8::from(upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_within_a_half_octave_share_a_bucket() {
        assert_eq!(size_bucket(0), 0);
        assert_eq!(size_bucket(1), 1);
        assert_eq!(size_bucket(1_000_000), size_bucket(1_040_000));
        assert_eq!(size_bucket(1_448), 21);
        assert_eq!(size_bucket(1_449), 22);
        assert_eq!(size_bucket(2_048), 23);
        assert_eq!(size_bucket(u64::MAX), 128);
    }
}
