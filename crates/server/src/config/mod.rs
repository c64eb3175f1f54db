//! What a server is told when it starts.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use bellwether_core::model::Config;

#[derive(Debug, Clone)]
pub struct ServerConfig {
    pub data_dir: PathBuf,
    pub grpc: SocketAddr,
    pub http: SocketAddr,
    /// What may be changed while the scheduler runs.
    pub scheduling: Config,
    pub message_bytes_max: usize,
    /// Events after which the state is saved anew.
    pub snapshot_every: u64,
}

impl Default for ServerConfig {
    fn default() -> ServerConfig {
        ServerConfig {
            data_dir: PathBuf::from("data"),
            grpc: SocketAddr::from((Ipv4Addr::LOCALHOST, 7070)),
            http: SocketAddr::from((Ipv4Addr::LOCALHOST, 7071)),
            scheduling: Config::default(),
            message_bytes_max: 16 << 20,
            snapshot_every: 500_000,
        }
    }
}
