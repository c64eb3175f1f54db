//! `bellwether config`: the settings that can be changed while the scheduler runs.

use anyhow::Context as _;
use bellwether_core::model::Config;
use bellwether_sdk::{Client, v1};
use bellwether_server::config::change;
use bellwether_wire::config::{config_from_wire, config_to_wire};
use bellwether_wire::json::{LiveConfig, nearest};
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use super::{Connect, block_on, pair};
use crate::exit::Verdict;
use crate::output;

/// Show and change the settings of a running scheduler
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Get(Get),
    Set(Set),
    Diff(Diff),
}

/// Show the settings that hold, or some of them.
#[derive(Debug, Args)]
struct Get {
    #[command(flatten)]
    connect: Connect,
    /// Keys, as retry_base or weights.wait; all if none is named
    keys: Vec<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Change settings. The change lasts until the file is changed.
#[derive(Debug, Args)]
struct Set {
    #[command(flatten)]
    connect: Connect,
    /// A key and its new value, written as in the file: retry_base=5s
    #[arg(required = true, value_name = "KEY=VALUE", value_parser = pair)]
    changes: Vec<(String, String)>,
    /// Only tell what would change
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Tell which settings differ from the defaults.
#[derive(Debug, Args)]
struct Diff {
    #[command(flatten)]
    connect: Connect,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        match arguments.command {
            Command::Get(arguments) => get(arguments).await,
            Command::Set(arguments) => set(arguments).await,
            Command::Diff(arguments) => diff(arguments).await,
        }
    })
}

async fn get(arguments: Get) -> anyhow::Result<Verdict> {
    let (config, _) = read(&arguments.connect.client().await?).await?;
    let mut settings = flat(&config)?;
    if !arguments.keys.is_empty() {
        for key in &arguments.keys {
            let known = settings.keys().any(|known| known == key);
            let meant = nearest(key, settings.keys().map(String::as_str));
            let meant = meant.map(|(meant, _)| format!("; did you mean {meant}?"));
            anyhow::ensure!(
                known,
                "{key} is no setting that can be changed{}",
                meant.unwrap_or_else(|| "; `config get` lists them".to_owned())
            );
        }
        settings.retain(|key, _| arguments.keys.contains(key));
    }
    if arguments.json {
        output::print_json(&settings)?;
    } else {
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let line = |(key, value): (&String, &Value)| format!("{key}={}\n", plain(value));
        output::print(&settings.iter().map(line).collect::<String>())?;
    }
    Ok(Verdict::Fine)
}

async fn set(arguments: Set) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let (before, version) = read(&client).await?;
    let mut patch = Map::new();
    for (key, value) in &arguments.changes {
        put(&mut patch, key, Value::String(value.clone()));
    }
    let after = change(before.clone(), &patch)?;
    if !arguments.dry_run {
        let config = Some(config_to_wire(&after));
        client.set_config(v1::SetConfigRequest { config, expected_version: version }).await?;
    }
    print_changes(&before, &after, arguments.json)
}

async fn diff(arguments: Diff) -> anyhow::Result<Verdict> {
    let (config, _) = read(&arguments.connect.client().await?).await?;
    print_changes(&Config::default(), &config, arguments.json)
}

async fn read(client: &Client) -> anyhow::Result<(Config, u64)> {
    let v1::ConfigState { version, config } = client.config().await?;
    let config = config.context("the scheduler told no settings")?;
    Ok((config_from_wire(&config)?, version))
}

fn print_changes(before: &Config, after: &Config, as_json: bool) -> anyhow::Result<Verdict> {
    let (before, after) = (flat(before)?, flat(after)?);
    let mut changes = Map::new();
    let mut text = String::new();
    for (key, new) in &after {
        let old = before.get(key).cloned().unwrap_or_default();
        if old != *new {
            text.push_str(&format!("{key}: {old} -> {new}\n"));
            changes.insert(key.clone(), json!({ "from": old, "to": new }));
        }
    }
    for (key, old) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
        text.push_str(&format!("{key}: {old} -> none\n"));
        changes.insert(key.clone(), json!({ "from": old, "to": null }));
    }
    if as_json {
        output::print_json(&changes)?
    } else {
        output::print(&text)?
    }
    Ok(Verdict::Fine)
}

/// Every setting by its key, with dots for what lies deeper.
fn flat(config: &Config) -> anyhow::Result<Map<String, Value>> {
    let mut settings = Map::new();
    let Value::Object(tree) = serde_json::to_value(LiveConfig::from(config))? else {
        unreachable!("settings are an object")
    };
    for (key, value) in tree {
        match value {
            Value::Object(children) => {
                let named =
                    children.into_iter().map(|(name, value)| (format!("{key}.{name}"), value));
                settings.extend(named);
            }
            value => {
                settings.insert(key, value);
            }
        }
    }
    Ok(settings)
}

/// Dots lead deeper.
fn put(patch: &mut Map<String, Value>, key: &str, value: Value) {
    match key.split_once('.') {
        None => {
            patch.insert(key.to_owned(), value);
        }
        Some((outer, inner)) => {
            let below = patch.entry(outer).or_insert_with(|| json!({}));
            if let Value::Object(below) = below {
                put(below, inner, value);
            }
        }
    }
}
