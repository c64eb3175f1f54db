//! The ClickHouse of a measurement.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

const READY_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) enum ClickHouse {
    Running(String),
    /// Ends with this.
    Started {
        _child: Child,
        url: String,
    },
}

impl ClickHouse {
    pub(super) async fn start(folder: &Path) -> anyhow::Result<ClickHouse> {
        std::fs::create_dir_all(folder)?;
        let folder = folder.canonicalize()?;
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let path = folder.display();
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
        std::fs::write(folder.join("users.xml"), users)?;
        let file = folder.join("config.xml");
        std::fs::write(&file, config)?;
        let child = Command::new("nice")
            .args(["-n", "19", "clickhouse-server"])
            .arg(format!("--config-file={}", file.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .context("failed to start clickhouse-server; give --clickhouse URL")?;
        let ready = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                tokio::time::sleep(POLL).await;
            }
        };
        let ready = tokio::time::timeout(READY_WITHIN, ready).await;
        ready.context("clickhouse-server did not start; give --clickhouse URL")?;
        Ok(ClickHouse::Started { _child: child, url: format!("http://127.0.0.1:{port}") })
    }

    pub(super) fn url(&self) -> &str {
        match self {
            ClickHouse::Running(url) | ClickHouse::Started { url, .. } => url,
        }
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            ClickHouse::Running(_) => "given",
            ClickHouse::Started { .. } => "started here, at the lowest priority",
        }
    }
}
