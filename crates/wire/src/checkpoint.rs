//! Checkpoints, as the schema has them.

use bellwether_core::model::{Checkpoint, Epoch, Seq, Timestamp};
use bytes::Bytes;

use crate::handoff::signature_from_wire;
use crate::key::{key_from_wire, key_to_wire};
use crate::malformed::{Malformed, hash, name};
use crate::v1;

pub fn checkpoint_to_wire(checkpoint: &Checkpoint) -> v1::Checkpoint {
    v1::Checkpoint {
        scheduler: checkpoint.scheduler.to_string(),
        position: checkpoint.position.0,
        chain: Bytes::copy_from_slice(&checkpoint.chain),
        epoch: checkpoint.epoch.0,
        at: checkpoint.at.0,
        key: key_to_wire(checkpoint.key),
        signature: Bytes::copy_from_slice(&checkpoint.signature.0),
    }
}

pub fn checkpoint_from_wire(wire: &v1::Checkpoint) -> Result<Checkpoint, Malformed> {
    Ok(Checkpoint {
        scheduler: name("scheduler", &wire.scheduler)?,
        position: Seq(wire.position),
        chain: hash("chain", &wire.chain)?,
        epoch: Epoch(wire.epoch),
        at: Timestamp(wire.at),
        key: key_from_wire("key", &wire.key)?,
        signature: signature_from_wire("signature", &wire.signature)?,
    })
}
