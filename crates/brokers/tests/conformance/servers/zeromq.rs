//! No server: a port for every queue.

use std::collections::HashMap;
use std::net::TcpListener;

use anyhow::{Result, bail};
use bellwether_brokers::{Backend, ZeroMqSettings};

use super::{free_port, loopback, web_server};
use crate::bed::{Bed, Pause};

#[derive(Default)]
pub(crate) struct ZeroMq {
    ports: HashMap<String, u16>,
}

impl ZeroMq {
    pub(crate) fn new() -> Self {
        Self::default()
    }
}

/// The first of three ports in a row that nobody uses.
fn three_free_ports() -> Result<u16> {
    for _ in 0..1000 {
        let port = free_port()?;
        let free = |offset: u16| {
            port.checked_add(offset)
                .is_some_and(|port| TcpListener::bind(("127.0.0.1", port)).is_ok())
        };
        if free(0) && free(1) && free(2) {
            return Ok(port);
        }
    }
    bail!("no three ports in a row are free")
}

fn settings(port: u16) -> Backend {
    Backend::ZeroMq(ZeroMqSettings { address: loopback(port) })
}

impl Bed for ZeroMq {
    fn name(&self) -> &'static str {
        "zeromq"
    }

    fn backend(&mut self, prefix: &str) -> Result<Backend> {
        if let Some(&port) = self.ports.get(prefix) {
            return Ok(settings(port));
        }
        let port = three_free_ports()?;
        self.ports.insert(prefix.to_owned(), port);
        Ok(settings(port))
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
