//! How fast this machine is, measured in some milliseconds.
//!
//! It is what the scheduler starts from for a machine that it has not seen work; what jobs really take
//! soon counts more. So it need not be exact, only about the same on equal machines.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Measured again at the first connection after this long.
const VALID_FOR: Duration = Duration::from_secs(3_600);
/// The fastest counts: others were interrupted.
const ROUNDS: u32 = 5;
/// Steps of one round: about a millisecond.
const STEPS: u64 = 400_000;
/// What one round takes on the machine that all are compared with.
const REFERENCE: Duration = Duration::from_micros(1_000);
/// As much as the scheduler takes.
const PERMILLE_MAX: u128 = 1_000_000;

#[derive(Debug, Default)]
pub(crate) struct Calibration {
    measured: Option<(Instant, u32)>,
}

impl Calibration {
    /// The speed of this machine in thousandths, never 0. It keeps the processor busy for a moment.
    pub(crate) fn speed_permille(&mut self) -> u32 {
        match self.measured {
            Some((at, speed)) if at.elapsed() < VALID_FOR => speed,
            Some(_) | None => {
                let speed = measure();
                self.measured = Some((Instant::now(), speed));
                speed
            }
        }
    }
}

fn measure() -> u32 {
    let fastest = (0..ROUNDS).map(|_| round()).min().unwrap_or(REFERENCE);
    let speed = REFERENCE.as_nanos() * 1_000 / fastest.as_nanos().max(1);
    u32::try_from(speed.clamp(1, PERMILLE_MAX)).expect("it was clamped to what fits")
}

/// A chain of steps that each need the one before, as most of what programs compute does.
fn round() -> Duration {
    let start = Instant::now();
    let mut state = black_box(1u64);
    for _ in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    black_box(state);
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_measured_once_and_not_again_at_each_connection() {
        let mut calibration = Calibration::default();
        let first = calibration.speed_permille();
        assert!(first > 0);
        assert_eq!(calibration.speed_permille(), first);
    }
}
