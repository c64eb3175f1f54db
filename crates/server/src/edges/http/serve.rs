//! Serving connections: in bounds while they last, and to their end when the server shuts down.

use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Router;
use http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tonic::transport::server::Connected as _;
use tower::ServiceExt as _;

use super::patience::Patience;
use crate::edges::contain::Contained;
use crate::edges::listener::Connection;

/// How long a request's head may take to arrive, and how long a connection may be idle.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
const HEAD_BYTES_MAX: usize = 64 << 10;
const HEADERS_MAX: usize = 64;
/// How long a client may take to take in the next piece of an answer.
const STUCK_AFTER: Duration = Duration::from_secs(30);
/// How long requests may take to end when the server shuts down.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(2);

/// Serves until it is told to stop; then requests that are being answered may end.
pub(crate) async fn serve(
    mut connections: mpsc::Receiver<io::Result<Connection>>,
    router: Router,
    mut stopped: watch::Receiver<bool>,
) {
    let mut open = JoinSet::new();
    loop {
        let connection = tokio::select! {
            connection = connections.recv() => connection,
            () = stop(&mut stopped) => break,
            // Those that have ended are forgotten.
            Some(_) = open.join_next() => continue,
        };
        let Some(Ok(connection)) = connection else { break };
        let answered = answer(connection, router.clone(), stopped.clone());
        open.spawn(Contained::new("an HTTP connection", answered));
    }
    drop(connections);
    let ended = async { while open.join_next().await.is_some() {} };
    if tokio::time::timeout(SHUTDOWN_PATIENCE, ended).await.is_err() {
        tracing::debug!(open = open.len(), "HTTP connections are cut off");
    }
}

async fn answer(connection: Connection, router: Router, mut stopped: watch::Receiver<bool>) {
    let caller = connection.connect_info();
    // Here every request has a limit of its own.
    caller.admit();
    let service = router.map_request(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(caller.clone());
        request
    });
    let service = TowerToHyperService::new(service);
    let connection = Patience::new(connection, STUCK_AFTER);
    // Hyper's own timeouts need a timer, or they do nothing.
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_header_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(connection), service);
    let mut served = pin!(served);
    let ended = tokio::select! {
        ended = &mut served => ended,
        () = stop(&mut stopped) => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "an HTTP connection ended badly");
    }
}

async fn stop(stopped: &mut watch::Receiver<bool>) {
    // Sent or dropped: both mean that it is over.
    drop(stopped.wait_for(|stopped| *stopped).await);
}
