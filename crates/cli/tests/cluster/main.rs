//! Several schedulers of the real binary on one Redis: the leader is killed and stopped under load, and
//! nothing that was acknowledged is lost, runs twice or has two results.
//!
//! `BELLWETHER_FULL=1` does it often; see docs/cluster.md.

mod load;
mod surface;
mod takeover;

use std::path::Path;

/// The real binary.
pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bellwether"))
}
