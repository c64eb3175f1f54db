//! `bellwether explain JOB`: why it is where it is.

use bellwether_sdk::v1;
use bellwether_wire::json::Explanation;
use clap::Args;

use super::{Connect, block_on, explain_text};
use crate::exit::Verdict;
use crate::output;
use crate::paint::Paint;

/// Tell why a job is where it is: what it waits for, or why it went where it went.
///
/// Also tells why a submission was refused, if that is not long ago. Exits with 4 if the job was
/// refused or is not known.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Id of the job, or the name of an array (RUN/NAME): how many of its jobs wait for what
    id: String,
    /// Wait until the answer reflects this journal position
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    position: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(explain(arguments))
}

async fn explain(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let told: v1::Explanation = client.explain(&arguments.id, arguments.position).await?;
    let is_known = told.job > 0 || !told.array.is_empty();
    let verdict = if is_known { Verdict::Fine } else { Verdict::Refused };
    if arguments.json {
        output::print_json(&Explanation::from(told))?;
    } else {
        let paint = |word: &str| Paint::state(word).to_string();
        output::print(&explain_text::explanation(&told, paint))?;
    }
    Ok(verdict)
}
