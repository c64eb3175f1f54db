//! The lock file: where crates come from, and how many versions of the big ones there are.

use anyhow::{Context, Result};

const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Two versions of these would mean types that look the same and do not fit, or two runtimes.
const ONE_VERSION: [&str; 5] = ["hyper", "prost", "rustls", "tokio", "tonic"];

#[derive(Debug)]
pub(super) struct LockFile {
    pub(super) packages: Vec<LockedPackage>,
}

#[derive(Debug)]
pub(super) struct LockedPackage {
    name: String,
    version: String,
    source: Option<String>,
}

impl LockFile {
    /// Reads the three keys that matter here. Cargo writes one to a line, in this order.
    pub(super) fn parse(text: &str) -> Result<LockFile> {
        let blocks = text.split("[[package]]").skip(1);
        let packages = blocks.map(|block| {
            let required = |key| value(block, key).with_context(|| format!("Cargo.lock: no {key}"));
            Ok(LockedPackage {
                name: required("name")?,
                version: required("version")?,
                source: value(block, "source"),
            })
        });
        Ok(LockFile { packages: packages.collect::<Result<_>>()? })
    }

    pub(super) fn check_sources(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for package in &self.packages {
            if let Some(source) = package.source.as_ref().filter(|&source| source != CRATES_IO) {
                complaints.push(format!(
                    "{} {} comes from {source}; take a release from crates.io",
                    package.name, package.version
                ));
            }
        }
        complaints
    }

    pub(super) fn check_versions(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        for name in ONE_VERSION {
            let same = self.packages.iter().filter(|package| package.name == name);
            let versions: Vec<&str> = same.map(|package| package.version.as_str()).collect();
            if versions.len() > 1 {
                complaints.push(format!(
                    "{name} is there in versions {}; bring its users to one",
                    versions.join(" and ")
                ));
            }
        }
        complaints
    }
}

fn value(block: &str, key: &str) -> Option<String> {
    let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
    Some(line.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(packages: &[(&str, &str, Option<&str>)]) -> LockFile {
        let mut text = "version = 4\n".to_owned();
        for (name, version, source) in packages {
            text += &format!("\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n");
            if let Some(source) = source {
                text += &format!("source = \"{source}\"\n");
            }
        }
        LockFile::parse(&text).unwrap()
    }

    #[test]
    fn a_source_other_than_crates_io_is_found() {
        let lock = locked(&[
            ("ours", "0.1.0", None),
            ("bytes", "1.0.0", Some(CRATES_IO)),
            ("fork", "1.0.0", Some("git+https://example.org/fork#1234")),
        ]);
        assert_eq!(
            lock.check_sources(),
            [
                "fork 1.0.0 comes from git+https://example.org/fork#1234; take a release from crates.io"
            ]
        );
    }

    #[test]
    fn a_second_version_of_a_crate_that_must_be_one_is_found() {
        let lock = locked(&[
            ("tokio", "0.2.0", Some(CRATES_IO)),
            ("tokio", "1.54.0", Some(CRATES_IO)),
            ("syn", "1.0.0", Some(CRATES_IO)),
            ("syn", "2.0.0", Some(CRATES_IO)),
        ]);
        assert_eq!(
            lock.check_versions(),
            ["tokio is there in versions 0.2.0 and 1.54.0; bring its users to one"]
        );
    }
}
