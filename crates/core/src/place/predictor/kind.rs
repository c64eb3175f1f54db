//! What is known of one type.

use super::cell::{Belief, Durations, error};
use super::choice::COARSENESS;
use super::drift::Accuracy;
use super::statistics::Observation;
use crate::model::{Micros, Timestamp};

/// The weight of the newest job in the moving average.
const ALPHA: f32 = 0.3;
/// Jobs that the choice between predictors looks back over.
const RIVALRY_JOBS: u32 = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct TypeHistory {
    pub samples: u32,
    /// When the latest of them started.
    pub latest: Timestamp,
    pub average: f32,
    pub average_error: f32,
    /// The error of the finest key at the same jobs.
    pub finest_error: f32,
    /// How much larger the error of the moving average is once it is scaled to the machine that ran
    /// the job.
    pub scaled_excess: f32,
    /// Jobs behind these errors, at most `RIVALRY_JOBS`.
    pub judged: u32,
    /// What its jobs take on an average machine.
    pub typical: Option<Durations>,
    /// The machines that last ran it, the latest first.
    pub machines: [Option<u32>; 2],
    pub configured: Option<Micros>,
    pub accuracy: Accuracy,
}

impl TypeHistory {
    /// A job took `duration`, or `typical` scaled to an average machine, and `finest` was what the
    /// finest key expected. The moving average counts `scale` times on its machine.
    pub(super) fn observe(
        &mut self,
        observation: &Observation,
        duration: f32,
        typical: f32,
        finest: Option<f32>,
        scale: f32,
    ) {
        let started = observation.started;
        if self.samples == 0 {
            self.average = duration;
        } else {
            // Of jobs started together only the first is a fair test: its end tells the others',
            // but their predictions were made before.
            if started > self.latest {
                self.judge(duration, scale, finest.unwrap_or(self.average));
            }
            self.average += ALPHA * (duration - self.average);
        }
        self.samples = self.samples.saturating_add(1);
        self.latest = self.latest.max(started);
        match &mut self.typical {
            Some(cell) => cell.observe(typical, started),
            None => self.typical = Some(Durations::new(typical, started)),
        }
        if self.machines[0] != Some(observation.class) {
            self.machines = [Some(observation.class), self.machines[0]];
        }
    }

    fn judge(&mut self, duration: f32, scale: f32, finest: f32) {
        self.judged = (self.judged + 1).min(RIVALRY_JOBS);
        let weight = 1.0 / self.judged as f32;
        self.average_error += (missed(self.average, duration) - self.average_error) * weight;
        let excess = missed(self.average * scale, duration) - missed(self.average, duration);
        self.scaled_excess += (excess - self.scaled_excess) * weight;
        self.finest_error += (missed(finest, duration) - self.finest_error) * weight;
    }

    /// The moving average, if a job has finished.
    pub(super) fn average(&self) -> Option<Belief> {
        (self.samples > 0).then_some(Belief {
            estimate: self.average,
            error: self.average_error,
            samples: self.samples,
        })
    }

    pub(super) fn typical(&self) -> Option<Belief> {
        self.typical.as_ref().map(Durations::belief)
    }

    /// Whether the moving average, scaled to the machine, has lately been clearly nearer than the
    /// finest key.
    pub(super) fn prefers_average(&self) -> bool {
        (self.average_error + self.scaled_excess) * COARSENESS < self.finest_error
    }

    /// Another class that ran this type of late.
    pub(super) fn other_class(&self, than: u32) -> Option<u32> {
        self.machines.into_iter().flatten().find(|class| *class != than)
    }
}

/// Twice as long or more is simply wrong.
fn missed(estimate: f32, duration: f32) -> f32 {
    error(estimate, duration).min(1.0)
}
