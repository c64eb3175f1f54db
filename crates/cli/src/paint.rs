//! Colours and lists, for terminals. What is piped has no colours.

use std::fmt;
use std::io::IsTerminal as _;
use std::sync::LazyLock;

static COLOURED: LazyLock<bool> =
    LazyLock::new(|| std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none());

/// A text with a colour that only terminals show.
#[derive(Debug, Clone)]
pub(crate) struct Paint {
    text: String,
    colour: Option<u8>,
}

impl Paint {
    /// The state of a job or the status of a worker.
    pub(crate) fn state(word: &str) -> Paint {
        let colour = match word {
            "completed" | "idle" => Some(32),
            "running" | "offered" | "busy" => Some(36),
            "failed" | "dead_lettered" | "unreachable" => Some(31),
            "cancelled" | "skipped" | "draining" | "overloaded" | "silent" | "left" => Some(33),
            _ => None,
        };
        Paint { text: word.to_owned(), colour }
    }

    fn width(&self) -> usize {
        self.text.chars().count()
    }
}

impl From<&str> for Paint {
    fn from(text: &str) -> Paint {
        Paint { text: text.to_owned(), colour: None }
    }
}

impl From<String> for Paint {
    fn from(text: String) -> Paint {
        Paint { text, colour: None }
    }
}

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.colour.filter(|_| *COLOURED) {
            Some(colour) => write!(f, "\x1b[{colour}m{}\x1b[0m", self.text),
            None => f.write_str(&self.text),
        }
    }
}

/// Rows under headings, all to the left.
#[derive(Debug)]
pub(crate) struct Listing {
    rows: Vec<Vec<Paint>>,
}

impl Listing {
    pub(crate) fn new(headings: &[&str]) -> Listing {
        Listing { rows: vec![headings.iter().map(|&text| text.into()).collect()] }
    }

    pub(crate) fn row(&mut self, cells: Vec<Paint>) {
        self.rows.push(cells);
    }

    pub(crate) fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column| {
            self.rows.iter().filter_map(|row| row.get(column)).map(Paint::width).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (cell, width) in row.iter().zip(&widths) {
                line.push_str(&cell.to_string());
                line.extend(std::iter::repeat_n(' ', width - cell.width() + 2));
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_sees_aligned_columns_without_colours() {
        let mut listing = Listing::new(&["id", "state"]);
        listing.row(vec!["long-id".into(), Paint::state("completed")]);
        assert_eq!(listing.render(), "id       state\nlong-id  completed\n");
    }
}
