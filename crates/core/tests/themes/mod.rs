//! What the engine promises, one theme a file.

mod actors;
mod availability;
mod configuration;
mod durability;
mod explain;
mod feasibility;
mod fencing;
mod fields;
mod graphs;
mod guarantees;
mod hedging;
mod holding;
mod life;
mod memory_of_others;
mod predictor;
mod pressure;
mod recomputing;
mod rejections;
mod retention;
mod retries;
mod steering;
mod strategies;
mod time;
mod types;
mod warm_up;
mod workers;
