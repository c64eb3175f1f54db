//! Several schedulers of the real binary, on every journal that they can have together: the leader is
//! killed and stopped under load, and nothing that was acknowledged is lost, runs twice or has two results.
//!
//! `BELLWETHER_FULL=1` does it often; see docs/cluster.md.

mod contest;
mod load;
mod membership;
mod papers;
mod partitions;
mod surface;
mod takeover;

use std::path::Path;

use bellwether_bench::cluster::Journal;

/// The real binary.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bellwether"))
}

/// How often something is tried, and how often with `BELLWETHER_FULL=1`.
pub(crate) fn rounds(few: usize, many: usize) -> usize {
    if std::env::var_os("BELLWETHER_FULL").is_some() { many } else { few }
}

/// As few as can miss one: those who share a server need no majority.
pub(crate) fn few(journal: Journal) -> usize {
    match journal {
        Journal::Raft => 3,
        Journal::Redis | Journal::Postgres | Journal::ZooKeeper => 2,
    }
}

/// Each of these scenarios as a test of its own, on these journals.
macro_rules! on_each_journal {
    ($($scenario:ident: $($journal:ident)+;)+) => {$(
        mod $scenario {$(
            #[tokio::test(flavor = "multi_thread")]
            #[expect(non_snake_case, reason = "it is called as the journal is")]
            async fn $journal() -> anyhow::Result<()> {
                super::$scenario(bellwether_bench::cluster::Journal::$journal).await
            }
        )+}
    )+};
}
pub(crate) use on_each_journal;
