//! What can go wrong with a queue, told apart by what the caller can do about it.

use thiserror::Error;

/// Why an operation of a broker failed.
#[derive(Clone, Debug, Error)]
pub enum BrokerError {
    /// The server can't be reached at present, or went away in the middle. Worth trying again.
    #[error("lost the connection to {server}: {reason}; it is tried again until it is back")]
    Lost {
        /// Kind and address.
        server: String,
        /// What was seen.
        reason: String,
    },
    /// The server is there and says no: credentials, permissions, another kind of server, a queue of
    /// another type. Trying again helps only after somebody has changed something.
    #[error("{server} refused: {reason}; {way_out}")]
    Refused {
        /// Kind and address.
        server: String,
        /// What it said.
        reason: String,
        /// What to change.
        way_out: String,
    },
    /// The caller asked for what can't be.
    #[error("{reason}")]
    Misuse {
        /// What was wrong with it.
        reason: String,
    },
}

/// What to do about a certificate that is not trusted.
pub(crate) const TRUST: &str =
    "give the file of the authorities to trust in tls, and the name that is in the certificate";

/// Whether this is about a certificate. Clients tell it among the errors of the network, where trying
/// again would never help.
pub(crate) fn is_distrust(error: &impl std::error::Error) -> bool {
    let mut cause: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = cause {
        if error.to_string().contains("certificate") {
            return true;
        }
        cause = error.source();
    }
    false
}

impl BrokerError {
    pub(crate) fn lost(server: impl ToString, reason: impl ToString) -> Self {
        Self::Lost { server: server.to_string(), reason: reason.to_string() }
    }

    pub(crate) fn refused(
        server: impl ToString,
        reason: impl ToString,
        way_out: impl ToString,
    ) -> Self {
        Self::Refused {
            server: server.to_string(),
            reason: reason.to_string(),
            way_out: way_out.to_string(),
        }
    }

    pub(crate) fn misuse(reason: impl ToString) -> Self {
        Self::Misuse { reason: reason.to_string() }
    }
}
