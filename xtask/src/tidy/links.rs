//! A link in a document leads somewhere: to a file of this repository that exists.

use super::Finding;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.with_extension("md") {
        let mut fenced = false;
        for (index, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            if fenced {
                continue;
            }
            for target in targets(line) {
                if let Some(message) = complaint(tree, &file.path, target) {
                    findings.push(Finding::at_line(&file.path, index, message));
                }
            }
        }
    }
    findings
}

/// What the links of a line lead to: `[text](target)` and `[name]: target`.
fn targets(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    // Every other piece between backticks is code.
    for prose in line.split('`').step_by(2) {
        for (start, opening) in prose.match_indices("](") {
            let rest = &prose[start + opening.len()..];
            targets.extend(rest.split([')', ' ']).next());
        }
    }
    if line.starts_with('[') {
        let definition = line.split_once("]: ").and_then(|(_, rest)| rest.split(' ').next());
        targets.extend(definition);
    }
    targets
}

fn complaint(tree: &Tree, document: &str, target: &str) -> Option<String> {
    let elsewhere = target.contains("://") || target.starts_with("mailto:");
    let file = target.split('#').next().unwrap_or(target);
    if elsewhere || file.is_empty() {
        return None;
    }
    let Some(path) = resolve(document, file) else {
        return Some(format!("the link to {target} leads out of the repository"));
    };
    if tree.holds(&path) {
        return None;
    }
    Some(format!("the link to {target} leads nowhere; there is no {path}"))
}

/// The path from the root, or None if it leaves the root.
fn resolve(document: &str, target: &str) -> Option<String> {
    if target.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::super::findings_in;
    use super::*;

    fn complaints(document: &str) -> Vec<String> {
        let files = [("README.md", ""), ("docs/runbook.md", document), ("docs/x.svg", "")];
        findings_in(&files, check)
    }

    #[test]
    fn a_link_to_a_file_that_does_not_exist_is_found() {
        assert_eq!(
            complaints("# Runbook\nsee [a](../README.md#tour) and [b](missing.md)\n"),
            [
                "docs/runbook.md:2: the link to missing.md leads nowhere; there is no docs/missing.md"
            ]
        );
        assert_eq!(complaints("[plan]: ../PLAN.md\n").len(), 1);
    }

    #[test]
    fn a_link_out_of_the_repository_is_found() {
        for target in ["../../other/x.md", "/etc/passwd"] {
            let findings = complaints(&format!("[x]({target})\n"));
            assert_eq!(findings.len(), 1, "{target}");
            assert!(findings[0].contains("leads out of the repository"));
        }
    }

    #[test]
    fn code_anchors_and_addresses_are_left_alone() {
        let document = "[a](https://example.org/x) [b](#here) ![p](x.svg) `[c](no.md)`\n\
                        ```\n[d](no.md)\n```\n[folder](../docs)\n";
        assert_eq!(complaints(document), [""; 0]);
    }
}
