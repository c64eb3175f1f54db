//! Whether a journal is the one that the scheduler has signed: a chain that was computed anew holds in
//! itself, and does not lead to the checkpoints that somebody has kept.

use std::collections::BTreeMap;
use std::path::Path;

use bellwether_core::model::{Checkpoint, Seq, WorkerKey};
use bellwether_journal::{Head, Reader};
use bellwether_wire::signing::checkpoint::verify_checkpoint;
use serde::Serialize;

use crate::checkpoints;

/// What was compared.
#[derive(Debug, Default, Serialize)]
pub(super) struct Bound {
    /// Checkpoints that the journal leads to.
    pub(super) held: u64,
    /// Those of positions that are no longer kept.
    pub(super) before: u64,
    /// What does not fit, the first few.
    pub(super) findings: Vec<String>,
    /// The key that has signed them all.
    pub(super) key: String,
}

/// `key` is the scheduler's, if it is known; else all must be of one key.
pub(super) fn compare(
    reader: &dyn Reader,
    file: &Path,
    key: Option<WorkerKey>,
) -> anyhow::Result<Bound> {
    let mut bound = Bound::default();
    let checkpoints = checkpoints::load(file)?;
    anyhow::ensure!(!checkpoints.is_empty(), "there are no checkpoints in {}", file.display());
    let key = key.unwrap_or(checkpoints[0].key);
    bound.key = key.to_string();
    let mut open = BTreeMap::new();
    for checkpoint in checkpoints {
        let position = checkpoint.position;
        if checkpoint.key != key || verify_checkpoint(&checkpoint).is_err() {
            bound.find(format!("the checkpoint of position {position} is not signed by {key}"));
        } else if let Some(other) = open.insert(position, checkpoint.clone())
            && other.chain != checkpoint.chain
        {
            bound.find(format!("two checkpoints of position {position} differ"));
        }
    }
    let base = reader.base()?;
    let mut last = base;
    bound.reach(&mut open, base);
    for record in reader.read(base.seq.next())? {
        last = record?.head();
        bound.reach(&mut open, last);
    }
    for position in open.into_keys() {
        if position < base.seq {
            bound.before += 1;
        } else {
            bound.find(match position > last.seq {
                true => format!(
                    "the journal ends at position {}, and the scheduler has signed {position}: \
                     its end was cut off",
                    last.seq
                ),
                false => format!(
                    "no record ends at position {position}, where the scheduler signed one: the \
                     past was rewritten at or before it"
                ),
            });
        }
    }
    Ok(bound)
}

impl Bound {
    fn find(&mut self, finding: String) {
        if self.findings.len() < super::TOLD_MAX {
            self.findings.push(finding);
        }
    }

    /// A record ends here.
    fn reach(&mut self, open: &mut BTreeMap<Seq, Checkpoint>, head: Head) {
        let Some(checkpoint) = open.remove(&head.seq) else { return };
        if checkpoint.chain == head.chain.0 {
            self.held += 1;
            return;
        }
        self.find(format!(
            "the chain at position {} is not the one that the scheduler signed: the past was \
             rewritten at or before it",
            head.seq
        ));
    }
}
