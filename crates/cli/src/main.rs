//! The `bellwether` binary. Every subcommand is one thin file: it reads its arguments, calls the
//! library that does the work, and prints what came of it. Those that are programs themselves
//! (`worker`, `top`, `demo`, `replay`) have a folder.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod archive;
mod backup;
mod bench;
mod checkpoints;
mod client;
mod completions;
mod demo;
mod doctor;
mod exit;
mod logging;
mod memory;
mod notify;
mod output;
mod paint;
mod progress;
mod queue;
mod reference;
mod replay;
mod restore;
mod runtime;
mod serve;
mod simulate;
mod soak;
mod token;
mod top;
mod whatif;
mod worker;

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
    Serve(serve::Arguments),
    Worker(worker::Arguments),
    #[command(hide = true)]
    Warden(worker::warden::Arguments),
    #[command(hide = true)]
    Confine(worker::confine::Arguments),
    Submit(client::submit::Arguments),
    Run(client::run::Arguments),
    Jobs(client::jobs::Arguments),
    Runs(client::runs::Arguments),
    Types(client::types::Arguments),
    Job(client::job::Arguments),
    Explain(client::explain::Arguments),
    Decisions(client::decisions::Arguments),
    Predictions(client::predictions::Arguments),
    Shadow(client::shadow::Arguments),
    Workers(client::workers::Arguments),
    Status(client::status::Arguments),
    Cancel(client::cancel::Arguments),
    Retry(client::retry::Arguments),
    Drain(client::drain::Arguments),
    Logs(client::logs::Arguments),
    Pause(client::pause::Pause),
    Resume(client::pause::Resume),
    Pin(client::pin::Arguments),
    Config(client::config::Arguments),
    Cluster(client::cluster::Arguments),
    Events(client::events::Arguments),
    Audit(client::audit::Arguments),
    Replay(replay::Arguments),
    Checkpoints(checkpoints::Arguments),
    Snapshot(client::snapshot::Arguments),
    Backup(backup::Arguments),
    Restore(restore::Arguments),
    Reload(client::reload::Arguments),
    Demo(demo::Arguments),
    Simulate(simulate::Arguments),
    Whatif(whatif::Arguments),
    Bench(bench::Arguments),
    Soak(soak::Arguments),
    #[command(hide = true)]
    SoakWorker(soak::WorkerArguments),
    Queue(queue::Arguments),
    Queues(client::queues::Arguments),
    Open(client::open::Arguments),
    Doctor(doctor::Arguments),
    Top(top::Arguments),
    Token(token::Arguments),
    Completions(completions::Arguments),
    #[command(hide = true)]
    Reference(reference::Arguments),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Worker(arguments) => worker::run(arguments),
        Command::Warden(arguments) => worker::warden::run(&arguments),
        Command::Confine(arguments) => worker::confine::run(&arguments),
        Command::Submit(arguments) => client::submit::run(arguments),
        Command::Run(arguments) => client::run::run(arguments),
        Command::Jobs(arguments) => client::jobs::run(arguments),
        Command::Runs(arguments) => client::runs::run(arguments),
        Command::Types(arguments) => client::types::run(arguments),
        Command::Job(arguments) => client::job::run(arguments),
        Command::Explain(arguments) => client::explain::run(arguments),
        Command::Decisions(arguments) => client::decisions::run(arguments),
        Command::Predictions(arguments) => client::predictions::run(arguments),
        Command::Shadow(arguments) => client::shadow::run(arguments),
        Command::Workers(arguments) => client::workers::run(arguments),
        Command::Status(arguments) => client::status::run(arguments),
        Command::Cancel(arguments) => client::cancel::run(arguments),
        Command::Retry(arguments) => client::retry::run(arguments),
        Command::Drain(arguments) => client::drain::run(arguments),
        Command::Logs(arguments) => client::logs::run(arguments),
        Command::Pause(arguments) => client::pause::pause(arguments),
        Command::Resume(arguments) => client::pause::resume(arguments),
        Command::Pin(arguments) => client::pin::run(arguments),
        Command::Config(arguments) => client::config::run(arguments),
        Command::Cluster(arguments) => client::cluster::run(arguments),
        Command::Events(arguments) => client::events::run(arguments),
        Command::Audit(arguments) => client::audit::run(arguments),
        Command::Replay(arguments) => replay::run(arguments),
        Command::Checkpoints(arguments) => checkpoints::run(arguments),
        Command::Backup(arguments) => backup::run(&arguments),
        Command::Restore(arguments) => restore::run(&arguments),
        Command::Reload(arguments) => client::reload::run(arguments),
        Command::Snapshot(arguments) => client::snapshot::run(arguments),
        Command::Demo(arguments) => demo::run(arguments),
        Command::Simulate(arguments) => simulate::run(arguments),
        Command::Whatif(arguments) => whatif::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Soak(arguments) => soak::run(&arguments),
        Command::SoakWorker(arguments) => soak::work(&arguments),
        Command::Queue(arguments) => queue::run(arguments),
        Command::Queues(arguments) => client::queues::run(arguments),
        Command::Open(arguments) => client::open::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Top(arguments) => top::run(arguments),
        Command::Token(arguments) => token::run(arguments),
        Command::Completions(arguments) => completions::run::<Arguments>(&arguments),
        Command::Reference(arguments) => reference::run::<Arguments>(&arguments),
    };
    exit::code(result)
}
