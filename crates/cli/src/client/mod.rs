//! Subcommands that talk to a running scheduler.

pub(crate) mod audit;
mod bulk;
pub(crate) mod cancel;
pub(crate) mod cluster;
pub(crate) mod config;
mod connect;
pub(crate) mod decisions;
pub(crate) mod drain;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod explain_text;
mod filter;
mod follow;
pub(crate) mod job;
pub(crate) mod jobs;
pub(crate) mod logs;
mod membership;
pub(crate) mod names;
pub(crate) mod open;
pub(crate) mod pause;
pub(crate) mod pin;
pub(crate) mod predictions;
pub(crate) mod queues;
pub(crate) mod reload;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod runs;
pub(crate) mod shadow;
pub(crate) mod snapshot;
mod standard_input;
pub(crate) mod status;
pub(crate) mod submit;
mod submit_file;
mod time_text;
pub(crate) mod types;
mod verify;
pub(crate) mod workers;

use bellwether_server::config::value;
pub(crate) use connect::{Connect, block_on};
pub(crate) use names::decision_in_words;

/// An argument in seconds, or with a unit as 5m.
pub(crate) fn span(text: &str) -> Result<std::time::Duration, String> {
    let micros = value::span(text).map_err(|wanted| format!("it must be {wanted}"))?;
    Ok(std::time::Duration::from_micros(micros.0))
}

/// An argument that is a time.
pub(crate) fn moment(text: &str) -> Result<jiff::Timestamp, String> {
    text.parse().map_err(|_| "it must be a time, as 2027-01-31T08:00:00Z".to_owned())
}

/// An argument of the form NAME=VALUE.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}
