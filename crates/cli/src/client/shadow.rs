//! `bellwether shadow`: how another policy would have placed the same jobs.

use anyhow::Context as _;
use bellwether_core::model::Strategy;
use bellwether_sdk::{Client, v1};
use bellwether_wire::Mirror as _;
use bellwether_wire::json::ShadowReport;
use bellwether_wire::words::{counted, span};
use clap::Args;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output::{self, percent};

/// Show how the shadow policy does, or set another.
///
/// The shadow policy decides beside the live one without effect. What it is compared by starts
/// afresh when it is changed.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Let this strategy decide in the shadow from now on; `off` for none
    #[arg(long, value_name = "STRATEGY", value_parser = shadow)]
    set: Option<Shadow>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy)]
struct Shadow(Option<Strategy>);

fn shadow(text: &str) -> Result<Shadow, String> {
    if text == "off" {
        return Ok(Shadow(None));
    }
    let known = Strategy::ALL.map(Strategy::as_str).join(", ");
    let strategy = Strategy::parse(text);
    strategy.map(|strategy| Shadow(Some(strategy))).ok_or(format!("it must be off, {known}"))
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(async move {
        let client = arguments.connect.client().await?;
        if let Some(Shadow(strategy)) = arguments.set {
            set(&client, strategy).await?;
        }
        let report = client.shadow_report().await?;
        if arguments.json {
            output::print_json(&ShadowReport::from(report))?;
        } else {
            output::print(&readable(&report))?;
        }
        Ok(Verdict::Fine)
    })
}

/// Refused if somebody else changes the configuration meanwhile.
async fn set(client: &Client, strategy: Option<Strategy>) -> anyhow::Result<()> {
    let v1::ConfigState { version, config } = client.config().await?;
    let mut config = config.context("the scheduler did not tell its configuration")?;
    config.shadow = strategy.map_or(0, |strategy| strategy.to_wire());
    let request = v1::SetConfigRequest { config: Some(config), expected_version: version };
    Ok(client.set_config(request).await?)
}

fn readable(report: &v1::ShadowReportResponse) -> String {
    let live = report.live().as_str();
    let Some(shadow) = Strategy::from_wire(report.shadow).map(Strategy::as_str) else {
        return format!("live {live}, no shadow policy; set one with --set\n");
    };
    if report.decisions == 0 {
        return format!("live {live}, shadow {shadow}: no decisions yet\n");
    }
    let permille = |value: i32| percent(f64::from(value) / 1e3);
    format!(
        "live {live}, shadow {shadow}: {}, {} agreed\n  predicted from decision to result: \
         live {}, shadow {}, round-robin {}\n  sooner than round-robin: live {}, shadow {}\n  \
         shadow sooner than live: {}\n",
        counted(report.decisions, "decision"),
        percent(f64::from(report.agreement_permille) / 1e3),
        span(report.live_finish),
        span(report.shadow_finish),
        span(report.round_robin_finish),
        permille(report.live_gain_permille),
        permille(report.shadow_gain_permille),
        permille(report.shadow_over_live_permille),
    )
}
