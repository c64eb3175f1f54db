//! What tests and benchmarks ask of the machine: ports of their own, servers as child processes, small
//! disks, networks that can be cut, secret files, wall clocks that can be set, signals, chance that can be had again, a judge of
//! histories, and a word where something can't be had.
//!
//! Deliberately absent: anything of Bellwether, so that every crate's tests can stand on it.

mod cannot_run;
mod linear;
mod parted_network;
mod ports;
mod postgres;
mod process;
mod random;
mod redis;
mod secret;
mod signal;
mod small_disk;
mod wall_clock;
mod zookeeper;

pub use cannot_run::cannot_run;
pub use linear::{CALLS_MAX, Model, NotLinear, Timed, check_linear};
pub use parted_network::{Cut, PartedNetwork};
pub use ports::{IN_A_ROW, Ports};
pub use postgres::PostgresServer;
pub use process::{Pause, Process};
pub use random::Random;
pub use redis::RedisServer;
pub use secret::write_secret;
pub use signal::signal;
pub use small_disk::SmallDisk;
pub use wall_clock::WallClock;
pub use zookeeper::ZooKeeperServer;
