//! Every file has a place that was meant for it.

use super::Finding;
use super::tree::Tree;

const ROOT_FILES: [&str; 12] = [
    ".gitignore",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "clippy.toml",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "scheduler.yaml",
];

struct Folder {
    /// `*` stands for one name. The longest that fits is the one that counts.
    path: &'static str,
    /// Names, or endings after a `*`.
    files: &'static [&'static str],
}

const FOLDERS: &[Folder] = &[
    Folder { path: ".cargo", files: &["config.toml"] },
    Folder { path: ".ci", files: &["run"] },
    Folder { path: ".config", files: &["nextest.toml"] },
    Folder {
        path: "bench",
        files: &["*.md", "*.py", "*.sh", "*.json", "*.jsonl", "*.toml", "*.rs"],
    },
    Folder { path: "crates/*", files: &["Cargo.toml", "clippy.toml", "build.rs", "README.md"] },
    Folder { path: "crates/*/benches", files: &["*.rs"] },
    Folder { path: "crates/*/examples", files: &["*.rs", "*.yaml", "*.json"] },
    Folder { path: "crates/dashboard/web", files: &["*.html", "*.css", "*.js", "*.json", "*.svg"] },
    Folder { path: "crates/*/proptest-regressions", files: &["*.txt"] },
    Folder { path: "crates/*/src", files: &["*.rs", "*.sql", "*.lua", "*.html"] },
    Folder {
        path: "crates/*/tests",
        files: &[
            "*.rs", "*.golden", "*.journal", "*.json", "*.jsonl", "*.jsonl.gz", "*.mjs", "*.py",
            "*.snap", "*.snapshot", "*.toml", "*.txt", "*.yaml",
        ],
    },
    Folder { path: "docs", files: &["*.md", "*.svg", "*.png", "*.json", "*.yaml"] },
    Folder {
        path: "examples",
        files: &["*.md", "*.rs", "*.toml", "*.py", "*.sh", "*.json", "*.jsonl", "*.yaml"],
    },
    Folder {
        path: "packaging",
        files: &["*.service", "Dockerfile", "Dockerfile.dockerignore", "*.md"],
    },
    Folder { path: "proto", files: &["*.proto"] },
    Folder { path: "python", files: &["*.md", "*.py", "*.pyi", "*.toml", "py.typed"] },
    Folder { path: "web", files: &["*.html", "*.css", "*.js", "*.ts", "*.json", "*.svg"] },
    Folder { path: "xtask", files: &["Cargo.toml"] },
    Folder { path: "xtask/src", files: &["*.rs"] },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files()
        .filter(|file| !has_place(&file.path))
        .map(|file| {
            let message = "stray file; move it where it belongs, ignore it, or give such files a \
                           place in xtask/src/tidy/stray.rs";
            Finding::in_file(&file.path, message)
        })
        .collect()
}

fn has_place(path: &str) -> bool {
    let Some((folder, name)) = path.rsplit_once('/') else {
        return ROOT_FILES.contains(&path);
    };
    let place = FOLDERS
        .iter()
        .filter(|candidate| covers(candidate.path, folder))
        .max_by_key(|candidate| candidate.path.len());
    place.is_some_and(|place| place.files.iter().any(|pattern| fits(pattern, name)))
}

fn covers(pattern: &str, folder: &str) -> bool {
    let mut names = folder.split('/');
    pattern
        .split('/')
        .all(|wanted| names.next().is_some_and(|name| wanted == "*" || wanted == name))
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(ending) => name.len() > ending.len() && name.ends_with(ending),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::super::findings_in;
    use super::*;

    #[test]
    fn files_without_a_place_are_found() {
        let strays = [
            "PLAN.md",
            "crates/core/NOTES.md",
            "crates/core/src/data.bin",
            "crates/lib.rs",
            "docs/draft.docx",
            "scratch/main.rs",
            "xtask/src/.rs",
        ];
        let files: Vec<(&str, &str)> = strays.iter().map(|&path| (path, "")).collect();
        let findings = findings_in(&files, check);
        assert_eq!(findings.len(), strays.len(), "{findings:#?}");
        for (finding, path) in findings.iter().zip(strays) {
            assert!(finding.starts_with(&format!("{path}: stray file")), "{finding}");
        }
    }

    #[test]
    fn files_in_their_place_are_left_alone() {
        let files = [
            ("Cargo.toml", ""),
            (".ci/run", ""),
            ("crates/core/Cargo.toml", ""),
            ("crates/core/src/place/mod.rs", ""),
            ("crates/journal/tests/golden/v1.golden", ""),
            ("proto/bellwether/v1/worker.proto", ""),
            ("xtask/src/tidy/stray.rs", ""),
        ];
        assert_eq!(findings_in(&files, check), [""; 0]);
    }
}
