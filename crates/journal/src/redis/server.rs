//! The connection to the server, and whether the server may be trusted with a journal.

use std::path::PathBuf;
use std::time::Duration;

use redis::{
    Client, Cmd, Connection, ErrorKind, FromRedisValue, RedisError, ScriptInvocation,
    ServerErrorKind, TlsCertificates, cmd,
};

use crate::shared::SharedError;

const CONNECT_PATIENCE: Duration = Duration::from_secs(1);
/// Longer than any lease: who leads gives up before this.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// The first with ranges that leave their start out, and a trim by position.
const OLDEST: (u32, u32) = (6, 2);

#[derive(Clone)]
pub struct RedisOptions {
    /// As `redis://user:password@host:6379/0`, or `rediss://` for TLS.
    pub url: String,
    /// Whom to trust with TLS, instead of those whom the machine trusts.
    pub authorities: Option<PathBuf>,
    /// Before the names of all keys, so that several logs may lie in one database.
    pub prefix: String,
    /// Takes a server that may lose what it has acknowledged when it crashes.
    pub allow_loss: bool,
}

impl std::fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address may hold a password.
        f.debug_struct("RedisOptions").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

/// Connected when it is needed, and again after a failure.
pub(super) struct Server {
    client: Client,
    connection: Option<Connection>,
    allow_loss: bool,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("connected", &self.connection.is_some()).finish()
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was sent.
    NotSent(SharedError),
    /// The server has refused, and done nothing.
    Refused(RedisError),
    /// It may have been done.
    Unknown(RedisError),
}

impl Server {
    pub(super) fn new(options: &RedisOptions) -> Result<Server, SharedError> {
        let misuse = |why: String| SharedError::Unfit(format!("redis: {why}"));
        let client = match &options.authorities {
            None => Client::open(options.url.as_str()),
            Some(path) => {
                let pem = std::fs::read(path)
                    .map_err(|error| misuse(format!("can't read {}: {error}", path.display())))?;
                let trusted = TlsCertificates { client_tls: None, root_cert: Some(pem) };
                Client::build_with_tls(options.url.as_str(), trusted)
            }
        };
        let client = client.map_err(|error| misuse(error.to_string()))?;
        Ok(Server { client, connection: None, allow_loss: options.allow_loss })
    }

    pub(super) fn run<T: FromRedisValue>(
        &mut self,
        script: &ScriptInvocation<'_>,
    ) -> Result<T, Failure> {
        self.with(|connection| script.invoke(connection))
    }

    pub(super) fn query<T: FromRedisValue>(&mut self, command: &Cmd) -> Result<T, Failure> {
        self.with(|connection| command.query(connection))
    }

    fn with<T>(
        &mut self,
        work: impl FnOnce(&mut Connection) -> Result<T, RedisError>,
    ) -> Result<T, Failure> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().map_err(Failure::NotSent)?,
        };
        match work(&mut connection) {
            Ok(answer) => {
                self.connection = Some(connection);
                Ok(answer)
            }
            Err(error) if is_refusal(&error) => {
                self.connection = Some(connection);
                Err(Failure::Refused(error))
            }
            // Whatever answer comes on this connection now is that of an earlier question.
            Err(error) => Err(Failure::Unknown(error)),
        }
    }

    fn connect(&self) -> Result<Connection, SharedError> {
        let mut connection =
            self.client.get_connection_with_timeout(CONNECT_PATIENCE).map_err(unreachable)?;
        connection.set_read_timeout(Some(ANSWER_PATIENCE)).map_err(unreachable)?;
        connection.set_write_timeout(Some(ANSWER_PATIENCE)).map_err(unreachable)?;
        check_version(&mut connection)?;
        if !self.allow_loss {
            check_durability(&mut connection)?;
        }
        Ok(connection)
    }
}

impl From<Failure> for SharedError {
    fn from(failure: Failure) -> SharedError {
        match failure {
            Failure::NotSent(error) => error,
            Failure::Refused(error) | Failure::Unknown(error) => unreachable(error),
        }
    }
}

fn is_refusal(error: &RedisError) -> bool {
    matches!(error.kind(), ErrorKind::Server(_) | ErrorKind::Extension)
}

fn unreachable(error: RedisError) -> SharedError {
    let way_out = match error.kind() {
        ErrorKind::AuthenticationFailed => "correct user and password",
        ErrorKind::Server(ServerErrorKind::NoPerm) => {
            "allow this user scripts, streams and hashes on the keys with the prefix"
        }
        ErrorKind::Server(ServerErrorKind::ReadOnly) => "connect to the primary",
        ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::CrossSlot) => {
            "use a single server, not a Redis Cluster"
        }
        _ => return SharedError::Unreachable(format!("redis: {error}")),
    };
    SharedError::Unfit(format!("redis: {error}; {way_out}"))
}

fn check_version(connection: &mut Connection) -> Result<(), SharedError> {
    let info: String = cmd("INFO").arg("server").query(connection).map_err(unreachable)?;
    let version = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    let mut parts = version.unwrap_or_default().split('.').map(|part| part.parse().unwrap_or(0));
    let found: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found < OLDEST {
        return Err(SharedError::Unfit(format!(
            "redis: version {} is too old; use {}.{} or newer",
            version.unwrap_or("unknown"),
            OLDEST.0,
            OLDEST.1
        )));
    }
    Ok(())
}

/// An acknowledged record must outlive a crash of the server, and no key may be evicted.
fn check_durability(connection: &mut Connection) -> Result<(), SharedError> {
    for (name, allowed) in [
        ("appendonly", &["yes"] as &[&str]),
        ("appendfsync", &["always"]),
        (
            "maxmemory-policy",
            &["noeviction", "volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl"],
        ),
    ] {
        let found = setting(connection, name)?;
        if !allowed.contains(&found.as_str()) {
            return Err(SharedError::Unfit(format!(
                "redis: it has `{name} {found}`, so it may lose records that it has acknowledged. Set \
                 `{name} {}` in redis.conf, or allow the loss in the configuration",
                allowed[0]
            )));
        }
    }
    Ok(())
}

fn setting(connection: &mut Connection, name: &str) -> Result<String, SharedError> {
    let answer: Result<Vec<String>, RedisError> =
        cmd("CONFIG").arg("GET").arg(name).query(connection);
    match answer {
        Ok(pair) => Ok(pair.into_iter().nth(1).unwrap_or_default()),
        Err(error) if is_refusal(&error) => Err(SharedError::Unfit(format!(
            "redis: it does not say what `{name}` is ({error}); allow CONFIG GET, or allow the loss of \
             acknowledged records in the configuration"
        ))),
        Err(error) => Err(unreachable(error)),
    }
}
