//! Checkpoints as they are kept outside: one JSON object a line, which events carry, too.

use bellwether_core::model::Checkpoint;
use serde::Deserialize;
use serde_json::{Value, json};

use super::handoff::bytes_from_hex;
use super::hex;
use crate::checkpoint::checkpoint_from_wire;
use crate::malformed::Malformed;
use crate::v1;

/// What events of this kind are called.
const EVENT: &str = "bellwether.checkpoint_signed";

#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    #[error("this is no JSON: {}", super::fault(.0))]
    Json(serde_json::Error),
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

pub fn checkpoint_to_json(checkpoint: &Checkpoint) -> Value {
    json!({
        "scheduler": checkpoint.scheduler.as_str(),
        "position": checkpoint.position.0,
        "chain": hex(&checkpoint.chain),
        "epoch": checkpoint.epoch.0,
        // In microseconds, because that is what is signed.
        "at": checkpoint.at.0,
        "key": checkpoint.key.to_string(),
        "signature": hex(&checkpoint.signature.0),
    })
}

#[derive(Deserialize)]
struct Form {
    scheduler: String,
    position: u64,
    chain: String,
    epoch: u64,
    at: u64,
    key: String,
    signature: String,
}

/// Those of one line: a checkpoint, an event that carries one, or a list of events as queues have
/// them. Other events are passed over.
pub fn checkpoints_from_json(line: &str) -> Result<Vec<Checkpoint>, CheckpointError> {
    let value: Value = serde_json::from_str(line).map_err(CheckpointError::Json)?;
    let values = match value {
        Value::Array(values) => values,
        one => vec![one],
    };
    let forms = values.into_iter().filter_map(|mut value| {
        let is_event = value.get("specversion").is_some();
        let carries = value.get("type").is_some_and(|kind| kind == EVENT);
        match (is_event, carries) {
            (false, _) => Some(value),
            (true, true) => Some(value["data"].take()),
            (true, false) => None,
        }
    });
    forms.map(read).collect()
}

fn read(value: Value) -> Result<Checkpoint, CheckpointError> {
    let form: Form = serde_json::from_value(value).map_err(CheckpointError::Json)?;
    let digits = |field, text: &str| {
        bytes_from_hex(text)
            .ok_or_else(|| Malformed::not_allowed(field, text, "it must be hexadecimal digits"))
    };
    let wire = v1::Checkpoint {
        chain: digits("chain", &form.chain)?.into(),
        key: digits("key", &form.key)?.into(),
        signature: digits("signature", &form.signature)?.into(),
        scheduler: form.scheduler,
        position: form.position,
        epoch: form.epoch,
        at: form.at,
    };
    Ok(checkpoint_from_wire(&wire)?)
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{Epoch, Name, Seq, Timestamp};

    use super::*;
    use crate::signing::checkpoint::{Draft, sign, verify_checkpoint};
    use crate::signing::{BadSignature, Secret};

    fn checkpoint() -> Checkpoint {
        let draft = Draft {
            scheduler: Name::fixed("urn:uuid:ours"),
            position: Seq(42),
            chain: [7; 32],
            epoch: Epoch(3),
            at: Timestamp(1_800_000_000_000_000),
        };
        sign(draft, &Secret::from_seed(&[1; 32]))
    }

    #[test]
    fn what_is_written_is_read_alone_and_in_events() {
        let (own, form) = (checkpoint(), checkpoint_to_json(&checkpoint()));
        assert_eq!(checkpoints_from_json(&form.to_string()).unwrap(), std::slice::from_ref(&own));
        let event = json!({"specversion": "1.0", "type": EVENT, "data": form});
        let other = json!({"specversion": "1.0", "type": "bellwether.job_started", "data": {}});
        let batch = json!([other, event]).to_string();
        assert_eq!(checkpoints_from_json(&batch).unwrap(), [own]);
        assert!(checkpoints_from_json("{}").is_err());
    }

    #[test]
    fn a_change_anywhere_is_noticed() {
        let honest = checkpoint();
        assert_eq!(verify_checkpoint(&honest), Ok(()));
        let changed = [
            Checkpoint { scheduler: Name::fixed("urn:uuid:other"), ..honest.clone() },
            Checkpoint { position: Seq(43), ..honest.clone() },
            Checkpoint { chain: [8; 32], ..honest.clone() },
            Checkpoint { epoch: Epoch(4), ..honest.clone() },
            Checkpoint { at: Timestamp(1), ..honest.clone() },
            Checkpoint { key: Secret::from_seed(&[2; 32]).public(), ..honest.clone() },
        ];
        for forged in changed {
            assert_eq!(verify_checkpoint(&forged), Err(BadSignature), "{forged:?}");
        }
    }
}
