//! The ClickHouse of a measurement.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_testbed::Ports;
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

const READY_WITHIN: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// It would not share the scheduler's disk, so it gets none where there is memory for it.
const MEMORY: &str = "/dev/shm";

#[derive(Debug)]
pub(super) enum ClickHouse {
    Running(String),
    /// Ends with this.
    Started {
        _child: Box<Child>,
        _folder: TempDir,
        _ports: Ports,
        url: String,
    },
}

impl ClickHouse {
    pub(super) async fn start(disk: &Path) -> anyhow::Result<ClickHouse> {
        let memory = Path::new(MEMORY);
        let parent = if memory.is_dir() { memory } else { &disk.canonicalize()? };
        let folder = tempfile::Builder::new().prefix("bellwether-bench-").tempdir_in(parent)?;
        let ports = Ports::reserve()?;
        let port = ports.first;
        let path = folder.path().display();
        let config = format!(
            "<yandex><logger><level>error</level><console>1</console></logger>
             <http_port>{port}</http_port><listen_host>127.0.0.1</listen_host>
             <path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path>
             <users_config>{path}/users.xml</users_config>
             <default_profile>default</default_profile>
             <default_database>default</default_database>
             <mark_cache_size>1073741824</mark_cache_size></yandex>"
        );
        let users = "<yandex><profiles><default></default></profiles><users><default>\
             <password></password><networks><ip>::/0</ip></networks><profile>default</profile>\
             <quota>default</quota></default></users><quotas><default></default></quotas></yandex>";
        std::fs::write(folder.path().join("users.xml"), users)?;
        let file = folder.path().join("config.xml");
        std::fs::write(&file, config)?;
        let child = Command::new("chrt")
            .args(["--idle", "0", "clickhouse-server"])
            .arg(format!("--config-file={}", file.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start clickhouse-server with chrt (of util-linux); give --clickhouse URL")?;
        let ready = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(POLL).await;
            }
        };
        let ready = tokio::time::timeout(READY_WITHIN, ready).await;
        ready.context("clickhouse-server did not start; give --clickhouse URL")?;
        let url = format!("http://127.0.0.1:{port}");
        Ok(ClickHouse::Started { _child: Box::new(child), _folder: folder, _ports: ports, url })
    }

    pub(super) fn url(&self) -> &str {
        match self {
            ClickHouse::Running(url) | ClickHouse::Started { url, .. } => url,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            ClickHouse::Running(_) => "given",
            ClickHouse::Started { .. } => "started here, in memory and when nothing else runs",
        }
    }
}
