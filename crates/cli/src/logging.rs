//! What is told on standard error.

use std::io::IsTerminal as _;

use anyhow::Context as _;
use bellwether_server::config::{Log, LogFormat};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, Registry, fmt, reload};

/// A library that is told of only if it is named.
const VERBOSE: &str = "openraft";

/// What is told, to be changed while it is told.
#[derive(Debug)]
pub(crate) struct Levels(reload::Handle<Targets, Registry>);

impl Levels {
    /// After an error they are as they were.
    pub(crate) fn set(&self, level: &str) -> anyhow::Result<()> {
        let wanted = targets(level)?;
        self.0.reload(wanted).context("logging has ended")
    }
}

/// One JSON object a line has `timestamp`, `level`, `target` and `fields`.
pub(crate) fn start(log: &Log) -> anyhow::Result<Levels> {
    let (wanted, levels) = reload::Layer::new(targets(&log.level)?);
    let lines = fmt::layer().with_writer(std::io::stderr);
    let lines = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::stderr().is_terminal()).boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry().with(lines.with_filter(wanted)).try_init()?;
    Ok(Levels(levels))
}

fn targets(level: &str) -> anyhow::Result<Targets> {
    let wrong =
        || format!("log.level is {level:?}; it must be as info or info,bellwether_server=debug");
    // A word alone would be taken for a part, of which everything is told.
    let mut words = level.split(',').filter(|word| !word.contains('='));
    let known = words.all(|word| word.trim().parse::<LevelFilter>().is_ok());
    anyhow::ensure!(known, wrong());
    let targets: Targets = level.parse().with_context(wrong)?;
    // It tells of every vote and every member that does not answer; we tell what comes of them.
    let asked = level.contains(VERBOSE);
    Ok(if asked { targets } else { targets.with_target(VERBOSE, LevelFilter::OFF) })
}
