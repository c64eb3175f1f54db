//! `bellwether completions`.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::exit::Verdict;
use crate::output;

/// Print completions for a shell, as `source <(bellwether completions bash)`.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Which one
    shell: Shell,
}

pub(crate) fn run<C: CommandFactory>(arguments: &Arguments) -> anyhow::Result<Verdict> {
    let mut command = C::command();
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "bellwether", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(Verdict::Fine)
}
