//! `bellwether token`: secrets, and who they let in.

use anyhow::Context as _;
use bellwether_server::edges::security::tokens::{Holder, NAMESPACE_DEFAULT, Role, issue};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use serde_json::json;

use crate::client::{Connect, moment};
use crate::exit::{Misused, Verdict};
use crate::output;

/// Make tokens, or show the one that this command line uses.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Issue(Issue),
    Show(Show),
    Header(Header),
}

/// Make a token. Give it to whoever is to have it, and add the line to the file `tokens` in the data
/// directory, or to the one that the setting `tokens` names; the scheduler keeps only the hash, and
/// reads the file again when it changes.
#[derive(Debug, Args)]
struct Issue {
    /// Who it is for
    name: String,
    /// What it allows: submitter, worker, operator, viewer or peer; may be given several times
    #[arg(long, value_name = "ROLE", required = true, value_parser = role)]
    role: Vec<Role>,
    /// Where it counts
    #[arg(long, value_name = "NAME", default_value = NAMESPACE_DEFAULT)]
    namespace: String,
    /// Until when it counts, as 2030-01-31T12:00:00Z; for ever if left out
    #[arg(long, value_name = "TIME", value_parser = moment)]
    expires: Option<Timestamp>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Print the token that would be sent to the scheduler.
#[derive(Debug, Args)]
struct Show {
    #[command(flatten)]
    connect: Connect,
}

/// Print the token as a header of HTTP: `bellwether token header | curl -H @- URL` keeps it out of the
/// list of processes.
#[derive(Debug, Args)]
struct Header {
    #[command(flatten)]
    connect: Connect,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    match arguments.command {
        Command::Issue(arguments) => make(arguments)?,
        Command::Show(Show { connect }) => output::print(&format!("{}\n", token(&connect)?))?,
        Command::Header(Header { connect }) => {
            output::print(&format!("authorization: Bearer {}\n", token(&connect)?))?;
        }
    }
    Ok(Verdict::Fine)
}

fn make(arguments: Issue) -> anyhow::Result<()> {
    let Issue { name, role, namespace, expires, json } = arguments;
    for (what, word) in [("the name", &name), ("the namespace", &namespace)] {
        let plain = !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || c == '#');
        if !plain {
            return Err(Misused(format!("{what} must be one word without `#`")).into());
        }
    }
    let (token, line) = issue(&Holder { name, roles: role, namespace, expires })?;
    if json {
        output::print_json(&json!({ "token": token, "line": line }))?;
    } else {
        output::print(&format!("token  {token}\nline   {line}\n"))?;
    }
    Ok(())
}

fn token(connect: &Connect) -> anyhow::Result<String> {
    connect.security()?.token_for(&connect.server)?.with_context(|| {
        let server = &connect.server;
        format!("there is no token for {server}; give --token-file FILE or BELLWETHER_TOKEN")
    })
}

fn role(word: &str) -> Result<Role, String> {
    Role::parse(word).ok_or_else(|| {
        let known: Vec<&str> = Role::ALL.into_iter().map(Role::as_str).collect();
        format!("it must be one of {}", known.join(", "))
    })
}
