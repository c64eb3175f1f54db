//! No server: a port for every queue.

use std::collections::HashMap;
use std::net::TcpListener;

use anyhow::Result;
use bellwether_brokers::{Backend, ZeroMqSettings};
use bellwether_testbed::{Pause, Ports};

use super::{loopback, web_server};
use crate::bed::Bed;

#[derive(Default)]
pub(crate) struct ZeroMq {
    ports: HashMap<String, Ports>,
}

impl ZeroMq {
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

fn settings(port: u16) -> Backend {
    Backend::ZeroMq(ZeroMqSettings { address: loopback(port) })
}

impl Bed for ZeroMq {
    fn name(&self) -> &'static str {
        "zeromq"
    }

    fn backend(&mut self, prefix: &str) -> Result<Backend> {
        if let Some(ports) = self.ports.get(prefix) {
            return Ok(settings(ports.first));
        }
        let ports = Ports::reserve()?;
        let backend = settings(ports.first);
        self.ports.insert(prefix.to_owned(), ports);
        Ok(backend)
    }

    fn without_permission(&mut self) -> Result<Option<Backend>> {
        Ok(None)
    }

    fn wrong_server(&mut self) -> Result<Backend> {
        // A scheduler binds, so what is in its way is whoever has the port. Both that it would bind
        // first are taken.
        loop {
            let port = web_server()?;
            if let Some(next) = port.checked_add(1)
                && let Ok(listener) = TcpListener::bind(("127.0.0.1", next))
            {
                // Until the test ends.
                std::mem::forget(listener);
                return Ok(settings(port));
            }
        }
    }

    fn crash(&mut self) -> Result<()> {
        Ok(())
    }

    fn pause(&mut self) -> Result<Pause> {
        Ok(Pause::new(|| {}))
    }

    fn readers_share(&self) -> bool {
        false
    }

    fn keeps_events(&self) -> bool {
        false
    }
}
