//! What tests and benchmarks ask of the machine: ports of their own, small disks, secret files, and a
//! word where something can't be had.
//!
//! Deliberately absent: anything of Bellwether, so that every crate's tests can stand on it.

mod cannot_run;
mod ports;
mod secret;
mod small_disk;

pub use cannot_run::cannot_run;
pub use ports::{IN_A_ROW, Ports};
pub use secret::write_secret;
pub use small_disk::SmallDisk;
