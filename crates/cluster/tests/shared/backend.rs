//! The servers that hold a log.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bellwether_cluster::shared::Connect;
use bellwether_journal::postgres::{PostgresLog, PostgresOptions};
use bellwether_journal::redis::{RedisLog, RedisOptions};
use bellwether_testbed::{PostgresServer, RedisServer};

/// A server with any number of logs in it.
pub(crate) trait Backend {
    /// How to reach a log that is still empty.
    fn log(&self) -> Connect;

    /// Kills the server with SIGKILL.
    fn kill(&mut self);

    fn restart(&mut self);
}

#[derive(Debug)]
pub(crate) struct Redis {
    pub(crate) server: RedisServer,
    logs: AtomicU32,
}

impl Redis {
    pub(crate) fn start() -> Redis {
        Redis { server: RedisServer::start().unwrap(), logs: AtomicU32::new(0) }
    }
}

impl Backend for Redis {
    fn log(&self) -> Connect {
        let number = self.logs.fetch_add(1, Ordering::Relaxed);
        connect_to_redis(RedisOptions {
            url: self.server.url(),
            authorities: None,
            prefix: format!("log{number}"),
            allow_loss: false,
        })
    }

    fn kill(&mut self) {
        self.server.kill().unwrap();
    }

    fn restart(&mut self) {
        self.server.restart().unwrap();
    }
}

#[derive(Debug)]
pub(crate) struct Postgres {
    server: PostgresServer,
    logs: AtomicU32,
}

impl Postgres {
    pub(crate) fn start() -> Postgres {
        Postgres { server: PostgresServer::start().unwrap(), logs: AtomicU32::new(0) }
    }
}

impl Backend for Postgres {
    fn log(&self) -> Connect {
        let number = self.logs.fetch_add(1, Ordering::Relaxed);
        let options = PostgresOptions {
            url: self.server.url(),
            schema: format!("Log \"{number}\""),
            allow_loss: false,
        };
        Arc::new(move || Ok(Box::new(PostgresLog::new(&options)?)))
    }

    fn kill(&mut self) {
        self.server.kill().unwrap();
    }

    fn restart(&mut self) {
        self.server.restart().unwrap();
    }
}

pub(crate) fn connect_to_redis(options: RedisOptions) -> Connect {
    Arc::new(move || Ok(Box::new(RedisLog::new(&options)?)))
}
