//! `bellwether token`: a new secret, and the line that lets it in.

use bellwether_server::edges::security::tokens::{Role, issue};
use clap::Args;
use serde_json::json;

use crate::exit::Verdict;
use crate::output;

/// Make a token. Give it to whoever is to have it, and add the line to the file that the setting
/// `tokens` names; the scheduler keeps only the hash.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Who it is for
    name: String,
    /// What it allows: submitter, worker, operator, viewer or peer; may be given several times
    #[arg(long, value_name = "ROLE", required = true, value_parser = role)]
    role: Vec<Role>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    let (token, line) = issue(&arguments.name, &arguments.role)?;
    if arguments.json {
        output::print_json(&json!({ "token": token, "line": line }))?;
    } else {
        output::print(&format!("token  {token}\nline   {line}\n"))?;
    }
    Ok(Verdict::Fine)
}

fn role(word: &str) -> Result<Role, String> {
    Role::parse(word).ok_or_else(|| {
        let known: Vec<&str> = Role::ALL.into_iter().map(Role::as_str).collect();
        format!("it must be one of {}", known.join(", "))
    })
}
