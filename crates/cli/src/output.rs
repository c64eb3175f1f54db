//! What goes to standard output: a table to read, or JSON.

use std::io::{self, Write};

use serde::Serialize;

/// Columns under their headings: the first to the left, the others to the right.
#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(headings: &[&str]) -> Table {
        Table { rows: vec![headings.iter().map(|&text| text.to_owned()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|column| {
                let cells = self.rows.iter().filter_map(|row| row.get(column));
                cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for row in &self.rows {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .enumerate()
                .map(|(column, (cell, &width))| match column {
                    0 => format!("{cell:<width$}"),
                    _ => format!("{cell:>width$}"),
                })
                .collect();
            text.push_str(cells.join("  ").trim_end());
            text.push('\n');
        }
        text
    }
}

pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    // The kind stays: whoever closes a pipe has seen enough.
    written.map_err(|error| {
        io::Error::new(error.kind(), format!("failed to write to standard output: {error}"))
    })
}

pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    print(&text)?;
    Ok(())
}

/// Four digits that matter: enough to compare, few enough to read.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1_000.0 || size == 0.0 => format!("{value:.0}"),
        size if size >= 100.0 => format!("{value:.1}"),
        size if size >= 10.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_to_the_right_and_names_to_the_left() {
        let mut table = Table::new(&["name", "jobs"]);
        table.row(vec!["a".to_owned(), number(12_345.6)]);
        table.row(vec!["long name".to_owned(), number(0.5)]);
        assert_eq!(table.render(), "name        jobs\na          12346\nlong name  0.500\n");
    }
}
