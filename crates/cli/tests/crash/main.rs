//! The real binary, killed, stopped, starved of disk and damaged at every moment: what was
//! acknowledged is kept, what is exactly_once has one result, and damage is never silent.
//!
//! `BELLWETHER_FULL=1` tries every point; without it a part is tried, chosen by the seed that each
//! test prints. See docs/guarantees.md.

mod cycles;
mod damage;
mod disk;
mod every_write;
mod lanes;
mod load;
mod seed;
mod site;
mod stage;
mod time;
mod tracer;
mod volume;
mod workers;
