//! Lines end where their text does, and files with a line end.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.written() {
        for (index, line) in text.split('\n').enumerate() {
            if line.ends_with([' ', '\t', '\r']) {
                findings.push(Finding::at_line(
                    &file.path,
                    index,
                    "trailing whitespace; remove it",
                ));
            }
        }
        if !text.is_empty() && !text.ends_with('\n') {
            findings.push(Finding::in_file(&file.path, "does not end with a newline; add one"));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::findings_in;
    use super::*;

    #[test]
    fn spaces_tabs_and_carriage_returns_at_a_line_end_are_found() {
        let files = [("a.rs", "//\n// \n//\t\n"), ("b.md", "x\r\n"), ("c.md", "x\n")];
        assert_eq!(
            findings_in(&files, check),
            [
                "a.rs:2: trailing whitespace; remove it",
                "a.rs:3: trailing whitespace; remove it",
                "b.md:1: trailing whitespace; remove it",
            ]
        );
    }

    #[test]
    fn a_missing_newline_at_the_end_is_found() {
        let files = [("a.proto", "message A {}"), ("empty.py", "")];
        assert_eq!(findings_in(&files, check), ["a.proto: does not end with a newline; add one"]);
    }
}
