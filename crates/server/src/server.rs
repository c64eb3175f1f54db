//! A server from start to shutdown.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bellwether_cluster::{Leader, MemberId};
use bellwether_core::Engine;
use bellwether_core::model::Epoch;
use bellwether_journal::file::FileOptions;
use bellwether_journal::sqlite::SqliteOptions;
use bellwether_journal::{FileJournal, Head, Journal, OpenError, ReadError, Reader, SqliteJournal};
use bellwether_wire::FILE_DESCRIPTOR_SET;
use bellwether_wire::private::{Folder, make_folder};
use bellwether_wire::signing::key_file::KeyFileError;
use bellwether_wire::v1::members_server::MembersServer;
use bellwether_wire::v1::scheduler_server::SchedulerServer;
use bellwether_wire::v1::worker_link_server::WorkerLinkServer;
use tokio::net::TcpSocket;
use tokio::sync::{mpsc as mpsc_async, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;
use tonic_health::ServingStatus;

use crate::checkpoints::{Checkpoints, Signer};
use crate::cluster::{
    self, Addresses, ClusterOpenError, EngageError, Means, Members, Opened, Reign, Seat, Standing,
};
use crate::config::{JournalKind, Limits, ServerConfig};
use crate::disk_budget::DiskBudget;
use crate::edges::desk::{
    Audience, Backups, Desk, JobIds, QueuesInFront, ReloadWish, Reloaded, Reloads,
};
use crate::edges::explain::Refusals;
use crate::edges::grpc::{MembersService, SchedulerService, WorkerLinkService};
use crate::edges::http::{self, HttpState};
use crate::edges::queues::QueuesError;
use crate::edges::registrar::Registrar;
use crate::edges::rest::Guard;
use crate::edges::room::Room;
use crate::edges::security::authorize::Door;
use crate::edges::security::hosts::Hosts;
use crate::edges::security::keyring::Keyring;
use crate::edges::security::sign_in::SignIns;
use crate::edges::security::tls::{Certificates, TlsError};
use crate::edges::security::tokens::TokensError;
use crate::edges::security::{Exposed, check_exposure};
use crate::edges::webhooks::WebhooksError;
use crate::edges::{listener, rest};
use crate::event_loop::clock::{self, Wall};
use crate::event_loop::space::SpaceProbe;
use crate::event_loop::{
    Handle, Loop, Parts, Place, RecoverError, SettingsError, SettingsFile, recover,
};
use crate::identity::{Identity, IdentityError};
use crate::position::Keeper;
use crate::priority::Aside;
use crate::projections::history::History;
use crate::projections::keys::{self, KeysError};
use crate::projections::logs::Logs;
use crate::projections::registry::{self, RegistryError};
use crate::projections::telemetry;
use crate::projections::telemetry::outlet::Duty;
use crate::sinks::metrics::{Metrics, QueueMeters};
use crate::sinks::trace::context::Tracing;
use crate::{checkpoints, descriptors};

/// How long open calls may take to end when the server shuts down.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(2);
/// How long an address may be taken when the server starts, and how often that is looked at.
const BIND_PATIENCE: Duration = Duration::from_secs(3);
const BIND_INTERVAL: Duration = Duration::from_millis(50);
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1_024;
/// What the system keeps of an answer for a client that is slow to take it: some followers of events
/// take megabytes otherwise before it is noticed that they are.
const HTTP_BUFFER_BYTES: u32 = 256 << 10;
/// Windows large enough that a batch never waits for an update of them.
const STREAM_WINDOW_BYTES: u32 = 4 << 20;
const CONNECTION_WINDOW_BYTES: u32 = 8 << 20;
/// A peer that is gone without a word is noticed after both.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(transparent)]
    Exposed(#[from] Exposed),
    #[error(transparent)]
    Tokens(#[from] TokensError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Journal(#[from] OpenError),
    #[error(
        "{dir} holds a journal of the other kind; set `journal` to what it was, or give another data_dir"
    )]
    OtherJournal { dir: String },
    #[error(transparent)]
    Recover(#[from] RecoverError),
    #[error(transparent)]
    Read(#[from] ReadError),
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error(transparent)]
    Keys(#[from] KeysError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Key(#[from] KeyFileError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Queues(#[from] QueuesError),
    #[error(transparent)]
    Webhooks(#[from] WebhooksError),
    #[error(transparent)]
    Cluster(#[from] ClusterOpenError),
    #[error(
        "failed to listen on {address}: {source}; choose another address, or stop who has this one"
    )]
    Bind { address: SocketAddr, source: std::io::Error },
    #[error("failed to make the folder {}: {source}", path.display())]
    DataDir { path: PathBuf, source: std::io::Error },
    #[error("failed to start a thread: {0}")]
    Thread(std::io::Error),
    #[error("the schema for reflection is damaged: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
}

impl From<EngageError> for StartError {
    fn from(error: EngageError) -> StartError {
        match error {
            EngageError::Queues(error) => error.into(),
            EngageError::Webhooks(error) => error.into(),
        }
    }
}

#[derive(Debug)]
pub struct Server {
    handle: Handle,
    grpc_address: SocketAddr,
    http_address: SocketAddr,
    stop_serving: oneshot::Sender<()>,
    grpc: JoinHandle<Result<(), tonic::transport::Error>>,
    http: JoinHandle<()>,
    stop_http: watch::Sender<bool>,
    health: tonic_health::server::HealthReporter,
    reign: Reign,
    members: Members,
    /// None among several schedulers: each has a key of its own.
    checkpoints: Checkpoints,
    /// None: nobody is asked for a token.
    keyring: Option<Arc<Keyring>>,
    /// None: it serves without TLS.
    certificates: Option<Certificates>,
    /// Of clients that want it to read its files again.
    wishes: mpsc_async::Receiver<ReloadWish>,
    desk: Desk,
    /// Ends with the server.
    _background: Aside,
}

impl Server {
    /// Recovers the state from the data directory, and serves.
    pub async fn start(config: ServerConfig) -> Result<Server, StartError> {
        check_exposure(&config)?;
        descriptors::raise_limit();
        make_data_dir(&config.data_dir)?;
        let keyring = Keyring::open(&config)?.map(Arc::new);
        let (standing, stands) = watch::channel(Standing::Follows { leader: None });
        let tokens = keyring.as_ref().map(|keyring| keyring.tokens());
        let room = Room::new(config.limits.message_bytes_max);
        let door = Door::new(tokens, stands.clone(), room.clone());
        let certificates = config.tls.as_ref().map(Certificates::open).transpose()?;
        let grpc_tls = certificates.as_ref().map(Certificates::grpc);
        let http_tls = certificates.as_ref().map(Certificates::http);
        let (reloads, wishes) = Reloads::new();
        let (grpc_socket, grpc_address) = bind(config.grpc, None).await?;
        let (http_socket, http_address) = bind(config.http, Some(HTTP_BUFFER_BYTES)).await?;
        // Before anybody can connect, so that nobody comes without a token that is there.
        if let Some(local) = keyring.as_ref().and_then(|keyring| keyring.local.as_ref()) {
            local.publish(&config.token_folders, &[grpc_address, http_address]);
        }
        let listen = |socket: TcpSocket, address| {
            socket.listen(BACKLOG).map_err(|source| StartError::Bind { address, source })
        };
        let grpc_listener = listen(grpc_socket, grpc_address)?;
        let http_listener = listen(http_socket, http_address)?;

        let background = Aside::onlookers().map_err(StartError::Thread)?;
        let addresses = Addresses::of(&config, grpc_address, http_address);
        let started = tokio::task::spawn_blocking({
            let (config, background) = (config.clone(), background.handle());
            move || start_loop(&config, addresses, standing, stands, background, reloads)
        });
        let (desk, metrics) = started.await.map_err(|panic| StartError::Thread(panic.into()))??;
        let (handle, members) = (desk.handle.clone(), desk.members.clone());
        let identity = desk.registrar.scheduler.clone();
        let signer = Signer {
            secret: checkpoints::key(&config.data_dir)?,
            scheduler: identity.clone(),
            members: members.clone(),
            data_dir: config.data_dir.clone(),
            export: config.checkpoints.file.clone(),
        };
        let checkpoints = Checkpoints::start(signer, handle.clone(), config.checkpoints.every);
        let tracing = config.otlp.as_ref().map(Tracing::new);
        let means = Means {
            config: Arc::new(config.clone()),
            desk: desk.clone(),
            keeper: match members.is_alone() {
                true => Keeper::Folder(config.data_dir.clone()),
                false => Keeper::Journal(handle.clone()),
            },
            tracing,
            metrics: metrics.clone(),
        };
        let reign = match members.is_alone() {
            true => Reign::begin(&means).await?,
            false => Reign::wait(means),
        };
        background.handle().spawn(desk.clone().tell_summaries(config.telemetry));
        let observed = metrics.clone();
        let metrics = config.telemetry.then_some(metrics);

        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_service_status("", ServingStatus::Serving).await;
        health.set_serving::<SchedulerServer<SchedulerService>>().await;
        health.set_serving::<WorkerLinkServer<WorkerLinkService>>().await;
        health.set_serving::<MembersServer<MembersService>>().await;
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(FILE_DESCRIPTOR_SET)
            .build_v1()?;
        let message_bytes_max = config.limits.message_bytes_max;
        let scheduler = SchedulerServer::new(SchedulerService { desk: desk.clone() })
            .max_decoding_message_size(message_bytes_max);
        let workers = WorkerLinkServer::new(WorkerLinkService::new(desk.clone(), tracing))
            .max_decoding_message_size(message_bytes_max);
        let router = builder(config.limits)
            .layer(door.clone())
            .add_service(scheduler)
            .add_service(workers)
            .add_service(MembersServer::new(MembersService { desk: desk.clone() }))
            .add_service(health_service)
            .add_service(reflection);

        let (stop_serving, stopped) = oneshot::channel::<()>();
        let incoming = listener::connections(grpc_listener, grpc_tls, config.limits);
        let incoming = ReceiverStream::new(incoming);
        let grpc = tokio::spawn(router.serve_with_incoming_shutdown(incoming, async {
            // Sent or dropped: both mean that it is over.
            drop(stopped.await);
        }));
        let rest = rest::router(desk.clone(), identity, config.limits, room, observed);
        let guard = Guard { door, hosts: Hosts::new(&config) };
        let state = HttpState { handle: handle.clone(), metrics, guard, members: members.clone() };
        let router = http::router(state, rest);
        let incoming = listener::connections(http_listener, http_tls, config.limits);
        let (stop_http, http_stopped) = watch::channel(false);
        let http = tokio::spawn(http::serve(incoming, router, http_stopped));
        if let Some(keyring) = &keyring {
            background.handle().spawn(keyring.clone().follow());
        }
        let _background = background;
        Ok(Server {
            handle,
            keyring,
            certificates,
            wishes,
            desk,
            grpc_address,
            http_address,
            stop_serving,
            grpc,
            http,
            stop_http,
            health,
            reign,
            members,
            checkpoints,
            _background,
        })
    }

    pub fn grpc_address(&self) -> SocketAddr {
        self.grpc_address
    }

    pub fn http_address(&self) -> SocketAddr {
        self.http_address
    }

    /// The token that it has made for its own machine; none if it was told who may come in.
    pub fn local_token(&self) -> Option<String> {
        self.keyring.as_ref()?.local.as_ref()?.read().ok()
    }

    /// A link to the dashboard that signs in whoever opens it first, with the token for this machine.
    /// Where it was told who may come in, the page asks for a token.
    pub fn dashboard_link(&self) -> String {
        let token = self.local_token();
        self.desk.sign_in_link(token.as_deref()).unwrap_or_else(|error| {
            tracing::warn!(%error, "there is no link that signs in");
            format!("{}{}/ui/", self.members.scheme(), self.http_address)
        })
    }

    /// The next wish of a client to have everything read again. Whoever runs the server calls
    /// [`Server::reload`], reads what is theirs, and answers.
    pub async fn reload_wish(&mut self) -> ReloadWish {
        match self.wishes.recv().await {
            Some(wish) => wish,
            // Nobody can wish for it any more.
            None => std::future::pending().await,
        }
    }

    /// Reads again what may change while the server runs: tokens and certificates. What can't be used
    /// leaves everything as it was.
    pub fn reload(&self) -> Vec<Reloaded> {
        let tokens = self.keyring.as_ref().map(|keyring| {
            let file = keyring.file().display();
            let outcome = match keyring.reload() {
                Ok(true) => Ok(format!("{file} lets others in than before")),
                Ok(false) => Ok(format!("{file} has not changed")),
                Err(error) => Err(error.to_string()),
            };
            Reloaded { what: "tokens", outcome }
        });
        let certificates = self.certificates.as_ref().map(|certificates| {
            let shown = || format!("{} is used from now on", certificates.file().display());
            let outcome =
                certificates.reload().map(|()| shown()).map_err(|error| error.to_string());
            Reloaded { what: "certificates", outcome }
        });
        tokens.into_iter().chain(certificates).collect()
    }

    /// Takes nothing more, makes everything durable, saves the state and sends workers away; what
    /// they run goes on.
    pub async fn shutdown(mut self) {
        self.health.set_service_status("", ServingStatus::NotServing).await;
        self.checkpoints.stop().await;
        self.members.hand_over().await;
        let reign = self.reign.quiet().await;
        let head = self.handle.stop().await;
        if let Some(head) = head {
            self.checkpoints.last(head).await;
        }
        reign.end().await;
        if self.stop_serving.send(()).is_err() {
            tracing::debug!("serving has ended before");
        }
        self.stop_http.send_replace(true);
        if let Err(error) = self.http.await {
            tracing::debug!(%error, "serving HTTP ended badly");
        }
        // Calls that do not end by themselves are dropped with the task.
        let abort = self.grpc.abort_handle();
        if tokio::time::timeout(SHUTDOWN_PATIENCE, self.grpc).await.is_err() {
            abort.abort();
        }
    }
}

/// Connections take over the size of what the system keeps to be sent; none: what it thinks best.
async fn bind(
    address: SocketAddr,
    send_buffer: Option<u32>,
) -> Result<(TcpSocket, SocketAddr), StartError> {
    let failed = |source| StartError::Bind { address, source };
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        if let Some(bytes) = send_buffer {
            socket.set_send_buffer_size(bytes)?;
        }
        socket.bind(address)?;
        Ok::<_, std::io::Error>(socket)
    };
    let started = Instant::now();
    let socket = loop {
        match bind() {
            // A scheduler that was just killed may still be on its way out.
            Err(error)
                if error.kind() == std::io::ErrorKind::AddrInUse
                    && started.elapsed() < BIND_PATIENCE =>
            {
                tokio::time::sleep(BIND_INTERVAL).await;
            }
            bound => break bound.map_err(failed)?,
        }
    };
    let address = socket.local_addr().map_err(failed)?;
    Ok((socket, address))
}

fn make_data_dir(path: &Path) -> Result<(), StartError> {
    let made = make_folder(path);
    let made = made.map_err(|source| StartError::DataDir { path: path.to_owned(), source })?;
    let dir = path.display();
    match made {
        Folder::Private => {}
        Folder::Closed => {
            tracing::info!(%dir, "others could look into this folder, and can't any more")
        }
        Folder::Open(error) => tracing::warn!(%dir, %error, "others may look into this folder"),
    }
    Ok(())
}

fn builder(limits: Limits) -> tonic::transport::Server {
    tonic::transport::Server::builder()
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_concurrent_streams(limits.streams_max)
        .http2_keepalive_interval(Some(KEEP_ALIVE_INTERVAL))
        .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
        .timeout(limits.call_timeout)
}

/// None if the journal is one that several schedulers share.
fn open_journal(kind: JournalKind, dir: &Path) -> Result<Option<Box<dyn Journal>>, StartError> {
    // Beside a journal of the other kind a new one would start from nothing.
    let (files, sqlite) = (FileJournal::is_in(dir), SqliteJournal::is_in(dir));
    let other_kind = match kind {
        JournalKind::File => sqlite,
        JournalKind::Sqlite => files,
        JournalKind::Redis | JournalKind::Postgres | JournalKind::Raft => files || sqlite,
    };
    if other_kind {
        return Err(StartError::OtherJournal { dir: dir.display().to_string() });
    }
    Ok(match kind {
        JournalKind::File => Some(Box::new(FileJournal::open(dir, FileOptions::default())?)),
        JournalKind::Sqlite => Some(Box::new(SqliteJournal::open(dir, SqliteOptions::default())?)),
        JournalKind::Redis | JournalKind::Postgres | JournalKind::Raft => None,
    })
}

/// What a scheduler begins with.
enum Beginning {
    Alone(Box<dyn Journal>),
    /// It follows from the state that was committed when it looked.
    Among(Opened, Box<Engine>, Head),
}

impl Beginning {
    fn open(config: &ServerConfig, addresses: &Addresses) -> Result<Beginning, StartError> {
        if let Some(journal) = open_journal(config.journal, &config.data_dir)? {
            return Ok(Beginning::Alone(journal));
        }
        let opened = cluster::open(config, addresses)?;
        let (engine, head) = recover(opened.cluster.reader()?.as_ref(), None)?;
        Ok(Beginning::Among(opened, Box::new(engine), head))
    }

    fn head(&self) -> Head {
        match self {
            Beginning::Alone(journal) => journal.head(),
            Beginning::Among(_, _, head) => *head,
        }
    }

    fn reader(&self) -> Result<Box<dyn Reader>, ReadError> {
        match self {
            Beginning::Alone(journal) => journal.reader(),
            Beginning::Among(opened, ..) => opened.cluster.reader(),
        }
    }
}

fn start_loop(
    config: &ServerConfig,
    addresses: Addresses,
    tell_standing: watch::Sender<Standing>,
    standing: watch::Receiver<Standing>,
    background: tokio::runtime::Handle,
    reloads: Reloads,
) -> Result<(Desk, Arc<Metrics>), StartError> {
    let beginning = Beginning::open(config, &addresses)?;
    let head = beginning.head();
    let history = History::new(beginning.reader()?);
    let logs = Logs::start(&config.data_dir, config.logs, head.seq);
    let logs = logs.map_err(StartError::Thread)?;
    let (registry, feed) =
        registry::start(&config.data_dir, beginning.reader()?, head, config.history)?;
    let queues = QueueMeters::new(config.queues.iter().map(|queue| queue.name.as_str()));
    let disk = DiskBudget::watch(&config.data_dir, config.disk_max, &background);
    let audience = Arc::new(Audience::new(config.limits.follow_timeout));
    let metrics = Metrics::new(feed.watch_position(), queues, disk.clone(), audience.clone());
    let metrics = Arc::new(metrics);
    let mut onlookers = telemetry::prepare(config, head.seq, &metrics);
    let reader = beginning.reader()?;
    let backups = Backups::new(&config.data_dir, config.journal, beginning.reader()?);
    let past = onlookers.as_mut().map(|onlookers| &mut onlookers.past);
    let (sender, inbox) = mpsc::channel();
    let salt = u32::try_from(clock::wall().0 % 0xffff).unwrap_or(0);
    let (engine, place, ids, here, identity) = match beginning {
        Beginning::Alone(journal) => {
            let (engine, _) = recover(journal.as_ref(), past)?;
            let epoch = journal.epoch();
            tell_standing.send_replace(Standing::Alone { epoch });
            let here = leader(MemberId(0), epoch, addresses);
            let identity = Identity::load(&config.data_dir)?;
            (engine, Place::Alone(journal), JobIds::new(epoch, salt), here, identity)
        }
        Beginning::Among(Opened { cluster, members }, engine, head) => {
            if let Some(past) = past {
                past.begin(engine.state());
            }
            let (id, snapshots) = (cluster.status().id, cluster.snapshots());
            let taken = Seat::take(cluster, members, head, sender.clone());
            let (seat, room) = taken.map_err(StartError::Thread)?;
            let here = leader(id, Epoch(0), addresses);
            let ids = JobIds::of_member(id, clock::wall());
            let place = Place::Among { seat, room, head, snapshots };
            (*engine, place, ids, here, Identity::default())
        }
    };
    let (keys, keys_feed) =
        keys::start(&config.data_dir, config.idempotency_disk_max, engine.state())?;
    let duty = Duty::new(standing.clone());
    let telemetry = onlookers.map(|onlookers| telemetry::start(onlookers, head.seq, reader, &duty));
    let telemetry = telemetry.transpose().map_err(StartError::Thread)?;
    let (durable, position) = watch::channel(head.seq);
    let wall = Wall::default();
    let handle = Handle::new(sender.clone(), position, wall.clone());
    let scheme = if config.tls.is_some() { "https://" } else { "http://" };
    let seat = place.seat().cloned();
    let members =
        Members::new(standing.clone(), handle.clone(), seat, here, scheme, identity.clone());
    let registrar = Registrar {
        scheduler: identity.clone(),
        key: checkpoints::key(&config.data_dir)?.public(),
        standing,
        policy: config.key_policy(),
    };
    let parts = Parts {
        place,
        engine,
        identity,
        config: config.scheduling.clone(),
        settings: SettingsFile::open(&config.data_dir)?,
        snapshot_every: config.snapshot_every,
        inbox,
        sender,
        durable,
        standing: tell_standing,
        wall,
        feed,
        keys: keys_feed,
        followers: history.followers(),
        tail: history.tail(),
        telemetry,
        space: SpaceProbe::new(&config.data_dir),
    };
    let running = Loop::new(parts)?;
    std::thread::Builder::new()
        .name("scheduler".to_owned())
        .spawn(move || running.run())
        .map_err(StartError::Thread)?;
    let refusals = Refusals::default();
    let queues = QueuesInFront::new(&config.queues, &metrics.queues);
    let desk = Desk {
        handle,
        ids,
        registrar,
        registry,
        history,
        logs,
        background,
        refusals,
        disk,
        audience,
        keys,
        members,
        backups,
        queues,
        reloads,
        sign_ins: SignIns::default(),
        pulse: metrics.pulse.clone(),
    };
    Ok((desk, metrics))
}

fn leader(id: MemberId, epoch: Epoch, Addresses { grpc, http }: Addresses) -> Leader {
    Leader { id, epoch, grpc, http }
}
