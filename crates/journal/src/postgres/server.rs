//! The connection to the server, and whether the server may be trusted with a journal.

use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Error, NoTls, Row, Statement};

use crate::shared::SharedError;

const CONNECT_PATIENCE: Duration = Duration::from_secs(1);
/// Longer than any lease: who leads gives up before this.
const ANSWER_PATIENCE: Duration = Duration::from_secs(2);
/// Longer names would be cut, and two of them become one.
const SCHEMA_BYTES_MAX: usize = 63;
const SCHEMA: &str = include_str!("schema.sql");
/// Several schedulers that make the tables at the same time get in each other's way.
const CREATIONS_MAX: usize = 5;

#[derive(Clone)]
pub struct PostgresOptions {
    /// As `postgres://user:password@host:5432/database`. Of several hosts the one that can be written
    /// to is found with `?target_session_attrs=read-write`.
    pub url: String,
    /// Where the tables are, so that several logs may lie in one database.
    pub schema: String,
    /// Takes a server that may lose what it has acknowledged when it crashes.
    pub allow_loss: bool,
}

impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        f.debug_struct("PostgresOptions").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Connected when it is needed, and again after a failure. Its calls block; they must not be made where
/// an asynchronous task runs.
pub(super) struct Server {
    runtime: Runtime,
    config: Config,
    schema: String,
    allow_loss: bool,
    link: Option<Link>,
}

struct Link {
    client: Client,
    prepared: HashMap<String, Statement>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("connected", &self.link.is_some()).finish_non_exhaustive()
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    /// Nothing was sent.
    NotSent(SharedError),
    /// The server has refused, and done nothing.
    Refused(Error),
    /// It may have been done.
    Unknown(String),
}

pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

impl Server {
    pub(super) fn new(options: &PostgresOptions) -> Result<Server, SharedError> {
        let unfit = |why: String| SharedError::Unfit(format!("postgres: {why}"));
        let mut config: Config = options.url.parse().map_err(|_| {
            unfit("the address is not of the form postgres://user@host/database".to_owned())
        })?;
        config.connect_timeout(CONNECT_PATIENCE).application_name("bellwether");
        if options.schema.is_empty() || options.schema.len() > SCHEMA_BYTES_MAX {
            let why = format!("the name of the schema must have 1 to {SCHEMA_BYTES_MAX} bytes");
            return Err(unfit(why));
        }
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| SharedError::Unreachable(error.to_string()))?;
        let (schema, allow_loss) = (quoted(&options.schema), options.allow_loss);
        Ok(Server { runtime, config, schema, allow_loss, link: None })
    }

    pub(super) fn query(&mut self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, Failure> {
        self.with(sql, async |client, statement| client.query(statement, values).await)
    }

    /// How many rows were changed.
    pub(super) fn execute(&mut self, sql: &str, values: Values<'_>) -> Result<u64, Failure> {
        self.with(sql, async |client, statement| client.execute(statement, values).await)
    }

    /// Begins, ends or undoes a transaction.
    pub(super) fn batch(&mut self, sql: &str) -> Result<(), Failure> {
        self.ensure_link()?;
        let link = self.link.take().expect("there is one now");
        let outcome = self.runtime.block_on(patiently(link.client.batch_execute(sql)));
        self.conclude(link, outcome)
    }

    fn with<T>(
        &mut self,
        sql: &str,
        call: impl AsyncFnOnce(&Client, &Statement) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        self.ensure_link()?;
        let mut link = self.link.take().expect("there is one now");
        let statement = match link.prepared.get(sql) {
            Some(statement) => statement.clone(),
            None => {
                let outcome = self.runtime.block_on(patiently(link.client.prepare(sql)));
                let statement = match outcome {
                    Ok(statement) => statement,
                    // Nothing was done by preparing it.
                    Err(Failure::Unknown(why)) => {
                        return Err(Failure::NotSent(SharedError::Unreachable(why)));
                    }
                    Err(failure) => return self.conclude(link, Err(failure)),
                };
                link.prepared.insert(sql.to_owned(), statement.clone());
                statement
            }
        };
        let outcome = self.runtime.block_on(patiently(call(&link.client, &statement)));
        self.conclude(link, outcome)
    }

    /// A connection without an answer is not used again.
    fn conclude<T>(&mut self, link: Link, outcome: Result<T, Failure>) -> Result<T, Failure> {
        if !matches!(outcome, Err(Failure::Unknown(_))) {
            self.link = Some(link);
        }
        outcome
    }

    fn ensure_link(&mut self) -> Result<(), Failure> {
        if self.link.as_ref().is_none_or(|link| link.client.is_closed()) {
            let connected = self.runtime.block_on(connect(&self.config));
            let client = connected.map_err(Failure::NotSent)?;
            let ready = check(&client, self.allow_loss);
            let ready = async {
                ready.await?;
                create(&client, &self.schema).await
            };
            self.runtime.block_on(ready).map_err(Failure::NotSent)?;
            self.link = Some(Link { client, prepared: HashMap::new() });
        }
        Ok(())
    }
}

/// A name in a statement, whatever is in it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

async fn connect(config: &Config) -> Result<Client, SharedError> {
    let (client, connection) = match timeout(ANSWER_PATIENCE, config.connect(NoTls)).await {
        Ok(connected) => connected.map_err(|error| unreachable(&error))?,
        Err(_) => return Err(SharedError::Unreachable("postgres: no answer".to_owned())),
    };
    // It lives with the runtime, and ends with the client; the client tells why.
    tokio::spawn(async move { drop(connection.await) });
    Ok(client)
}

async fn patiently<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Failure> {
    match timeout(ANSWER_PATIENCE, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if is_refusal(&error) => Err(Failure::Refused(error)),
        Ok(Err(error)) => Err(Failure::Unknown(format!("postgres: {error}"))),
        Err(_) => Err(Failure::Unknown("postgres: no answer".to_owned())),
    }
}

/// Of the statement, not of a server that is just ending.
fn is_refusal(error: &Error) -> bool {
    const SHUTDOWNS: [SqlState; 3] =
        [SqlState::ADMIN_SHUTDOWN, SqlState::CRASH_SHUTDOWN, SqlState::CANNOT_CONNECT_NOW];
    error.code().is_some_and(|code| !SHUTDOWNS.contains(code))
}

impl From<Failure> for SharedError {
    fn from(failure: Failure) -> SharedError {
        match failure {
            Failure::NotSent(error) => error,
            Failure::Refused(error) => unreachable(&error),
            Failure::Unknown(why) => SharedError::Unreachable(why),
        }
    }
}

fn unreachable(error: &Error) -> SharedError {
    let why =
        error.as_db_error().map_or_else(|| error.to_string(), |error| error.message().to_owned());
    let way_out = match error.code() {
        Some(&SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION) => {
            "correct user and password"
        }
        Some(&SqlState::INVALID_CATALOG_NAME) => "create the database",
        Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            "let this user create the schema, or create it and make the user its owner"
        }
        Some(&SqlState::READ_ONLY_SQL_TRANSACTION) => "connect to the primary",
        _ => return SharedError::Unreachable(format!("postgres: {why}")),
    };
    SharedError::Unfit(format!("postgres: {why}; {way_out}"))
}

/// An acknowledged record must outlive a crash of the server.
async fn check(client: &Client, allow_loss: bool) -> Result<(), SharedError> {
    let asked = client.query_one("SELECT pg_is_in_recovery()", &[]).await;
    if asked.map_err(|error| unreachable(&error))?.get::<_, bool>(0) {
        return Err(SharedError::Unfit(
            "postgres: this server is a replica; connect to the primary".to_owned(),
        ));
    }
    if allow_loss {
        return Ok(());
    }
    for (name, refused) in
        [("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off")]
    {
        let asked = client.query_one("SELECT current_setting($1)", &[&name]).await;
        let found: String = asked.map_err(|error| unreachable(&error))?.get(0);
        if found == refused {
            return Err(SharedError::Unfit(format!(
                "postgres: it has `{name} = {found}`, so it may lose records that it has acknowledged. \
                 Set `{name} = on`, or allow the loss in the configuration"
            )));
        }
    }
    Ok(())
}

/// Makes the tables where they are not.
async fn create(client: &Client, schema: &str) -> Result<(), SharedError> {
    for _ in 0..CREATIONS_MAX {
        let found = client.query(&format!("SELECT one FROM {schema}.reign"), &[]).await;
        match found {
            Ok(rows) if !rows.is_empty() => return Ok(()),
            Ok(_) => {}
            Err(error) if is_refusal(&error) => {}
            Err(error) => return Err(unreachable(&error)),
        }
        match client.batch_execute(&SCHEMA.replace(":log", schema)).await {
            Ok(()) => return Ok(()),
            Err(error) if is_clash(&error) => {}
            Err(error) => return Err(unreachable(&error)),
        }
    }
    Err(SharedError::Unreachable("postgres: the tables are being made by others".to_owned()))
}

/// Another was faster.
fn is_clash(error: &Error) -> bool {
    const CLASHES: [SqlState; 5] = [
        SqlState::UNIQUE_VIOLATION,
        SqlState::DUPLICATE_TABLE,
        SqlState::DUPLICATE_SCHEMA,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::T_R_SERIALIZATION_FAILURE,
    ];
    error.code().is_some_and(|code| CLASHES.contains(code))
}
