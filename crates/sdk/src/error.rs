//! What can go wrong between a client and the scheduler.

use std::fmt;
use std::time::Duration;

use bellwether_wire::v1;
use tonic::{Code, Status};

/// Metadata of a failed call: the stable code of a rejection, and microseconds after which to retry.
const CODE_KEY: &str = "bellwether-code";
const RETRY_AFTER_KEY: &str = "bellwether-retry-after";
/// Where the leader is, on the answers of those who are not; empty if that is not known.
const LEADER_KEY: &str = "bellwether-leader";

/// The scheduler's no, with a code that programs may branch on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Stable, as `queue_full`.
    pub code: String,
    /// For people.
    pub message: String,
    /// Trying again after this long may help.
    pub retry_after: Option<Duration>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)
    }
}

impl std::error::Error for Refusal {}

impl From<v1::Rejection> for Refusal {
    fn from(wire: v1::Rejection) -> Refusal {
        let retry_after = (wire.retry_after > 0).then(|| Duration::from_micros(wire.retry_after));
        Refusal { code: wire.code, message: wire.message, retry_after }
    }
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum ClientError {
    /// It answered, and refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error(
        "failed to reach the scheduler at {address}: {reason}; is it running, and is the address right?"
    )]
    Unreachable { address: String, reason: String },
    #[error("the scheduler at {address} follows {}", leader.as_deref().unwrap_or("nobody yet; another may lead in a moment"))]
    NotLeader { address: String, leader: Option<String> },
    #[error(
        "the scheduler does not let us in: {0}; check the token and its role, or take the one that lies \
         in the scheduler's data directory (--token-file DIR/token)"
    )]
    Denied(String),
    #[error("the token can't be sent: it has characters that no token has")]
    BadToken,
    #[error("the address {address:?} is of no use: {reason}")]
    BadAddress { address: String, reason: String },
    /// An answer that this version of the library can't make sense of.
    #[error("the scheduler's answer makes no sense: {0}")]
    Protocol(String),
}

impl ClientError {
    /// The code of the refusal, if it is one.
    pub fn code(&self) -> Option<&str> {
        match self {
            ClientError::Refused(refusal) => Some(&refusal.code),
            _ => None,
        }
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ClientError::Refused(refusal) => refusal.retry_after,
            _ => None,
        }
    }

    /// Nobody knows whether the call took effect, or it can't have: the same call may be sent again.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, ClientError::Unreachable { .. } | ClientError::NotLeader { .. })
    }

    pub(crate) fn from_status(address: &str, status: &Status) -> ClientError {
        let said = said(status);
        let reason = in_our_words(&said);
        if let Some(leader) = text(status, LEADER_KEY) {
            let leader = Some(leader).filter(|leader| !leader.is_empty());
            return ClientError::NotLeader { address: address.to_owned(), leader };
        }
        if [NOT_PLAIN, NOT_SECURE].iter().any(|theirs| said.contains(theirs)) {
            return ClientError::BadAddress { address: address.to_owned(), reason };
        }
        match status.code() {
            Code::Unavailable | Code::Cancelled | Code::Aborted | Code::Unknown
                if text(status, CODE_KEY).is_none() =>
            {
                ClientError::Unreachable { address: address.to_owned(), reason }
            }
            Code::Unauthenticated | Code::PermissionDenied if text(status, CODE_KEY).is_none() => {
                ClientError::Denied(reason)
            }
            Code::Internal | Code::DataLoss => ClientError::Protocol(reason),
            code => ClientError::Refused(Refusal {
                code: text(status, CODE_KEY).unwrap_or_else(|| name(code).to_owned()),
                message: in_our_words(status.message()),
                retry_after: text(status, RETRY_AFTER_KEY)
                    .and_then(|text| text.parse().ok())
                    .map(Duration::from_micros),
            }),
        }
    }
}

fn text(status: &Status, key: &str) -> Option<String> {
    status.metadata().get(key)?.to_str().ok().map(str::to_owned)
}

/// What is said where the other side speaks TLS, or no gRPC at all.
const NOT_PLAIN: &str = "frame with invalid size";
const NOT_SECURE: &str = "security properties do not meet minimum requirements";
const NOT_GRPC: &str = "stream closed because of a broken pipe";

/// What a library says of a message or a connection, as it concerns people.
pub(crate) fn in_our_words(message: &str) -> String {
    let words: [(&str, &str); 11] = [
        (
            "message length too large",
            "the message is larger than the scheduler takes (message_bytes_max); send fewer or \
             smaller jobs at a time",
        ),
        (NOT_PLAIN, "it does not speak plain gRPC there; with TLS, write https://"),
        (NOT_SECURE, "it speaks TLS there; write https://"),
        ("InvalidContentType", "it does not speak TLS there; write http://"),
        (NOT_GRPC, "it does not speak gRPC there; that may be the address for HTTP"),
        (
            "UnknownIssuer",
            "its certificate is signed by nobody known here; name the authority (--ca)",
        ),
        ("NotValidForName", "its certificate is for other names than the one that was asked for"),
        ("certificate: Expired", "its certificate has ended to hold; renew it"),
        ("Connection refused", "nobody listens there"),
        ("failed to lookup address", "its name is not known here"),
        ("operation timed out", "it does not answer"),
    ];
    let known = words.iter().find(|(theirs, _)| message.contains(theirs));
    known.map_or_else(|| message.to_owned(), |(_, ours)| (*ours).to_owned())
}

/// The message and what lies below it: "transport error" alone helps nobody.
fn said(status: &Status) -> String {
    let mut said = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        let text = error.to_string();
        if !said.contains(&text) {
            said.push_str(": ");
            said.push_str(&text);
        }
        source = error.source();
    }
    said.trim_start_matches("transport error: ").to_owned()
}

/// Codes of calls that carry none of ours.
fn name(code: Code) -> &'static str {
    match code {
        Code::NotFound => "unknown_job",
        // The latter is what a message that is larger than allowed is answered with.
        Code::ResourceExhausted | Code::OutOfRange => "too_large",
        Code::InvalidArgument => "malformed",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::FailedPrecondition => "not_now",
        Code::AlreadyExists => "already_exists",
        Code::Unimplemented => "unimplemented",
        _ => "refused",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_its_code_and_when_to_retry() {
        let mut status = Status::resource_exhausted("the queue is full");
        status.metadata_mut().insert(CODE_KEY, "queue_full".parse().unwrap());
        status.metadata_mut().insert(RETRY_AFTER_KEY, "2000000".parse().unwrap());
        let error = ClientError::from_status("http://x", &status);
        assert_eq!(error.code(), Some("queue_full"));
        assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
        assert!(!error.is_transient());
    }

    #[test]
    fn what_libraries_say_is_told_in_our_words() {
        let of = |status: Status| ClientError::from_status("http://x:7070", &status).to_string();
        let tls = of(Status::internal("h2 protocol error: frame with invalid size"));
        assert!(tls.contains("write https://") && !tls.contains("frame"), "{tls}");
        let large = Status::out_of_range("Error, decoded message length too large: found 17");
        let large = ClientError::from_status("http://x", &large);
        assert_eq!(large.code(), Some("too_large"));
        assert!(!large.to_string().contains("decoded"), "{large}");
        let closed =
            of(Status::unavailable("tcp connect error: Connection refused (os error 111)"));
        assert!(
            closed.contains("nobody listens there") && !closed.contains("os error"),
            "{closed}"
        );
    }

    #[test]
    fn a_lost_connection_may_be_tried_again() {
        let error = ClientError::from_status("http://x", &Status::unavailable("gone"));
        assert!(error.is_transient());
        assert!(error.to_string().contains("http://x: gone"));
    }
}
