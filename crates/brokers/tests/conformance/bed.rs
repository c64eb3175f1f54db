//! What the suite needs of a backend: a server, and the means to harm it.

use anyhow::Result;
use bellwether_brokers::Backend;
use bellwether_testbed::Pause;

/// A server of one kind, on a free port of this machine.
pub(crate) trait Bed: Send {
    /// As in the configuration.
    fn name(&self) -> &'static str;

    /// How to reach it. Where queues are told apart by address instead of by name, every prefix has
    /// its own.
    fn backend(&mut self, prefix: &str) -> Result<Backend>;

    /// How to reach it in a way that has priorities, if that is not the usual one.
    fn backend_with_priorities(&mut self) -> Result<Option<Backend>> {
        Ok(None)
    }

    /// Settings that the server must refuse because of who asks; None where nobody is asked.
    fn without_permission(&mut self) -> Result<Option<Backend>>;

    /// Settings that lead to something else than such a server.
    fn wrong_server(&mut self) -> Result<Backend>;

    /// How to reach it over TLS, with and without trust; None where nothing is encrypted.
    fn encrypted(&mut self) -> Result<Option<Encrypted>> {
        Ok(None)
    }

    /// Kills the server with SIGKILL and starts it again; nothing where there is no server.
    fn crash(&mut self) -> Result<()>;

    /// How often it is crashed under load: less often where a start takes long.
    fn crashes_under_load(&self) -> usize {
        3
    }

    /// Whether it still counts its messages exactly after a crash.
    fn counts_after_a_crash(&self) -> bool {
        true
    }

    /// Stops the server without ending it, so that it accepts and does not answer.
    fn pause(&mut self) -> Result<Pause>;

    /// Whether two readers share a channel; else the second stands by for the first.
    fn readers_share(&self) -> bool {
        true
    }

    /// Whether the events of the past can be read, and not only those to come.
    fn keeps_events(&self) -> bool {
        true
    }
}

/// The same server, over TLS.
pub(crate) struct Encrypted {
    /// By who knows its certificate.
    pub(crate) trusted: Backend,
    /// By who does not.
    pub(crate) unknown: Backend,
}
