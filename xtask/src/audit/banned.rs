//! Crates that we do without, each with the reason and what to take instead.

use crate::metadata::Metadata;

struct Banned {
    name: &'static str,
    reason: &'static str,
    instead: &'static str,
}

const BANNED: [Banned; 8] = [
    Banned { name: "serde_yaml", reason: "it is unmaintained", instead: "serde-saphyr" },
    Banned { name: "bincode", reason: "it is abandoned", instead: "prost, or postcard" },
    Banned { name: "openssl", reason: SECOND_TLS, instead: "rustls with ring" },
    Banned { name: "openssl-sys", reason: SECOND_TLS, instead: "rustls with ring" },
    Banned { name: "native-tls", reason: SECOND_TLS, instead: "rustls with ring" },
    Banned { name: "aws-lc-rs", reason: SECOND_BACKEND, instead: "the `ring` feature" },
    Banned { name: "aws-lc-sys", reason: SECOND_BACKEND, instead: "the `ring` feature" },
    Banned { name: "chrono", reason: "one library for dates is enough", instead: "jiff" },
];

const SECOND_TLS: &str = "it links the system's TLS, and we have one of our own";
const SECOND_BACKEND: &str = "rustls needs one backend, and we have ring";

pub(super) fn check(built: &Metadata) -> Vec<String> {
    let mut complaints = Vec::new();
    for banned in &BANNED {
        for package in built.packages.iter().filter(|package| package.name == banned.name) {
            complaints.push(format!(
                "{} {} is banned: {}; use {} (brought in by {})",
                package.name,
                package.version,
                banned.reason,
                banned.instead,
                users(built, banned.name),
            ));
        }
    }
    complaints
}

fn users(built: &Metadata, name: &str) -> String {
    let names: Vec<&str> = built
        .packages
        .iter()
        .filter(|package| package.dependencies.iter().any(|dependency| dependency.name == name))
        .map(|package| package.name.as_str())
        .collect();
    names.join(", ")
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
}
