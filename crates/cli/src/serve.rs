//! `bellwether serve`: the scheduler.

use std::net::SocketAddr;
use std::path::PathBuf;

use bellwether_server::{Server, ServerConfig};
use clap::Args;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::exit::Verdict;
use crate::output;

/// Run the scheduler. On SIGTERM or SIGINT it saves its state and ends; workers go on with what
/// they run and come back.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Settings; see scheduler.yaml
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the journal is kept
    #[arg(long, value_name = "DIR", env = "BELLWETHER_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Address for clients and workers
    #[arg(long, value_name = "ADDRESS")]
    grpc: Option<SocketAddr>,
    /// Address for HTTP
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(arguments))
}

async fn serve(arguments: Arguments) -> anyhow::Result<Verdict> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let config = configuration(&arguments)?;
    let data_dir = config.data_dir.clone();
    let server = Server::start(config).await?;
    let (grpc, http) = (server.grpc_address(), server.http_address());
    if arguments.json {
        output::print_json(&json!({ "grpc": grpc, "http": http, "data_dir": data_dir }))?;
    } else {
        let dir = data_dir.display();
        output::print(&format!("bellwether serves {grpc} (http {http}), data in {dir}\n"))?;
    }
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    server.shutdown().await;
    Ok(Verdict::Fine)
}

fn configuration(arguments: &Arguments) -> anyhow::Result<ServerConfig> {
    anyhow::ensure!(arguments.config.is_none(), "settings from a file are not read yet");
    let mut config = ServerConfig::default();
    if let Some(data_dir) = &arguments.data_dir {
        config.data_dir.clone_from(data_dir);
    }
    if let Some(grpc) = arguments.grpc {
        config.grpc = grpc;
    }
    if let Some(http) = arguments.http {
        config.http = http;
    }
    Ok(config)
}
