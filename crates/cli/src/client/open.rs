//! `bellwether open`.

use std::process::{Command, Stdio};

use clap::Args;
use serde_json::json;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Open the dashboard in a browser, signed in. The link is good once and for ten minutes; whoever opens it
/// first may do what this command line may.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Only print the link
    #[arg(long)]
    print: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Those that open what they are given in the browser of the user.
const OPENERS: [&str; 2] = ["xdg-open", "open"];

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let connect = arguments.connect;
    let link = block_on(async move { Ok(connect.client().await?.sign_in_link().await?) })?;
    if arguments.json {
        output::print_json(&json!({ "dashboard": link }))?;
        return Ok(Verdict::Fine);
    }
    output::print(&format!("{link}\n"))?;
    if !arguments.print {
        open(&link);
    }
    Ok(Verdict::Fine)
}

/// Where there is no browser the link was printed.
fn open(link: &str) {
    for opener in OPENERS {
        let started = Command::new(opener)
            .arg(link)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        if started.is_ok() {
            return;
        }
    }
}
