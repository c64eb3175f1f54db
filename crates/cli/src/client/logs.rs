//! `bellwether logs JOB`: what a job has printed, and what it prints.

use std::collections::VecDeque;
use std::io::{self, Write as _};

use bellwether_sdk::v1;
use bellwether_sdk::v1::LogStream;
use bellwether_wire::json::unit::{Moment, moment};
use clap::Args;
use serde::Serialize;

use super::{Connect, block_on};
use crate::exit::Verdict;
use crate::output;

/// Print what a job has printed: standard output, standard error and log lines of all its attempts.
///
/// Standard output and log lines go to standard output, standard error to standard error. Of much
/// output the beginning and the end are kept; what was cut is told on standard error.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    connect: Connect,
    /// Id of the job
    id: String,
    /// Go on until the job has ended
    #[arg(long)]
    follow: bool,
    /// Only what this attempt has printed, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    attempt: Option<u32>,
    /// Begin with the last N lines
    #[arg(long, value_name = "N")]
    tail: Option<usize>,
    /// Print JSON, one piece of output a line
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Verdict> {
    block_on(watch(arguments))
}

async fn watch(arguments: Arguments) -> anyhow::Result<Verdict> {
    let client = arguments.connect.client().await?;
    let mut output = client.logs(v1::WatchLogsRequest {
        id: arguments.id,
        attempt: arguments.attempt.unwrap_or(0),
        follow: arguments.follow,
        after: 0,
    });
    let mut gathered = arguments.tail.map(|_| VecDeque::new());
    let mut printer = Printer { json: arguments.json, ..Printer::default() };
    while let Some(response) = output.next().await? {
        match &mut gathered {
            Some(pieces) => pieces.extend(response.pieces),
            None => printer.print(response.pieces)?,
        }
        if response.caught_up
            && let (Some(pieces), Some(lines)) = (gathered.take(), arguments.tail)
        {
            printer.print(last_lines(pieces, lines))?;
        }
    }
    Ok(Verdict::Fine)
}

/// The last so many lines of all pieces together; one that is not finished counts, too.
fn last_lines(mut pieces: VecDeque<v1::LogPiece>, lines: usize) -> VecDeque<v1::LogPiece> {
    let mut kept = VecDeque::new();
    let mut wanted = lines;
    let mut at_end = true;
    while let Some(mut piece) = pieces.pop_back() {
        for index in (0..piece.data.len()).rev() {
            let breaks = piece.data[index] == b'\n';
            let last = std::mem::replace(&mut at_end, false);
            if breaks && !last {
                wanted = wanted.saturating_sub(1);
            }
            if wanted == 0 {
                let start = if lines == 0 { piece.data.len() } else { index + 1 };
                piece.data = piece.data.slice(start..);
                piece.position += start as u64;
                piece.cut = 0;
                if !piece.data.is_empty() {
                    kept.push_front(piece);
                }
                return kept;
            }
        }
        kept.push_front(piece);
    }
    kept
}

/// Where output goes.
#[derive(Debug, Default)]
pub(super) struct Printer {
    pub(super) json: bool,
    /// Whose output was printed last, once there was any.
    last: Option<(u32, String)>,
    /// Whether anything was printed.
    pub(super) printed: bool,
}

impl Printer {
    pub(super) fn print(
        &mut self,
        pieces: impl IntoIterator<Item = v1::LogPiece>,
    ) -> anyhow::Result<()> {
        for piece in pieces {
            self.printed = true;
            if self.json {
                output::print_json(&Line::of(piece))?;
            } else {
                self.piece(&piece)?;
            }
        }
        Ok(())
    }

    fn piece(&mut self, piece: &v1::LogPiece) -> io::Result<()> {
        let whose = (piece.attempt, piece.worker.clone());
        let changed = self.last.replace(whose.clone()).is_some_and(|last| last != whose);
        if changed {
            eprintln!("--- attempt {} on {}", piece.attempt, piece.worker);
        }
        if piece.cut > 0 {
            eprintln!("--- {} bytes of output were cut here", piece.cut);
        }
        match piece.stream() {
            LogStream::Stderr => {
                let mut stderr = io::stderr().lock();
                stderr.write_all(&piece.data)?;
                stderr.flush()
            }
            LogStream::Stdout | LogStream::Log | LogStream::Unspecified => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(&piece.data)?;
                stdout.flush()
            }
        }
    }
}

#[derive(Serialize)]
struct Line {
    attempt: u32,
    worker: String,
    stream: &'static str,
    position: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Moment>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<u64>,
    text: String,
}

impl Line {
    fn of(piece: v1::LogPiece) -> Line {
        Line {
            attempt: piece.attempt,
            stream: piece.stream().as_str(),
            position: piece.position,
            at: moment(piece.at),
            cut: (piece.cut > 0).then_some(piece.cut),
            text: String::from_utf8_lossy(&piece.data).into_owned(),
            worker: piece.worker,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(texts: &[&'static str], lines: usize) -> String {
        let piece =
            |text: &&'static str| v1::LogPiece { data: (*text).into(), ..Default::default() };
        let pieces = last_lines(texts.iter().map(piece).collect(), lines);
        pieces.iter().map(|piece| String::from_utf8_lossy(&piece.data).into_owned()).collect()
    }

    #[test]
    fn the_last_lines_are_found_across_pieces() {
        assert_eq!(tail(&["a\nb\n", "c\n", "d\n"], 2), "c\nd\n");
        assert_eq!(tail(&["a\nb", "c\nd"], 2), "bc\nd");
        assert_eq!(tail(&["a\n", "b\n"], 5), "a\nb\n");
        assert_eq!(tail(&["a\nb\n"], 1), "b\n");
        assert_eq!(tail(&["a\nb\n"], 0), "");
        assert_eq!(tail(&[], 3), "");
    }
}
