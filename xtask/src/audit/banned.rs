//! Crates that we do without, each with the reason and what to take instead.

use crate::metadata::{Dependency, DependencyKind, Metadata};

struct Banned {
    name: &'static str,
    reason: &'static str,
    instead: &'static str,
    /// Crates that we can't do without and that can't do without it.
    but_for: &'static [&'static str],
}

const BANNED: [Banned; 8] = [
    Banned {
        name: "serde_yaml",
        reason: "it is unmaintained",
        instead: "serde-saphyr",
        but_for: &[],
    },
    Banned {
        name: "bincode",
        reason: "it is abandoned",
        instead: "prost, or postcard",
        but_for: &[],
    },
    Banned { name: "openssl", reason: SECOND_TLS, instead: "rustls with ring", but_for: &[] },
    Banned { name: "openssl-sys", reason: SECOND_TLS, instead: "rustls with ring", but_for: &[] },
    Banned { name: "native-tls", reason: SECOND_TLS, instead: "rustls with ring", but_for: &[] },
    Banned {
        name: "aws-lc-rs",
        reason: SECOND_BACKEND,
        instead: "the `ring` feature",
        but_for: &[],
    },
    Banned {
        name: "aws-lc-sys",
        reason: SECOND_BACKEND,
        instead: "the `ring` feature",
        but_for: &[],
    },
    Banned {
        name: "chrono",
        reason: "one library for dates is enough",
        instead: "jiff",
        but_for: &["openraft", "openraft-macros"],
    },
];

const SECOND_TLS: &str = "it links the system's TLS, and we have one of our own";
const SECOND_BACKEND: &str = "rustls needs one backend, and we have ring";

pub(super) fn check(built: &Metadata) -> Vec<String> {
    let mut complaints = Vec::new();
    for banned in &BANNED {
        let users = users(built, banned.name);
        if !users.is_empty() && users.iter().all(|user| banned.but_for.contains(user)) {
            continue;
        }
        for package in built.packages.iter().filter(|package| package.name == banned.name) {
            complaints.push(format!(
                "{} {} is banned: {}; use {} (brought in by {})",
                package.name,
                package.version,
                banned.reason,
                banned.instead,
                users.join(", "),
            ));
        }
    }
    complaints
}

/// Those that want it whatever features they have; others are not to blame.
fn users<'a>(built: &'a Metadata, name: &str) -> Vec<&'a str> {
    let wants = |dependency: &Dependency| {
        let normal = dependency.kind != Some(DependencyKind::Dev) && !dependency.optional;
        dependency.name == name && normal
    };
    let packages = built.packages.iter();
    let users = packages.filter(|package| package.dependencies.iter().any(wants));
    users.map(|package| package.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banned_crate_is_named_with_its_replacement_and_who_wants_it() {
        let built: Metadata = serde_json::from_str(
            r#"{"packages": [
                {"name": "app", "version": "1.0.0", "license": null, "features": {},
                 "dependencies": [{"name": "chrono", "kind": null, "path": null}]},
                {"name": "chrono", "version": "0.4.1", "license": "MIT",
                 "features": {}, "dependencies": []},
                {"name": "jiff", "version": "0.2.0", "license": "MIT",
                 "features": {}, "dependencies": []}
            ]}"#,
        )
        .unwrap();
        assert_eq!(
            check(&built),
            [
                "chrono 0.4.1 is banned: one library for dates is enough; use jiff (brought in by app)"
            ]
        );
    }

    #[test]
    fn a_crate_that_we_need_may_bring_in_what_it_needs() {
        let built = |user: &str| -> Metadata {
            let json = format!(
                r#"{{"packages": [
                    {{"name": "{user}", "version": "1.0.0", "license": null, "features": {{}},
                     "dependencies": [{{"name": "chrono", "kind": null, "path": null}}]}},
                    {{"name": "other", "version": "1.0.0", "license": null, "features": {{}},
                     "dependencies": [
                        {{"name": "chrono", "kind": null, "optional": true, "path": null}}]}},
                    {{"name": "chrono", "version": "0.4.1", "license": "MIT",
                     "features": {{}}, "dependencies": []}}
                ]}}"#
            );
            serde_json::from_str(&json).unwrap()
        };
        assert_eq!(check(&built("openraft")), [""; 0]);
        assert_eq!(check(&built("app")).len(), 1);
    }
}
