//! Signatures as Standard Webhooks has them: HMAC-SHA256 over the id, the time and the body.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::config::Secret;

/// A secret with this start is base64 of the key.
const ENCODED: &str = "whsec_";

/// The value of `webhook-signature`.
pub(super) fn sign(secret: &Secret, id: &str, timestamp: u64, body: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(&key(secret)).expect("a key of any length will do");
    mac.update(format!("{id}.{timestamp}.").as_bytes());
    mac.update(body);
    format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
}

fn key(secret: &Secret) -> Vec<u8> {
    let text = secret.reveal();
    let decoded = text.strip_prefix(ENCODED).and_then(|text| STANDARD.decode(text).ok());
    decoded.unwrap_or_else(|| text.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the reference of Standard Webhooks.
    #[test]
    fn it_signs_as_the_standard_does() {
        let secret = Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
        let body = br#"{"test": 2432232314}"#;
        let signature = sign(&secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body);
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
