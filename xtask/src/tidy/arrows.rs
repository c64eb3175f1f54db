//! Which crate may depend on which: the complete list.

use super::Finding;
use crate::metadata::{DependencyKind, Metadata, Package};

struct Arrows {
    from: &'static str,
    to: &'static [&'static str],
    /// Besides `to`, for tests alone.
    tests: &'static [&'static str],
}

const ARROWS: [Arrows; 15] = [
    Arrows { from: "bellwether-core", to: &[], tests: &["bellwether-journal"] },
    Arrows { from: "bellwether-wire", to: &["bellwether-core"], tests: &[] },
    Arrows {
        from: "bellwether-journal",
        to: &["bellwether-core", "bellwether-wire"],
        tests: &["bellwether-testbed"],
    },
    Arrows { from: "bellwether-host", to: &["bellwether-core", "bellwether-journal"], tests: &[] },
    Arrows {
        from: "bellwether-cluster",
        to: &["bellwether-core", "bellwether-wire", "bellwether-journal", "bellwether-host"],
        tests: &["bellwether-testbed"],
    },
    Arrows { from: "bellwether-testbed", to: &[], tests: &[] },
    Arrows { from: "bellwether-dashboard", to: &[], tests: &[] },
    Arrows { from: "bellwether-brokers", to: &[], tests: &["bellwether-testbed"] },
    Arrows { from: "bellwether-sdk", to: &["bellwether-wire"], tests: &[] },
    Arrows {
        from: "bellwether-sim",
        to: &["bellwether-core", "bellwether-journal", "bellwether-host", "bellwether-cluster"],
        tests: &["bellwether-wire"],
    },
    Arrows {
        from: "bellwether-server",
        to: &[
            "bellwether-core",
            "bellwether-wire",
            "bellwether-journal",
            "bellwether-host",
            "bellwether-cluster",
            "bellwether-brokers",
            "bellwether-dashboard",
        ],
        tests: &["bellwether-testbed"],
    },
    Arrows {
        from: "bellwether-bench",
        to: &[
            "bellwether-core",
            "bellwether-wire",
            "bellwether-journal",
            "bellwether-brokers",
            "bellwether-sdk",
            "bellwether-testbed",
        ],
        tests: &[],
    },
    Arrows {
        from: "bellwether",
        to: &[
            "bellwether-core",
            "bellwether-wire",
            "bellwether-journal",
            "bellwether-host",
            "bellwether-cluster",
            "bellwether-brokers",
            "bellwether-sdk",
            "bellwether-sim",
            "bellwether-server",
            "bellwether-bench",
        ],
        tests: &["bellwether-testbed"],
    },
    Arrows {
        from: "bellwether-fuzz",
        to: &["bellwether-core", "bellwether-wire", "bellwether-journal", "bellwether-server"],
        tests: &[],
    },
    Arrows { from: "xtask", to: &[], tests: &[] },
];

pub(super) fn check(members: &Metadata) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in &members.packages {
        match ARROWS.iter().find(|arrows| arrows.from == package.name) {
            Some(arrows) => findings.extend(check_package(package, arrows)),
            None => findings.push(Finding::in_file(
                &package.name,
                "no arrow is known for this crate; add it to xtask/src/tidy/arrows.rs and \
                 ARCHITECTURE.md",
            )),
        }
    }
    findings
}

fn check_package(package: &Package, arrows: &Arrows) -> Vec<Finding> {
    let ours = package.dependencies.iter().filter(|dependency| dependency.path.is_some());
    ours.filter(|dependency| {
        let name = dependency.name.as_str();
        let for_tests = dependency.kind == Some(DependencyKind::Dev);
        let listed = arrows.to.contains(&name) || (for_tests && arrows.tests.contains(&name));
        !listed
    })
    .map(|dependency| {
        let kind = match dependency.kind {
            None => "depends on",
            Some(DependencyKind::Build) => "depends for its build on",
            Some(DependencyKind::Dev) => "depends for its tests on",
        };
        let message = format!(
            "{kind} {}: not an arrow of the architecture; move the code, or turn the arrow round",
            dependency.name
        );
        Finding::in_file(&package.name, message)
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temporary_tree::TemporaryTree;

    /// A workspace of two crates, the first with `dependencies` on the second.
    fn findings(from: &str, table: &str, to: &str) -> Vec<String> {
        let package = |name: &str| {
            format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n")
        };
        let first = format!("{}[{table}]\n{to} = {{ path = \"../b\" }}\n", package(from));
        let tree = TemporaryTree::new(&[
            ("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n"),
            ("crates/a/Cargo.toml", &first),
            ("crates/a/src/lib.rs", ""),
            ("crates/b/Cargo.toml", &package(to)),
            ("crates/b/src/lib.rs", ""),
        ]);
        let members = Metadata::of_members(tree.root()).unwrap();
        check(&members).iter().map(Finding::to_string).collect()
    }

    #[test]
    fn an_arrow_that_is_not_listed_is_found() {
        for table in ["dependencies", "build-dependencies", "dev-dependencies"] {
            let findings = findings("bellwether-core", table, "bellwether-wire");
            assert_eq!(findings.len(), 1, "{table}: {findings:?}");
            assert!(findings[0].starts_with("bellwether-core: depends"), "{findings:?}");
            assert!(findings[0].contains("not an arrow"), "{findings:?}");
        }
    }

    #[test]
    fn a_listed_arrow_is_left_alone() {
        assert_eq!(findings("bellwether-wire", "dependencies", "bellwether-core"), [""; 0]);
        assert_eq!(findings("bellwether", "dependencies", "bellwether-sdk"), [""; 0]);
    }

    #[test]
    fn tests_may_reach_further_where_it_is_written() {
        assert_eq!(findings("bellwether-sim", "dev-dependencies", "bellwether-wire"), [""; 0]);
        assert_eq!(findings("bellwether-sim", "dependencies", "bellwether-wire").len(), 1);
    }

    #[test]
    fn a_crate_without_a_place_in_the_list_is_found() {
        let findings = findings("bellwether-common", "dependencies", "bellwether-core");
        assert_eq!(findings.len(), 1);
        assert!(findings[0].starts_with("bellwether-common: no arrow is known"), "{findings:?}");
    }
}
