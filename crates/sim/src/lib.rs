//! A simulated fleet around the real engine: recorded workloads, seeded faults, predictions.
//!
//! Time is virtual and every run can be repeated exactly from its inputs.
//!
//! Deliberately absent: sockets, clocks, and any scheduling rule of its own except the
//! plain baselines that the engine is compared with.

pub mod cluster;
pub mod faults;
pub mod predict;
pub mod trace;
pub mod whatif;
