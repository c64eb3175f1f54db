//! Who may come in, and who may do what.

pub mod access;
pub(crate) mod authorize;
pub(crate) mod hosts;
pub mod tls;
pub mod tokens;

use std::net::SocketAddr;

use crate::config::ServerConfig;

#[derive(Debug, thiserror::Error)]
#[error(
    "{address} can be reached from elsewhere, and {missing} not configured; configure tls and \
     tokens, or listen on 127.0.0.1"
)]
pub struct Exposed {
    pub address: SocketAddr,
    pub missing: &'static str,
}

/// Off loopback only with TLS and tokens.
pub(crate) fn check_exposure(config: &ServerConfig) -> Result<(), Exposed> {
    let missing = match (&config.tls, &config.tokens) {
        (Some(_), Some(_)) => return Ok(()),
        (None, Some(_)) => "tls is",
        (Some(_), None) => "tokens are",
        (None, None) => "tls and tokens are",
    };
    for address in [config.grpc, config.http] {
        if !address.ip().is_loopback() {
            return Err(Exposed { address, missing });
        }
    }
    Ok(())
}
