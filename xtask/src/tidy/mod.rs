//! Rules about the tree itself, so that reviews need not repeat them. One file per family.

mod arrows;
mod leftovers;
mod length;
mod links;
mod opening;
mod stray;
mod tree;
mod whitespace;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use crate::console;
use crate::metadata::Metadata;
use tree::Tree;

pub(crate) fn run(root: &Path) -> Result<()> {
    let findings = check(root)?;
    for finding in &findings {
        console::say(&finding.to_string());
    }
    match findings.len() {
        0 => Ok(()),
        1 => bail!("1 finding"),
        more => bail!("{more} findings"),
    }
}

fn check(root: &Path) -> Result<Vec<Finding>> {
    let tree = Tree::read(root)?;
    let members = Metadata::of_members(root)?;
    Ok([
        arrows::check(&members),
        leftovers::check(&tree),
        length::check(&tree),
        links::check(&tree),
        opening::check(&tree),
        stray::check(&tree),
        whitespace::check(&tree),
    ]
    .concat())
}

/// What is wrong, where, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    path: String,
    line: Option<usize>,
    message: String,
}

impl Finding {
    fn in_file(path: &str, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line: None, message: message.into() }
    }

    /// `index` counts from 0, as `lines().enumerate()` does.
    fn at_line(path: &str, index: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line: Some(index + 1), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path, self.message),
            None => write!(f, "{}: {}", self.path, self.message),
        }
    }
}

/// Lays out `files` in a temporary tree and returns what `rule` says of it, one line each.
#[cfg(test)]
fn findings_in(files: &[(&str, &str)], rule: fn(&Tree) -> Vec<Finding>) -> Vec<String> {
    let temporary = crate::temporary_tree::TemporaryTree::new(files);
    let tree = Tree::read(temporary.root()).unwrap();
    rule(&tree).iter().map(Finding::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_tree::TemporaryTree;

    #[test]
    fn every_family_takes_part() {
        let long = format!("{}\nfn f() {{}} \n", "// \n".repeat(700));
        let manifest = |name: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        };
        let core = manifest("bellwether-core") + "[dependencies]\nstranger = { path = \"../x\" }\n";
        let tree = TemporaryTree::new(&[
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n"),
            ("README.md", "see [the plan](PLAN.md)\n"),
            ("notes.txt", "FIX"),
            ("crates/core/Cargo.toml", &core),
            ("crates/core/src/lib.rs", &long),
            ("crates/core/src/a.rs", concat!("// TO", "DO\n")),
            ("crates/x/Cargo.toml", &manifest("stranger")),
            ("crates/x/src/lib.rs", "//! Nothing.\n"),
        ]);
        let findings = check(tree.root()).unwrap();
        for part in ["arrow", "leftover", "600 lines", "PLAN.md", "//!", "stray", "whitespace"] {
            let found = findings.iter().any(|finding| finding.message.contains(part));
            assert!(found, "nothing says {part}: {findings:#?}");
        }
    }
}
