//! The chores of this repository, started with `cargo xtask`.
//!
//! `verify` is what a change must pass and writes nothing but build output; `test` first installs
//! what the tests need. Deliberately absent: releasing, code generation and anything that edits
//! sources. Those are done by hand, by `cargo fmt` or by build scripts.

mod audit;
mod build_cost;
mod compare;
mod console;
mod invocation;
mod metadata;
mod setup;
mod steps;
#[cfg(test)]
mod temporary_tree;
mod tidy;
mod verify;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use invocation::Invocation;

const USAGE: &str = "\
usage: cargo xtask <command> [arguments]

  test     install what the tests need (Debian packages, cargo-nextest), then verify
  verify   format, lints, docs, dependencies, tree and all tests; writes nothing but build output
  tidy     only the rules about the tree: file length, crate arrows, stray files, leftovers, links
  audit    only the rules about dependencies: licences, sources, banned crates, double versions
  compare BEFORE AFTER [--rounds N] [--quick]
           run the benchmarks of two binaries in turns; fails if the second is slower or larger
  build-cost REVISION...
           build releases from nothing, one after another, and say what each costs
  fuzz [--inputs N] [--minutes M] [--seed S] [--target NAME] [--at INPUT]
           give every parser inputs that are nearly right, 10,000,000 together; fails if one panics or
           costs more than 100 ms or 64 MiB

exit code: 0 all is well, 1 something failed, 2 the command line was not understood";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, more)) = arguments.split_first() else {
        console::complain(USAGE);
        return ExitCode::from(2);
    };
    match dispatch(command, more) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<UnknownCommand>() => {
            console::complain(&format!("error: {error}\n\n{USAGE}"));
            ExitCode::from(2)
        }
        Err(error) => {
            console::complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

#[derive(Debug)]
struct UnknownCommand(String);

impl std::fmt::Display for UnknownCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no command `{}`", self.0)
    }
}

impl std::error::Error for UnknownCommand {}

fn dispatch(command: &str, more: &[String]) -> Result<()> {
    let root = root()?;
    match command {
        "compare" => compare::run(&root, more),
        "build-cost" => build_cost::run(&root, more),
        "fuzz" => fuzz(&root, more),
        other if !more.is_empty() => bail!(UnknownCommand(format!("{other} {}", more.join(" ")))),
        "test" => {
            setup::install_missing(&root)?;
            verify::run(&root)
        }
        "verify" => verify::run(&root),
        "tidy" => tidy::run(&root),
        "audit" => audit::run(&root),
        "help" | "--help" | "-h" => {
            console::say(USAGE);
            Ok(())
        }
        other => bail!(UnknownCommand(other.to_owned())),
    }
}

/// Built as the tests are, whose overflow checks find more.
fn fuzz(root: &Path, more: &[String]) -> Result<()> {
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let fuzz = ["run", "--quiet", "--locked", "--package", "bellwether-fuzz", "--"];
    Invocation::cargo(&fuzz).arguments(&more).run(root)
}

/// Asked at run time: a binary in a target folder shared by several checkouts must not remember
/// the one it was built in.
fn root() -> Result<PathBuf> {
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set; start this as `cargo xtask`")?;
    let manifest_dir = PathBuf::from(manifest_dir);
    let root = manifest_dir.parent().context("the folder of xtask has no parent")?;
    Ok(root.to_owned())
}
