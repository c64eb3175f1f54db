use super::*;

const SCHEDULER: &str = "urn:uuid:8a6e0804-2bd0-4672-b79d-d97027f9071a";
const PAYLOAD: &[u8] = br#"{"image":"cat.png"}"#;

fn intent(from: &str, receiver: &str, previous: HandoffSignature) -> Intent<'static> {
    Intent {
        from: WorkerId::fixed(from),
        job: JobId::fixed("task-123"),
        receiver: Receiver::parse(receiver).unwrap(),
        payload: PAYLOAD,
        token: Token(42),
        epoch: Epoch(3),
        expires: Timestamp(1_800_000_000_000_000),
        previous,
    }
}

fn secret(number: u8) -> Secret {
    Secret::from_seed(&[number; 32])
}

fn on_the_wire(handoff: &Handoff) -> v1::HandOff {
    v1::HandOff {
        job_id: handoff.job.to_string(),
        receiver: handoff.receiver.to_string(),
        payload_hash: handoff.payload_hash.to_vec().into(),
        signature: signature_text(handoff),
    }
}

fn accepted(wire: &v1::HandOff) -> bool {
    let arrived = Arrived::read(wire);
    arrived.is_ok_and(|it| it.verified(WorkerId::fixed("a"), SCHEDULER, Epoch(3)).is_ok())
}

fn reader<'a>(job: &'a JobId, worker: &'a str) -> ChainReader<'a> {
    ChainReader { scheduler: SCHEDULER, job, payload: PAYLOAD, worker, roles: &[] }
}

#[test]
fn what_was_signed_arrives() {
    let handoff = sign(intent("a", "role:painter", HandoffSignature::NONE), SCHEDULER, &secret(1));
    let arrived = Arrived::read(&on_the_wire(&handoff)).unwrap();
    assert_eq!(arrived.verified(WorkerId::fixed("a"), SCHEDULER, Epoch(3)), Ok(handoff));
}

#[test]
fn a_change_anywhere_is_refused() {
    let handoff = sign(intent("a", "b", HandoffSignature::NONE), SCHEDULER, &secret(1));
    let honest = on_the_wire(&handoff);
    assert!(accepted(&honest));
    assert!(!accepted(&v1::HandOff { job_id: "task-124".to_owned(), ..honest.clone() }));
    assert!(!accepted(&v1::HandOff { receiver: "c".to_owned(), ..honest.clone() }));
    assert!(!accepted(&v1::HandOff { receiver: "role:b".to_owned(), ..honest.clone() }));
    let payload_hash = vec![0; 32].into();
    assert!(!accepted(&v1::HandOff { payload_hash, ..honest.clone() }));
    for at in 0..honest.signature.len() {
        let mut signature = honest.signature.clone().into_bytes();
        signature[at] = if signature[at] == b'B' { b'C' } else { b'B' };
        let signature = String::from_utf8(signature).unwrap();
        assert!(!accepted(&v1::HandOff { signature, ..honest.clone() }), "character {at}");
        let signature = honest.signature[..at].to_owned();
        assert!(!accepted(&v1::HandOff { signature, ..honest.clone() }), "cut at {at}");
    }
}

#[test]
fn another_scheduler_or_reign_refuses_it() {
    let handoff = sign(intent("a", "b", HandoffSignature::NONE), SCHEDULER, &secret(1));
    let arrived = Arrived::read(&on_the_wire(&handoff)).unwrap();
    let from = WorkerId::fixed("a");
    assert!(arrived.clone().verified(from.clone(), "urn:uuid:other", Epoch(3)).is_err());
    assert!(arrived.verified(from, SCHEDULER, Epoch(4)).is_err());
}

#[test]
fn a_chain_is_verified_by_whom_it_ends_with() {
    let job = JobId::fixed("task-123");
    let first = sign(intent("a", "b", HandoffSignature::NONE), SCHEDULER, &secret(1));
    let second = sign(intent("b", "c", first.signature), SCHEDULER, &secret(2));
    let chain = [first.clone(), second.clone()];
    assert_eq!(reader(&job, "c").verify(&chain), Ok(()));
    assert_eq!(reader(&job, "b").verify(&chain), Err(BrokenChain::Receiver("c".to_owned())));
    assert_eq!(reader(&job, "c").verify(&chain[1..]), Err(BrokenChain::Order(1)));
    let swapped = [second.clone(), first.clone()];
    assert_eq!(reader(&job, "c").verify(&swapped), Err(BrokenChain::Order(1)));
    let mut forged = second.clone();
    forged.signature = first.signature;
    assert_eq!(reader(&job, "c").verify(&[first.clone(), forged]), Err(BrokenChain::Signature(2)));
    let stolen = sign(intent("x", "c", first.signature), SCHEDULER, &secret(3));
    assert_eq!(reader(&job, "c").verify(&[first.clone(), stolen]), Err(BrokenChain::Holder(2)));
    let other = JobId::fixed("task-124");
    assert_eq!(reader(&other, "c").verify(&chain), Err(BrokenChain::Job(1)));
}

#[cfg(feature = "json")]
/// Every field of a case, so that another implementation can find where it differs.
fn vector(name: &str, handoff: &Handoff, number: u8) -> serde_json::Value {
    serde_json::json!({
        "name": name,
        "seed": crate::json::hex(&secret(number).seed()),
        "public_key": handoff.key.to_string(),
        "scheduler": SCHEDULER,
        "job_id": handoff.job.as_str(),
        "receiver": handoff.receiver.to_string(),
        "payload": String::from_utf8_lossy(PAYLOAD),
        "payload_hash": crate::json::hex(&handoff.payload_hash),
        "token": handoff.token.0,
        "epoch": handoff.epoch.0,
        "expires": handoff.expires.0,
        "previous": crate::json::hex(&handoff.previous.0),
        "statement": crate::json::hex(&statement(handoff, SCHEDULER)),
        "signature": signature_text(handoff),
    })
}

#[test]
#[cfg(feature = "json")]
fn the_published_vectors_are_what_is_signed() {
    let first = sign(intent("a", "agentB", HandoffSignature::NONE), SCHEDULER, &secret(1));
    let second = sign(intent("b", "role:painter", first.signature), SCHEDULER, &secret(2));
    let vectors = serde_json::json!({
        "handoffs": [vector("the first of a job", &first, 1), vector("the next", &second, 2)],
    });
    let text = format!("{}\n", serde_json::to_string_pretty(&vectors).unwrap());
    expect_test::expect_file!["../../../../../docs/handoff-vectors.json"].assert_eq(&text);
}
