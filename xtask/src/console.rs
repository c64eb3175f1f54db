//! The one place that prints.

/// Reports go to standard output, so that their last lines are the last lines of a redirected run.
#[expect(clippy::print_stdout, reason = "the report is what this program is for")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

pub(crate) fn complain(line: &str) {
    eprintln!("{line}");
}

/// Columns under their headings: the first to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) {
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    for row in rows {
        let cells = row.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("{cell:<0$}", width(column)),
            _ => format!("  {cell:>0$}", width(column)),
        });
        say(cells.collect::<String>().trim_end());
    }
}
