//! The `bellwether` binary. Every subcommand is one thin file: it reads its arguments, calls the
//! library that does the work, and prints what came of it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod exit;
mod output;
mod progress;
mod simulate;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A job scheduler that predicts how long jobs take and places them by it.
#[derive(Debug, Parser)]
#[command(name = "bellwether", version, after_help = exit::HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Simulate(simulate::Arguments),
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
    };
    exit::code(result)
}
