//! What `cargo metadata` says of the workspace, as far as the rules ask.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::invocation::Invocation;

#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Option<DependencyKind>,
    /// Built only where a feature asks for it.
    #[serde(default)]
    pub(crate) optional: bool,
    /// Set if it lies in this workspace.
    pub(crate) path: Option<String>,
}

/// A normal dependency has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum DependencyKind {
    Dev,
    Build,
}

impl Metadata {
    /// The crates of the workspace alone. Needs neither network nor lock file.
    pub(crate) fn of_members(root: &Path) -> Result<Metadata> {
        read(root, &["--no-deps", "--offline"])
    }

    /// Everything that is built for this machine, all features on.
    pub(crate) fn of_everything_built(root: &Path) -> Result<Metadata> {
        let host = host(root)?;
        read(root, &["--locked", "--all-features", "--filter-platform", &host])
    }

    pub(crate) fn has_feature(&self, package: &str, feature: &str) -> bool {
        self.packages
            .iter()
            .any(|candidate| candidate.name == package && candidate.features.contains_key(feature))
    }
}

fn read(root: &Path, arguments: &[&str]) -> Result<Metadata> {
    let json = Invocation::cargo(&["metadata", "--format-version", "1"])
        .arguments(arguments)
        .output(root)?;
    serde_json::from_str(&json).context("failed to read what `cargo metadata` printed")
}

fn host(root: &Path) -> Result<String> {
    let version = Invocation::new("rustc", &["-vV"]).output(root)?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}
