//! How far rows were sent, so that a start after a crash can send the rest again.

use std::path::{Path, PathBuf};

use bellwether_core::model::{Name, Seq};

use crate::event_loop::clock;

const FILE: &str = "clickhouse.position";

/// A file of one line: the stream's name and a position. It is not synced: a lost line means rows
/// that are sent again, which changes nothing.
#[derive(Debug)]
pub(super) struct Cursor {
    file: PathBuf,
    /// Names this journal among all that ever write to the same database, positions of which would
    /// be mistaken for each other.
    pub(super) stream: Name,
    pub(super) sent: Seq,
}

impl Cursor {
    /// A position beyond the journal's head is of a journal that was rolled back or replaced, so a
    /// new stream begins.
    pub(super) fn load(data_dir: &Path, shared: Option<Name>, head: Seq) -> Cursor {
        let file = data_dir.join(FILE);
        if let Some(stream) = shared {
            // Rows of all schedulers are the same; this one begins where it is.
            return Cursor { file, stream, sent: head };
        }
        let known = std::fs::read_to_string(&file).ok().and_then(|line| parse(&line));
        match known.filter(|(_, sent)| *sent <= head) {
            Some((stream, sent)) => Cursor { file, stream, sent },
            None => {
                let stream = format!("{:x}-{:x}", clock::wall().0, std::process::id());
                Cursor { file, stream: Name::fixed(&stream), sent: Seq(0) }
            }
        }
    }

    pub(super) fn save(&mut self, sent: Seq) {
        self.sent = sent;
        let line = format!("{} {sent}\n", self.stream);
        let beside = self.file.with_extension("position.new");
        let saved =
            std::fs::write(&beside, line).and_then(|()| std::fs::rename(&beside, &self.file));
        if let Err(error) = saved {
            tracing::debug!(%error, "where ClickHouse stands was not saved; rows may be sent twice");
        }
    }
}

fn parse(line: &str) -> Option<(Name, Seq)> {
    let (stream, sent) = line.trim_end().split_once(' ')?;
    Some((Name::new(stream).ok()?, Seq(sent.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_was_rolled_back_begins_a_new_stream() {
        let folder = tempfile::tempdir().unwrap();
        let mut cursor = Cursor::load(folder.path(), None, Seq(0));
        cursor.save(Seq(10));
        let again = Cursor::load(folder.path(), None, Seq(12));
        assert_eq!((again.stream, again.sent), (cursor.stream.clone(), Seq(10)));
        let rolled_back = Cursor::load(folder.path(), None, Seq(9));
        assert_eq!(rolled_back.sent, Seq(0));
        assert_ne!(rolled_back.stream, cursor.stream);
    }
}
