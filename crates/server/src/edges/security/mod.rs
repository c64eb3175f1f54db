//! Who may come in, and who may do what.

pub mod access;
pub(crate) mod authorize;
pub(crate) mod denials;
pub(crate) mod hosts;
pub(crate) mod keyring;
pub(crate) mod leave;
pub(crate) mod local;
pub(crate) mod sign_in;
pub mod tls;
pub mod tokens;
pub mod validity;

use bellwether_brokers::Backend;

use crate::config::{Auth, ServerConfig};

#[derive(Debug, thiserror::Error)]
#[error("{what} can be reached from elsewhere, and {missing}")]
pub struct Exposed {
    pub what: String,
    pub missing: &'static str,
}

/// Off loopback only with TLS and tokens. A queue that listens knows neither; whoever exposes it has
/// written so, but not together with `auth: off`.
pub(crate) fn check_exposure(config: &ServerConfig) -> Result<(), Exposed> {
    let missing = match (&config.tls, config.auth) {
        (Some(_), Auth::On) => None,
        (None, Auth::On) => Some("tls is not configured; configure it, or listen on 127.0.0.1"),
        (_, Auth::Off) => {
            Some("auth is off; switch it on and configure tls, or listen on 127.0.0.1")
        }
    };
    let Some(missing) = missing else { return Ok(()) };
    for address in [config.grpc, config.http] {
        if !address.ip().is_loopback() {
            return Err(Exposed { what: address.to_string(), missing });
        }
    }
    let listens = |queue: &&crate::config::Queue| match &queue.settings.backend {
        Backend::ZeroMq(zeromq) => !zeromq.address.is_loopback(),
        Backend::Redis(_) | Backend::RabbitMq(_) | Backend::Nats(_) | Backend::Sqlite(_) => false,
    };
    match config.queues.iter().find(listens) {
        Some(queue) if config.auth == Auth::Off => {
            Err(Exposed { what: format!("the queue {}", queue.name), missing })
        }
        _ => Ok(()),
    }
}
