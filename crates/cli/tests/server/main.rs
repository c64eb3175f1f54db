//! The real binary as scheduler, worker and client.

mod answers;
mod arrays;
mod backup;
mod commands;
mod confined;
mod container;
mod durability;
mod fixture;
mod history;
mod keys;
mod letter;
mod logging;
mod measuring;
mod operating;
mod output;
mod reference;
mod reload;
mod rest;
mod room;
mod security;
mod slips;
mod steering;
mod types;
mod wording;
