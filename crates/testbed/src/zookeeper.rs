//! A ZooKeeper server of one.

use std::io;
use std::process::Command;

use tempfile::TempDir;

use crate::ports::Ports;
use crate::process::Process;

/// Debian's.
const CLASSES: [&str; 2] = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"];
/// A session is at least two of them.
const TICK_MS: u32 = 250;

/// Gone when it is dropped, with what it held.
#[derive(Debug)]
pub struct ZooKeeperServer {
    _server: Process,
    port: u16,
    _data: TempDir,
    _ports: Ports,
}

impl ZooKeeperServer {
    pub fn start() -> io::Result<ZooKeeperServer> {
        let (ports, data) = (Ports::reserve()?, tempfile::tempdir()?);
        let (port, config) = (ports.first, data.path().join("zoo.cfg"));
        let text = format!(
            "tickTime={TICK_MS}\ndataDir={}\nclientPort={port}\nclientPortAddress=127.0.0.1\n\
             admin.enableServer=false\n",
            data.path().display()
        );
        std::fs::write(&config, text)?;
        let mut command = Command::new("java");
        command.args(["-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", &CLASSES.join(":")]);
        command.arg("org.apache.zookeeper.server.ZooKeeperServerMain").arg(config);
        let server = Process::start(&mut command)?.ready(port)?;
        Ok(ZooKeeperServer { _server: server, port, _data: data, _ports: ports })
    }

    /// Where clients connect.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }
}
