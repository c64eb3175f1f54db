//! A server from start to shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;

use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{Journal as _, OpenError, SqliteJournal};
use bellwether_wire::v1::scheduler_server::SchedulerServer;
use bellwether_wire::v1::worker_link_server::WorkerLinkServer;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tonic::transport::server::TcpIncoming;

use crate::clock;
use crate::config::ServerConfig;
use crate::feed::Feed;
use crate::grpc::{JobIds, SchedulerService, WorkerLinkService};
use crate::metrics::Metrics;
use crate::scheduler::{Handle, Loop, Parts, RecoverError, recover};
use crate::space::SpaceProbe;

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Journal(#[from] OpenError),
    #[error(transparent)]
    Recover(#[from] RecoverError),
    #[error("failed to listen on {address}: {source}")]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("failed to start a thread: {0}")]
    Thread(std::io::Error),
}

#[derive(Debug)]
pub struct Server {
    handle: Handle,
    grpc_address: SocketAddr,
    http_address: SocketAddr,
    stop_serving: oneshot::Sender<()>,
    serving: JoinHandle<Result<(), tonic::transport::Error>>,
}

impl Server {
    /// Recovers the state from the data directory, and serves.
    pub async fn start(config: ServerConfig) -> Result<Server, StartError> {
        let bind = |address| async move {
            let bound = TcpListener::bind(address).await;
            bound.map_err(|source| StartError::Bind { address, source })
        };
        let grpc = bind(config.grpc).await?;
        let http = bind(config.http).await?;
        let address_of = |listener: &TcpListener, address| {
            listener.local_addr().map_err(|source| StartError::Bind { address, source })
        };
        let grpc_address = address_of(&grpc, config.grpc)?;
        let http_address = address_of(&http, config.http)?;
        let (handle, ids) = start_loop(&config)?;

        let (stop_serving, stopped) = oneshot::channel::<()>();
        let message_bytes_max = config.limits.message_bytes_max;
        let scheduler = SchedulerServer::new(SchedulerService::new(handle.clone(), ids))
            .max_decoding_message_size(message_bytes_max);
        let workers = WorkerLinkServer::new(WorkerLinkService::new(handle.clone()))
            .max_decoding_message_size(message_bytes_max);
        let router = tonic::transport::Server::builder()
            .initial_stream_window_size(4 << 20)
            .initial_connection_window_size(8 << 20)
            .add_service(scheduler)
            .add_service(workers);
        let incoming = TcpIncoming::from(grpc).with_nodelay(Some(true));
        let serving = tokio::spawn(router.serve_with_incoming_shutdown(incoming, async {
            // Dropped or sent: both mean that it is over.
            drop(stopped.await);
        }));
        Ok(Server { handle, grpc_address, http_address, stop_serving, serving })
    }

    pub fn grpc_address(&self) -> SocketAddr {
        self.grpc_address
    }

    pub fn http_address(&self) -> SocketAddr {
        self.http_address
    }

    /// Takes nothing more, makes everything durable, saves the state and sends workers away; what
    /// they run goes on.
    pub async fn shutdown(self) {
        self.handle.stop().await;
        if self.stop_serving.send(()).is_err() {
            tracing::debug!("serving has ended before");
        }
        // Connections that do not end by themselves are dropped with the task.
        let abort = self.serving.abort_handle();
        if tokio::time::timeout(std::time::Duration::from_secs(2), self.serving).await.is_err() {
            abort.abort();
        }
    }
}

fn start_loop(config: &ServerConfig) -> Result<(Handle, JobIds), StartError> {
    let journal = SqliteJournal::open(&config.data_dir, SqliteOptions::default())?;
    let engine = recover(&journal)?;
    let (sender, inbox) = mpsc::channel();
    let (durable, position) = watch::channel(journal.head().seq);
    let handle = Handle::new(sender.clone(), position);
    let salt = u32::try_from(clock::now().0 % 0xffff).unwrap_or(0);
    let ids = JobIds::new(journal.epoch(), salt);
    let space = SpaceProbe::new(&config.data_dir);
    let (scheduling, snapshot_every) = (config.scheduling.clone(), config.snapshot_every);
    let running = Loop::new(Parts {
        journal: Box::new(journal),
        engine,
        config: scheduling,
        snapshot_every,
        inbox,
        sender,
        durable,
        feed: Feed::default(),
        space,
        metrics: Arc::new(Metrics::new()),
    })?;
    std::thread::Builder::new()
        .name("scheduler".to_owned())
        .spawn(move || running.run())
        .map_err(StartError::Thread)?;
    Ok((handle, ids))
}
