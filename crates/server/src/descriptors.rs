//! File descriptors: a connection takes one, and the usual limit is for programs with few.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many as the system lets us have.
pub fn raise_limit() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        tracing::debug!(%error, "the limit of open files stays as it is");
    }
}
