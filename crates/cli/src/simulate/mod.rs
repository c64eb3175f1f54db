//! `bellwether simulate`: the real engine on a simulated fleet.

use clap::{Args, Subcommand};

use crate::exit::Verdict;

mod cluster;
mod faults;
pub(crate) mod names;
mod predict;
mod trace;

/// Run the scheduler on a simulated fleet, in virtual time.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Trace(trace::Arguments),
    Predict(predict::Arguments),
    Faults(faults::Arguments),
    Cluster(cluster::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    match arguments.command {
        Command::Trace(arguments) => trace::run(arguments),
        Command::Predict(arguments) => predict::run(arguments),
        Command::Faults(arguments) => faults::run(arguments),
        Command::Cluster(arguments) => cluster::run(arguments),
    }
}
