//! What is known of one type.

use serde::{Deserialize, Serialize};

use super::cell::{Belief, Cell, error};
use super::drift::Accuracy;
use crate::model::Micros;

/// The weight of the newest job in the moving average.
const ALPHA: f32 = 0.3;
/// Jobs that the choice between predictors looks back over.
const RIVALRY_JOBS: u32 = 16;

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Kind {
    samples: u32,
    average: f32,
    average_error: f32,
    /// The error of the finest key at the same jobs.
    finest_error: f32,
    /// What its jobs take on an average machine.
    typical: Option<Cell>,
    /// The classes that last ran it, the latest first.
    classes: [Option<u32>; 2],
    pub(super) configured: Option<Micros>,
    pub(super) accuracy: Accuracy,
}

impl Kind {
    /// A job took `duration` on a worker of `class`, or `typical` scaled to an average machine,
    /// and `finest` was expected by the finest key.
    pub(super) fn observe(&mut self, duration: f32, typical: f32, finest: Option<f32>, class: u32) {
        if self.samples == 0 {
            self.average = duration;
        } else {
            let weight = 1.0 / self.samples.min(RIVALRY_JOBS) as f32;
            let finest = finest.unwrap_or(self.average);
            self.average_error += (missed(self.average, duration) - self.average_error) * weight;
            self.finest_error += (missed(finest, duration) - self.finest_error) * weight;
            self.average += ALPHA * (duration - self.average);
        }
        self.samples = self.samples.saturating_add(1);
        match &mut self.typical {
            Some(cell) => cell.observe(typical),
            None => self.typical = Some(Cell::new(typical)),
        }
        if self.classes[0] != Some(class) {
            self.classes = [Some(class), self.classes[0]];
        }
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
        self.typical.as_ref().map(Cell::belief)
    }

    /// Whether the moving average has lately been nearer than the finest key.
    pub(super) fn prefers_average(&self) -> bool {
        self.average_error < self.finest_error
    }

    /// Another class that ran this type of late.
    pub(super) fn other_class(&self, than: u32) -> Option<u32> {
        self.classes.into_iter().flatten().find(|class| *class != than)
    }
}

/// Twice as long or more is simply wrong.
fn missed(estimate: f32, duration: f32) -> f32 {
    error(estimate, duration).min(1.0)
}
