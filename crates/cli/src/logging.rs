//! What is told on standard error.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use bellwether_server::config::{Log, LogFormat};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};

/// One JSON object a line has `timestamp`, `level`, `target` and `fields`.
pub(crate) fn start(log: &Log) -> anyhow::Result<()> {
    let wanted: Targets = log.level.parse().with_context(|| {
        let level = &log.level;
        format!("log.level is {level:?}; it must be as info or info,bellwether_server=debug")
    })?;
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(wanted)).try_init()?;
    Ok(())
}
