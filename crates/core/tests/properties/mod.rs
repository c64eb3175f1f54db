//! What holds for every history, tried on random ones.

mod history;
mod life;
mod order;
mod promises;
mod reach;
mod rules;
