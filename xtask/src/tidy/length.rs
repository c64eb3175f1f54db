//! A source file is short enough to be read in one go.

use super::Finding;
use super::tree::Tree;

const LINES_MAX: usize = 600;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .map(|(file, text)| (file, text.lines().count()))
        .filter(|(_, lines)| *lines > LINES_MAX)
        .map(|(file, lines)| {
            let message =
                format!("has {lines} lines, more than {LINES_MAX} lines; split it by concept");
            Finding::in_file(&file.path, message)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::findings_in;
    use super::*;

    #[test]
    fn a_source_file_over_the_limit_is_found() {
        let fits = "//\n".repeat(LINES_MAX);
        let too_long = "//\n".repeat(LINES_MAX + 1);
        let files = [("a.rs", fits.as_str()), ("b.rs", &too_long), ("c.md", &too_long)];
        assert_eq!(
            findings_in(&files, check),
            ["b.rs: has 601 lines, more than 600 lines; split it by concept"]
        );
    }
}
