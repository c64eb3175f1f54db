use serde_json::{Value, json};

use super::*;

const SCHEDULER: &str = "urn:uuid:8a6e0804-2bd0-4672-b79d-d97027f9071a";
const BODY: &str =
    r#"{"type":"complete","worker":"agentA","job":17,"token":42,"result":{"stored":"a.png"}}"#;

fn place(number: u64) -> Place<'static> {
    Place { scheduler: SCHEDULER, session: &[7; 32], number }
}

fn sealed(body: &str, number: u64) -> Value {
    let envelope = seal(body, place(number), &Secret::from_seed(&[1; 32])).unwrap();
    serde_json::from_slice(&envelope).unwrap()
}

/// Whether somebody who trusts the key in the envelope takes it.
fn accepted(envelope: &Value) -> bool {
    match reply_from_json(envelope.to_string().as_bytes()) {
        Ok(Reply::Said(said, Some(seal))) => seal.verify(&said, SCHEDULER).is_ok(),
        _ => false,
    }
}

#[test]
fn what_was_sealed_is_opened() {
    let envelope = sealed(BODY, 3);
    let Ok(Reply::Said(said, Some(seal))) = reply_from_json(envelope.to_string().as_bytes()) else {
        panic!("{envelope}");
    };
    assert_eq!(seal.verify(&said, SCHEDULER), Ok(()));
    assert_eq!((said.kind, said.worker.as_str(), seal.number), ("complete", "agentA", 3));
    assert_eq!(seal.key, Secret::from_seed(&[1; 32]).public());
    assert_eq!(seal.verify(&said, "urn:uuid:other"), Err(BadSignature));
}

#[test]
fn a_change_anywhere_is_refused() {
    let honest = sealed(BODY, 3);
    assert!(accepted(&honest));
    let changed = |field: &str, value: Value| {
        let mut envelope = honest.clone();
        envelope[field] = value;
        envelope
    };
    for (from, to) in [
        ("agentA", "agentB"),
        ("17", "18"),
        ("42", "43"),
        ("a.png", "b.png"),
        ("\"complete\"", "\"claim\""),
        (",", ", "),
    ] {
        assert!(!accepted(&changed("signed", json!(BODY.replacen(from, to, 1)))), "{from}");
    }
    assert!(!accepted(&changed("number", json!(4))));
    assert!(!accepted(&changed("session", json!("08".repeat(32)))));
    assert!(!accepted(&changed("key", json!(Secret::from_seed(&[2; 32]).public().to_string()))));
    assert!(!accepted(&changed("more", json!(1))));
    let signature = honest["signature"].as_str().unwrap();
    for at in 0..signature.len() {
        let mut forged = signature.to_owned();
        forged.replace_range(at..=at, if &signature[at..=at] == "0" { "1" } else { "0" });
        assert!(!accepted(&changed("signature", json!(forged))), "digit {at}");
        assert!(!accepted(&changed("signature", json!(signature[..at]))), "cut at {at}");
    }
}

#[test]
fn a_handoff_is_its_own_envelope() {
    let form = json!({
        "type": "job_handoff", "job_id": "a", "receiver": "b", "payload_hash": "00".repeat(32),
        "signature": "KLP-sig:x",
    });
    let reply = reply_from_json(form.to_string().as_bytes()).unwrap();
    assert!(matches!(reply, Reply::HandOff(handoff) if handoff.receiver == "b"));
}

/// Every field of a case, so that another implementation can find where it differs.
fn vector(name: &str, body: &str, number: u64) -> Value {
    let said = worker_message_from_json(body.as_bytes()).unwrap();
    let hash = payload_hash(body.as_bytes());
    let statement = letter(&said, SCHEDULER, &[7; 32], number, hash).statement();
    let v1::Attempt { job, token } = said.attempt();
    json!({
        "name": name,
        "seed": hex(&[1; 32]),
        "scheduler": SCHEDULER,
        "worker": said.worker,
        "kind": said.kind,
        "job": job,
        "token": token,
        "body_hash": hex(&hash),
        "statement": hex(&statement),
        "envelope": sealed(body, number),
    })
}

#[test]
fn the_published_vectors_are_what_is_signed() {
    let heartbeat = r#"{"type":"heartbeat","worker":"agentA","load":0.5}"#;
    let vectors = json!({
        "reports": [
            vector("a result", BODY, 3),
            vector("about no attempt", heartbeat, 4),
        ],
    });
    let text = format!("{}\n", serde_json::to_string_pretty(&vectors).unwrap());
    expect_test::expect_file!["../../../../../docs/report-vectors.json"].assert_eq(&text);
}
