//! `bellwether worker`: run `exec` jobs on this machine.

mod cgroup;
pub(crate) mod confine;
pub(crate) mod exec;
mod group;
pub(crate) mod payload;
mod rotate;
mod secrets;
mod strays;
mod tail;
pub(crate) mod warden;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use bellwether_sdk::Worker;
use clap::{Args, Subcommand};
use serde_json::json;

use crate::client::Connect;
use crate::exit::Verdict;
use crate::output;
use confine::Confinement;
use group::Guards;
use secrets::Secrets;

/// Take jobs of type `exec` from the scheduler and run their commands.
///
/// A payload is {"argv":["cmd","arg"],"env":{},"cwd":"..","stdin":".."}. Types that begin with `exec/`
/// are the same to the worker; predictions tell them apart. Commands see little of the worker's
/// environment (PATH, HOME and their like), the job's own `env`, and what --pass-env names. What they
/// print can be read with `bellwether logs`. On SIGTERM or SIGINT the worker takes no more, finishes
/// what it runs and ends; a second signal ends it at once.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    #[command(flatten)]
    work: Work,
}

#[derive(Debug, Subcommand)]
enum Action {
    Key(rotate::ShowKey),
    RotateKey(rotate::RotateKey),
}

#[derive(Debug, Args)]
struct Work {
    #[command(flatten)]
    connect: Connect,
    /// The file of the key that it proves itself with, made if it is not there; that of the user by
    /// default, and none where --certificate says who it is
    #[arg(long, env = "BELLWETHER_WORKER_KEY", value_name = "FILE")]
    key: Option<PathBuf>,
    /// The file of the token that `bellwether workers invite` gave out
    #[arg(long, value_name = "FILE")]
    join_token_file: Option<PathBuf>,
    /// Name of the worker; the machine and the process by default
    #[arg(long)]
    id: Option<String>,
    /// Commands that run at a time; the number of processors by default
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: Option<u32>,
    /// A further type of jobs that it takes, and the shell command that runs them with the payload
    /// as standard input; may be given several times
    #[arg(long = "type", value_name = "NAME=COMMAND", value_parser = crate::client::pair)]
    types: Vec<(String, String)>,
    /// A variable of its own environment that commands may see; may be given several times
    #[arg(long, value_name = "NAME")]
    pass_env: Vec<String>,
    /// A secret that jobs may ask for by name, as {"env":{"TOKEN":{"secret":"NAME"}}}; it stays on this
    /// worker and is covered in what commands print. May be given several times
    #[arg(long, value_name = "NAME=env:VARIABLE|file:PATH", value_parser = secrets::allowed)]
    secret: Vec<secrets::Allowed>,
    /// Run commands as this user, by name or number; the worker must run as root for that
    #[arg(long, value_name = "USER", value_parser = confine::user)]
    user: Option<confine::User>,
    /// A command that jobs of type exec may run, exactly as they name it; without this, any. May be
    /// given several times
    #[arg(long, value_name = "NAME")]
    allow_command: Vec<String>,
    /// What each process of a command may use: memory=512MiB, files=1024, cpu=60 (seconds),
    /// processes=64 or file_size=1GiB; several with commas between them
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = confine::limit)]
    limit: Vec<confine::Limit>,
    /// A folder of cgroup v2 that is this worker's own, as systemd delegates one: each command gets a group
    /// below it, which nothing that it starts can leave. Limits of memory and processes then count for all
    /// of them together
    #[arg(long, value_name = "DIR")]
    cgroup: Option<PathBuf>,
    /// Commands may read and execute what lies below this, and nothing that neither this nor --write
    /// names; needs Landlock. May be given several times
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// The same for what they may also write
    #[arg(long, value_name = "PATH")]
    write: Vec<PathBuf>,
    /// A role that it has; may be given several times
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    /// A capability that it has; may be given several times
    #[arg(long, value_name = "CAPABILITY")]
    capability: Vec<String>,
    /// A model that is warm; may be given several times
    #[arg(long, value_name = "MODEL")]
    model: Vec<String>,
    /// Where it is
    #[arg(long, value_name = "ZONE")]
    zone: Option<String>,
    /// The kind of machine: workers of one class are expected to be equally fast
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Millicores that jobs may use together
    #[arg(long, value_name = "MILLICORES")]
    cpu: Option<u32>,
    /// Bytes that jobs may use together
    #[arg(long, value_name = "BYTES")]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    match arguments.action {
        Some(Action::Key(arguments)) => rotate::show(&arguments),
        Some(Action::RotateKey(arguments)) => rotate::rotate(arguments),
        None => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            runtime.block_on(work(arguments.work))
        }
    }
}

async fn work(arguments: Work) -> anyhow::Result<Verdict> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let slots = arguments.slots.unwrap_or(u32::try_from(processors).unwrap_or(1));
    if rustix::process::geteuid().is_root() && arguments.user.is_none() {
        eprintln!("warning: commands run as root; --user NAME runs them as somebody else");
    }
    let mut confinement = Confinement {
        user: arguments.user,
        limits: arguments.limit,
        read: arguments.read,
        write: arguments.write,
        allowed: arguments.allow_command,
    };
    let of_trees = match arguments.cgroup {
        Some(_) => confinement.take_tree_limits(),
        None => Vec::new(),
    };
    let guards = Guards::start(arguments.cgroup.as_deref(), of_trees)?;
    let (passed, secrets) = (arguments.pass_env, Secrets::new(arguments.secret));
    let room = Arc::new(exec::Room { guards, passed, secrets, confinement });
    let exec_room = room.clone();
    let address = &arguments.connect.server;
    let mut builder = Worker::builder(address)
        .security(arguments.connect.security()?)
        .slots(slots)
        .zone(arguments.zone.unwrap_or_default())
        .class(arguments.class.unwrap_or_default())
        .millicores(arguments.cpu.unwrap_or(0))
        .memory_bytes(arguments.memory.unwrap_or(0))
        .job(payload::TYPE, move |context| exec::run(context, exec_room.clone()));
    builder = match arguments.key {
        Some(path) => builder.key_file(path),
        None if arguments.connect.has_certificate() => builder.without_key(),
        None => builder,
    };
    if let Some(path) = &arguments.join_token_file {
        let token = std::fs::read_to_string(path);
        let token = token.with_context(|| format!("failed to read {}", path.display()))?;
        builder = builder.join_token(token.trim());
    }
    for (kind, line) in arguments.types {
        let (room, line) = (room.clone(), Arc::<str>::from(line));
        builder =
            builder.job(kind, move |context| exec::run_fixed(context, room.clone(), line.clone()));
    }
    if let Some(id) = arguments.id {
        builder = builder.id(id);
    }
    for role in arguments.role {
        builder = builder.role(role);
    }
    for capability in arguments.capability {
        builder = builder.capability(capability);
    }
    for model in arguments.model {
        builder = builder.model(model);
    }
    let id = builder.worker_id().to_owned();
    if arguments.json {
        output::print_json(&json!({ "worker": id, "slots": slots, "server": address }))?;
    } else {
        output::print(&format!("worker {id} with {slots} slots works for {address}\n"))?;
    }
    builder.run().await?;
    Ok(Verdict::Fine)
}
