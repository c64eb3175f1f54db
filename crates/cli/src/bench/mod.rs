//! `bellwether bench`: how fast it is here.

use clap::{Args, Subcommand};

use crate::exit::Verdict;
use crate::memory;

mod core;
mod core_run;
mod median;
mod queue;
mod server;
mod sinks;

/// Measure how fast the scheduler is on this machine: submitter, scheduler and workers together,
/// with a sync at every commit. Latencies count from when a job was to be sent.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[group(skip)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Measure jobs through queues instead, against jobs submitted directly: redis, rabbitmq, nats,
    /// zeromq, sqlite or all. Their servers are started for the measurement
    #[arg(long, value_name = "BACKEND", value_delimiter = ',', value_parser = queue::KINDS)]
    queue: Vec<String>,
    /// With --queue: the events that are published to it, all of them or only how jobs ended
    #[arg(long, default_value = "all", value_parser = queue::EVENTS, requires = "queue")]
    events: String,
    /// With --queue: how often everything is measured, in turns; the middle one counts
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100), requires = "queue")]
    rounds: u32,
    #[command(flatten)]
    server: server::Arguments,
}

#[derive(Debug, Subcommand)]
enum Command {
    Core(core::Arguments),
    Sinks(sinks::Arguments),
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    memory::in_small_pages();
    match arguments.command {
        Some(Command::Core(arguments)) => core::run(arguments),
        Some(Command::Sinks(arguments)) => sinks::run(arguments),
        None if arguments.queue.is_empty() => server::run(arguments.server),
        None => {
            let Arguments { queue, events, rounds, server, .. } = arguments;
            queue::run(&queue, &events, rounds, &server)
        }
    }
}
