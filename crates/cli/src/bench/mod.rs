//! `bellwether bench`: how fast it is here.

use clap::{Args, Subcommand};

use crate::exit::Verdict;

mod core;
mod core_run;

/// Measure how fast the scheduler is on this machine.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    Core(core::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    match arguments.command {
        Some(Command::Core(arguments)) => core::run(arguments),
        None => anyhow::bail!("nothing to measure; try `bellwether bench core --help`"),
    }
}
