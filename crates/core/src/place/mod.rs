//! Which job goes next, and to which worker.

pub mod predictor;
