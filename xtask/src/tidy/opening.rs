//! A library says first what it does and what it deliberately does not.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .filter(|(file, text)| file.name() == "lib.rs" && !text.starts_with("//! "))
        .map(|(file, _)| {
            let message = "must open with //! lines: what the crate does, and what it does not";
            Finding::in_file(&file.path, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings_in;
    use super::*;

    #[test]
    fn a_library_without_an_opening_is_found() {
        let files = [
            ("crates/a/src/lib.rs", "//! Adds.\n\npub mod add;\n"),
            ("crates/b/src/lib.rs", "pub mod add;\n//! Adds.\n"),
            ("crates/c/src/lib.rs", ""),
            ("crates/a/src/add.rs", "pub fn add() {}\n"),
        ];
        let findings = findings_in(&files, check);
        assert_eq!(findings.len(), 2, "{findings:?}");
        assert!(findings[0].starts_with("crates/b/src/lib.rs: must open with //!"));
        assert!(findings[1].starts_with("crates/c/src/lib.rs: must open with //!"));
    }
}
