//! What a service manager is told, as systemd has it: when the scheduler serves, and when it stops.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

const VARIABLE: &str = "NOTIFY_SOCKET";

/// Does nothing where nobody wants to be told.
pub(crate) fn tell(state: &str) {
    let Some(address) = std::env::var_os(VARIABLE) else { return };
    let sent = address.to_str().ok_or(io::ErrorKind::InvalidInput.into()).and_then(|address| {
        let address = match address.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(address)?,
        };
        UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)
    });
    if let Err(error) = sent {
        tracing::warn!(%error, state, "the service manager was not told");
    }
}
