//! A handoff as agents send it, over REST and queues.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::hex;
use crate::malformed::Malformed;
use crate::v1;

/// What `type` says.
pub const TYPE: &str = "job_handoff";

/// One worker gives the job that it holds to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoffForm {
    /// job_handoff
    pub r#type: String,
    pub job_id: String,
    /// The id of a worker, or `role:` and a role.
    pub receiver: String,
    /// SHA-256 of the payload, 64 hexadecimal digits.
    pub payload_hash: String,
    /// `KLP-sig:` and what docs/handoff.md describes.
    pub signature: String,
}

pub fn to_wire(form: HandoffForm) -> Result<v1::HandOff, Malformed> {
    let HandoffForm { r#type, job_id, receiver, payload_hash, signature } = form;
    if r#type != TYPE {
        return Err(Malformed::not_allowed("type", r#type, "it must be job_handoff"));
    }
    let payload_hash = bytes_from_hex(&payload_hash).ok_or_else(|| {
        let length = format!("{} bytes long", payload_hash.len());
        Malformed::not_allowed("payload_hash", length, "it must be 64 hexadecimal digits")
    })?;
    Ok(v1::HandOff { job_id, receiver, payload_hash: payload_hash.into(), signature })
}

pub fn from_wire(wire: v1::HandOff) -> HandoffForm {
    HandoffForm {
        r#type: TYPE.to_owned(),
        job_id: wire.job_id,
        receiver: wire.receiver,
        payload_hash: hex(&wire.payload_hash),
        signature: wire.signature,
    }
}

/// None if it is no hexadecimal.
pub fn bytes_from_hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let pair = |two: &[u8]| match two {
        [high, low] => Some(value(*high)? << 4 | value(*low)?),
        _ => None,
    };
    digits.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_and_writes_the_form_of_the_protocol() {
        let text = r#"{"type":"job_handoff","job_id":"task-123","receiver":"agentB","payload_hash":"00ff","signature":"KLP-sig:x"}"#;
        let form: HandoffForm = serde_json::from_str(text).unwrap();
        let wire = to_wire(form.clone()).unwrap();
        assert_eq!(wire.payload_hash.as_ref(), [0, 255]);
        assert_eq!(serde_json::to_string(&from_wire(wire)).unwrap(), text);
        assert!(to_wire(HandoffForm { payload_hash: "0".to_owned(), ..form.clone() }).is_err());
        assert!(to_wire(HandoffForm { r#type: "job".to_owned(), ..form }).is_err());
    }
}
