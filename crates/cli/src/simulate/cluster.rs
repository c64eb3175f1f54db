//! `bellwether simulate cluster`: do several schedulers keep their promises when everything fails?

use bellwether_sim::faults::Schedulers;
use clap::Args;

use super::faults;
use crate::exit::Verdict;

/// Run several schedulers against seeded faults and check every invariant after every step.
///
/// Three to five of them agree by votes, over a model of the log. Exits with 1 if an invariant was
/// violated. A seed replays its run exactly.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    seeds: faults::Seeds,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    faults::simulate(&arguments.seeds, Schedulers::Several, "cluster")
}
