//! Rules about what we depend on. They need no network; `cargo audit`, where it is installed with
//! its database, adds the known vulnerabilities.

mod banned;
mod licence;
mod lock;

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::console;
use crate::invocation::Invocation;
use crate::metadata::Metadata;
use lock::LockFile;

pub(crate) fn run(root: &Path) -> Result<()> {
    let built = Metadata::of_everything_built(root)?;
    let text =
        std::fs::read_to_string(root.join("Cargo.lock")).context("failed to read Cargo.lock")?;
    let lock = LockFile::parse(&text)?;

    let complaints = [
        licence::check(&built),
        banned::check(&built),
        lock.check_sources(),
        lock.check_versions(),
    ]
    .concat();
    for complaint in &complaints {
        console::say(complaint);
    }
    console::say(&format!(
        "    {} crates built here, {} in the lock file",
        built.packages.len(),
        lock.packages.len()
    ));
    check_vulnerabilities(root)?;
    match complaints.len() {
        0 => Ok(()),
        1 => bail!("1 complaint about dependencies"),
        more => bail!("{more} complaints about dependencies"),
    }
}

fn check_vulnerabilities(root: &Path) -> Result<()> {
    if !Invocation::cargo(&["audit", "--version"]).succeeds(root) {
        console::say("    known vulnerabilities were left out: cargo-audit is not installed");
        return Ok(());
    }
    if !advisory_database_exists() {
        console::say(
            "    known vulnerabilities were left out: cargo-audit has no database yet; \
             run `cargo audit` once with a network",
        );
        return Ok(());
    }
    Invocation::cargo(&["audit", "--no-fetch", "--stale"]).run(root)
}

fn advisory_database_exists() -> bool {
    let cargo_home = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let cargo_home = cargo_home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    cargo_home.is_some_and(|home| home.join("advisory-db").is_dir())
}
