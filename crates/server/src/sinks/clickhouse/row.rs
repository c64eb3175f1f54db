//! Rows as they are sent, in ClickHouse's binary format. They are written when they are made: there
//! may be a hundred thousand a second, and to pass names on to the thread that sends them costs more
//! than to copy their bytes.

use bellwether_core::model::Seq;
use bellwether_wire::json::hex;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Table {
    Decisions,
    Executions,
}

impl Table {
    /// The statement that takes rows, with the columns in the order in which they are written.
    pub(super) fn insert(self) -> &'static str {
        match self {
            Table::Decisions => {
                "INSERT INTO decisions (stream, position, at, at_us, job, job_id, type, run_id, \
                 attempt, worker, hedge, strategy, fallback, reason, score, predicted_wait_us, \
                 predicted_us, confidence_percent, load_model, queued_us, losers, loser_scores, \
                 shadow_worker) FORMAT RowBinary"
            }
            Table::Executions => {
                "INSERT INTO executions (stream, position, at, token, job, job_id, type, run_id, \
                 sender, attempt, worker, worker_class, hedge, outcome, cause, error, \
                 submitted_us, offered_us, started_us, ended_us, duration_us, predicted_us, \
                 input_bytes, cpu, result_hash, trace_id) FORMAT RowBinary"
            }
        }
    }
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(super) table: Table,
    /// In the journal.
    pub(super) position: Seq,
    pub(super) bytes: Box<[u8]>,
}

/// A row that is being written, value by value.
#[derive(Debug, Default)]
pub(super) struct Values {
    bytes: Vec<u8>,
}

impl Values {
    pub(super) fn u64(&mut self, value: u64) -> &mut Values {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn i64(&mut self, value: i64) -> &mut Values {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u32(&mut self, value: u32) -> &mut Values {
        self.raw(&value.to_le_bytes())
    }

    pub(super) fn u8(&mut self, value: u8) -> &mut Values {
        self.raw(&[value])
    }

    pub(super) fn bool(&mut self, value: bool) -> &mut Values {
        self.u8(value.into())
    }

    pub(super) fn text(&mut self, value: &str) -> &mut Values {
        self.length(value.len()).raw(value.as_bytes())
    }

    /// A name or an id; empty where there is none.
    pub(super) fn name(&mut self, value: Option<&impl AsRef<str>>) -> &mut Values {
        self.text(value.map_or("", AsRef::as_ref))
    }

    /// In hexadecimal digits.
    pub(super) fn hex(&mut self, value: &[u8]) -> &mut Values {
        self.text(&hex(value))
    }

    pub(super) fn list<T>(
        &mut self,
        values: impl Iterator<Item = T> + Clone,
        write: impl Fn(&mut Values, T) -> &mut Values,
    ) -> &mut Values {
        let all = self.length(values.clone().count());
        values.fold(all, write)
    }

    /// The row, and an empty one to write next.
    pub(super) fn finish(&mut self, table: Table, position: Seq) -> Row {
        let bytes = self.bytes.as_slice().into();
        self.bytes.clear();
        Row { table, position, bytes }
    }

    /// Seven bits a byte, the lowest first.
    fn length(&mut self, mut length: usize) -> &mut Values {
        while length >= 0x80 {
            self.bytes.push((length & 0x7f) as u8 | 0x80);
            length >>= 7;
        }
        self.raw(&[length as u8])
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Values {
        self.bytes.extend_from_slice(bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_and_lists_begin_with_their_length() {
        let mut values = Values::default();
        let text = "x".repeat(300);
        values.text(&text).hex(&[0x0f, 0xa0]).list([7, 8].into_iter(), Values::u64);
        let row = values.finish(Table::Decisions, Seq(1));
        let mut expected = vec![0xac, 0x02];
        expected.extend_from_slice(text.as_bytes());
        expected.extend_from_slice(b"\x040fa0\x02");
        expected.extend_from_slice(&[7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(*row.bytes, *expected);
        assert!(values.finish(Table::Decisions, Seq(2)).bytes.is_empty());
    }
}
