//! Workers are who they say, and hand jobs to each other: through the real binary.

mod attack;
mod certificates;
mod checkpoints;
mod handoff;
mod keys;
mod raw_worker;
mod site;
