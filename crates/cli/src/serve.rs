//! `bellwether serve`: the scheduler.

use std::net::SocketAddr;
use std::path::PathBuf;

use bellwether_server::edges::contain;
use bellwether_server::{Reloaded, Server, ServerConfig};
use bellwether_wire::local_token;
use clap::Args;
use rustix::fs::Mode;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Verdict;
use crate::logging::Levels;
use crate::{doctor, logging, memory, notify, output};

/// Run the scheduler. On SIGTERM or SIGINT it saves its state and ends; workers go on with what
/// they run and come back. On SIGHUP, and when `bellwether reload` asks for it, it reads tokens,
/// certificates and log levels again; connections stay, and what can't be used is told and left out.
///
/// Settings come from the file, then from variables as BELLWETHER_MAX_RETRY for max_retry, then
/// from these options; later ones win.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Settings; see scheduler.yaml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the journal is kept
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Address for clients and workers
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<SocketAddr>,
    /// Address for HTTP
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Address for other members of a cluster (cluster.listen)
    #[arg(long, value_name = "ADDRESS")]
    peers: Option<SocketAddr>,
    /// What is told on standard error: error, warn, info or debug, or levels of single parts, as
    /// info,bellwether_server::sinks::clickhouse=debug
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
    /// Only tell whether it could be started like this, and what is wrong if not
    #[arg(long)]
    check: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    keep_to_ourselves();
    end_with_the_first_panic();
    let config = configuration(&arguments)?;
    if arguments.check {
        return doctor::check(&config, arguments.json);
    }
    let levels = logging::start(&config.log)?;
    memory::in_small_pages();
    let runtime = crate::runtime::start()?;
    runtime.block_on(serve(&arguments, config, &levels))
}

/// What the scheduler knows is nobody else's: every file that is made from here on.
pub(crate) fn keep_to_ourselves() {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
}

/// A thread that is gone would leave a scheduler that takes jobs and does nothing: whoever watches
/// the process can start it anew, and the journal has everything. Only a request may end alone.
fn end_with_the_first_panic() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        usual(panic);
        if !contain::is_contained() {
            std::process::abort();
        }
    }));
}

async fn serve(
    arguments: &Arguments,
    config: ServerConfig,
    levels: &Levels,
) -> anyhow::Result<Verdict> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let data_dir = config.data_dir.clone();
    let mut server = Server::start(config).await?;
    let (grpc, http) = (server.grpc_address(), server.http_address());
    if arguments.json {
        let dashboard = server.dashboard_link();
        output::print_json(&json!({
            "grpc": grpc, "http": http, "data_dir": data_dir, "dashboard": dashboard,
        }))?;
    } else {
        let dir = data_dir.display();
        let dashboard = server.dashboard_link();
        output::print(&format!(
            "bellwether serves {grpc} (http {http}), data in {dir}\n\
             dashboard {dashboard} (signs in once; `bellwether open` makes another)\n"
        ))?;
    }
    notify::tell("READY=1");
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => drop(reload(arguments, &server, levels)),
            wish = server.reload_wish() => {
                // Whoever asked may have gone; it is done all the same, and in the log.
                drop(wish.send(reload(arguments, &server, levels)));
            }
        }
    }
    notify::tell("STOPPING=1");
    server.shutdown().await;
    Ok(Verdict::Fine)
}

/// What can't be read or used stays as it was, and is told.
fn reload(arguments: &Arguments, server: &Server, levels: &Levels) -> Vec<Reloaded> {
    let set = || {
        let level = configuration(arguments)?.log.level;
        levels.set(&level)?;
        Ok(format!("{level} is told from now on"))
    };
    let outcome = set().map_err(|error: anyhow::Error| crate::exit::once(&error));
    let mut all = server.reload();
    all.push(Reloaded { what: "log_levels", outcome });
    all.iter().for_each(Reloaded::log);
    all
}

fn configuration(arguments: &Arguments) -> anyhow::Result<ServerConfig> {
    let data_dir = arguments.data_dir.as_ref().map(|dir| dir.display().to_string());
    let given = [
        ("data_dir", data_dir),
        ("grpc", arguments.grpc.map(|address| address.to_string())),
        ("http", arguments.http.map(|address| address.to_string())),
        ("cluster.listen", arguments.peers.map(|address| address.to_string())),
        ("log.level", arguments.log.clone()),
    ];
    let overrides: Vec<(String, String)> =
        given.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect();
    let config = ServerConfig::load(arguments.config.as_deref(), variables(), &overrides)?;
    Ok(ServerConfig { token_folders: local_token::folders(), ..config })
}

/// Those that may be settings; the others are for clients and workers.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    const NOT_SETTINGS: [&str; 5] = [
        "BELLWETHER_SERVER",
        "BELLWETHER_TOKEN",
        "BELLWETHER_TOKEN_FILE",
        "BELLWETHER_CA",
        "BELLWETHER_UI_FOLDER",
    ];
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !NOT_SETTINGS.contains(&name.as_str()))
}
