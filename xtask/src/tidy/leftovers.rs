//! Nothing half done is committed, and no lint is silenced without its reason.

use super::Finding;
use super::tree::Tree;

struct Leftover {
    /// In pieces here, so that this file does not find itself.
    text: &'static str,
    only_rust: bool,
    way_out: &'static str,
}

const LEFTOVERS: [Leftover; 6] = [
    Leftover { text: concat!("TO", "DO"), only_rust: false, way_out: "do it or open an issue" },
    Leftover { text: concat!("FIX", "ME"), only_rust: false, way_out: "fix it or open an issue" },
    Leftover { text: concat!("to", "do!"), only_rust: true, way_out: "write it" },
    Leftover { text: concat!("db", "g!"), only_rust: true, way_out: "remove it" },
    Leftover {
        text: concat!("#[al", "low("),
        only_rust: true,
        way_out: "use #[expect(.., reason = \"..\")]",
    },
    Leftover {
        text: concat!("#![al", "low("),
        only_rust: true,
        way_out: "use #![expect(.., reason = \"..\")]",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, text) in tree.written() {
        let rust = file.extension() == Some("rs");
        for (index, line) in text.lines().enumerate() {
            for leftover in &LEFTOVERS {
                if (rust || !leftover.only_rust) && has_word(line, leftover.text) {
                    let message = format!("leftover {}; {}", leftover.text, leftover.way_out);
                    findings.push(Finding::at_line(&file.path, index, message));
                }
            }
        }
    }
    findings
}

/// Whether `word` stands in `line` and is not merely a part of a longer word.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let joined = |character: char| character.is_alphanumeric() || character == '_';
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        let part_of_longer =
            before.is_some_and(joined) || (word.ends_with(joined) && after.is_some_and(joined));
        !part_of_longer
    })
}

#[cfg(test)]
mod tests {
    use super::super::findings_in;
    use super::*;

    #[test]
    fn each_leftover_is_found_where_it_stands() {
        for leftover in &LEFTOVERS {
            let bad = format!("fn f() {{}}\n  {}x)\n", leftover.text.to_owned() + " ");
            let findings = findings_in(&[("a.rs", &bad)], check);
            assert_eq!(findings.len(), 1, "{}: {findings:?}", leftover.text);
            assert!(findings[0].starts_with("a.rs:2: leftover"), "{findings:?}");
        }
    }

    #[test]
    fn markers_count_in_every_written_file_and_macros_only_in_rust() {
        let marker = concat!("# TO", "DO later\n");
        let mention = concat!("never commit db", "g!()\n");
        let files = [("a.yaml", marker), ("b.md", mention), ("c.bin", marker)];
        let findings = findings_in(&files, check);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].starts_with("a.yaml:1:"));
    }

    #[test]
    fn a_part_of_a_word_is_no_leftover() {
        let names = concat!("let MASTO", "DON = mydb", "g!(1);\n");
        assert_eq!(findings_in(&[("a.rs", names)], check), [""; 0]);
    }
}
