//! Accepting connections, in bounds.
//!
//! A new connection costs next to nothing until it has sent its first byte, and one that sends none
//! is closed: thousands of idle ones harm nobody. Only then does it take one of the places that are
//! served, and it loses it if nothing that it asks is admitted in time, or if somebody else needs it before
//! it has shown a token.

use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Sleep;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use super::places::{Place, Places};
use super::security::denials::{self, Cause};
use super::security::tls::{ClientCertificate, Terms};
use super::strangers::{Seat, Seats};
use super::wrong_door;
use crate::config::Limits;

/// Connections that may be waiting to send their first byte.
const SILENT_MAX: usize = 20_000;
/// How long one may.
const SILENT_FOR: Duration = Duration::from_secs(10);
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// Connections that wait to be picked up by the server.
const READY_MAX: usize = 64;
/// After an error of the listener itself, as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Where somebody is from whose connection is not known.
pub(crate) const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// Connections that have something to say.
pub(crate) fn connections(
    listener: TcpListener,
    tls: Option<watch::Receiver<Terms>>,
    limits: Limits,
) -> mpsc::Receiver<io::Result<Connection>> {
    let (ready, connections) = mpsc::channel(READY_MAX);
    let entrance = Entrance {
        tls,
        ready,
        silent: Places::new(SILENT_MAX),
        served: Seats::new(limits.connections_max),
        admitted_within: limits.admitted_within,
    };
    tokio::spawn(accept(listener, entrance));
    connections
}

async fn accept(listener: TcpListener, entrance: Entrance) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = entrance.ready.closed() => return,
        };
        match accepted {
            Ok((stream, peer)) => match entrance.silent.take(peer.ip()) {
                Some(place) => drop(tokio::spawn(entrance.clone().admit(stream, peer, place))),
                None => tracing::debug!(%peer, "too many silent connections; refused"),
            },
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

#[derive(Clone)]
struct Entrance {
    tls: Option<watch::Receiver<Terms>>,
    ready: mpsc::Sender<io::Result<Connection>>,
    silent: Places,
    served: Seats,
    admitted_within: Duration,
}

impl Entrance {
    async fn admit(self, stream: TcpStream, peer: SocketAddr, place: Place) {
        let mut first = [0];
        let spoke = tokio::time::timeout(SILENT_FOR, stream.peek(&mut first)).await;
        if !matches!(spoke, Ok(Ok(1))) {
            tracing::debug!(%peer, "a connection that said nothing is closed");
            return;
        }
        drop(place);
        let known = Arc::<AtomicBool>::default();
        let Some(seat) = self.served.take(peer.ip(), known.clone()) else {
            let why = "one peer may have half of connections_max, and all of its own are in use";
            return denials::note(Cause::Places, "a connection", &peer, &why);
        };
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%peer, %error, "answers may be held back");
        }
        if let Some(answer) = wrong_door::answer(first[0], self.tls.is_some()) {
            tracing::debug!(%peer, "came without TLS where it is spoken, or with it where it is not");
            if let Err(error) = wrong_door::turn_away(stream, &answer).await {
                tracing::debug!(%peer, %error, "hung up before it was told so");
            }
            return;
        }
        let mut certificate = None;
        let stream = match self.tls {
            None => Stream::Plain(stream),
            Some(tls) => {
                // As it is now: the certificate may have been replaced since the start.
                let accepted = TlsAcceptor::from(tls.borrow().clone()).accept(stream);
                let accepted = tokio::time::timeout(HANDSHAKE_WITHIN, accepted);
                let accepted = tokio::select! {
                    accepted = accepted => accepted,
                    () = poll_fn(|context| seat.poll_lost(context)) => {
                        return tracing::debug!(%peer, "a stranger gives way in its handshake");
                    }
                };
                match accepted {
                    Ok(Ok(stream)) => {
                        certificate = ClientCertificate::of(stream.get_ref().1).map(Arc::new);
                        Stream::Tls(Box::new(stream))
                    }
                    Ok(Err(error)) => return tracing::debug!(%peer, %error, "no TLS"),
                    Err(_) => return tracing::debug!(%peer, "the handshake took too long"),
                }
            }
        };
        let caller = Caller { peer, admitted: Arc::default(), known, certificate };
        let deadline = Some(Box::pin(tokio::time::sleep(self.admitted_within)));
        let connection = Connection { stream, caller, deadline, seat };
        if self.ready.send(Ok(connection)).await.is_err() {
            tracing::debug!(%peer, "came while the server was shutting down");
        }
    }
}

/// One that is served; its place is free again when it is dropped.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Stream,
    caller: Caller,
    /// Until something that it asks is admitted.
    deadline: Option<Pin<Box<Sleep>>>,
    seat: Arc<Seat>,
}

/// Whose connection it is, for those who serve it.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    peer: SocketAddr,
    admitted: Arc<AtomicBool>,
    /// Whether it has shown a token, so that it need give way to nobody.
    known: Arc<AtomicBool>,
    /// That it has shown, if it has.
    pub(crate) certificate: Option<Arc<ClientCertificate>>,
}

impl Caller {
    /// Without the port, which says nothing.
    pub(crate) fn address(&self) -> String {
        self.peer.ip().to_canonical().to_string()
    }

    pub(crate) fn ip(&self) -> IpAddr {
        self.peer.ip()
    }

    /// The connection may stay, while there are places.
    pub(crate) fn admit(&self) {
        self.admitted.store(true, Ordering::Relaxed);
    }

    /// It gives way to nobody.
    pub(crate) fn recognize(&self) {
        self.known.store(true, Ordering::Relaxed);
    }
}

impl Connection {
    /// An error once it has taken too long to show that it may be here, or has given way.
    fn poll_deadline(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        if self.seat.poll_lost(context).is_ready() {
            tracing::debug!(peer = %self.caller.peer, "a stranger gives way");
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        let Some(deadline) = &mut self.deadline else { return Ok(()) };
        if self.caller.admitted.load(Ordering::Relaxed) {
            self.deadline = None;
        } else if deadline.as_mut().poll(context).is_ready() {
            tracing::debug!(peer = %self.caller.peer, "a connection is closed: nothing was admitted");
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(())
    }
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Connected for Connection {
    type ConnectInfo = Caller;

    fn connect_info(&self) -> Caller {
        self.caller.clone()
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_deadline(context)?;
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(context, slices),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
