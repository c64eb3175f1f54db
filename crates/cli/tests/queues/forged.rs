//! Who writes to a queue's replies speaks for nobody: a thousand reports that no worker has signed, or
//! that were signed for something else, change nothing. The honest ones all count.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use bellwether_bench::broker_server::Kind;
use bellwether_sdk::{Client, v1};
use bellwether_wire::json::reply::{Place, seal};
use bellwether_wire::signing::Secret;
use bellwether_wire::signing::handoff::{ChainReader, Intent, sign, signature_text};
use bellwether_wire::{
    Epoch, Handoff, HandoffSignature, JobId, Receiver, Timestamp, Token, WorkerId,
};
use serde_json::{Value, json};

use crate::hand::Hand;
use crate::listener::{DeadLetters, Listener};
use crate::site::{Site, eventually, message};
use crate::workers::start_python;

/// Of each kind of attack.
const ATTACKS: usize = 80;
const JOBS: usize = 20;
/// Nobody is given up while the attack lasts.
const PATIENT: &str = "unreachable_after: 600";

/// An attempt that the worker holds.
#[derive(Clone)]
struct Held {
    id: String,
    job: u64,
    token: u64,
}

impl Held {
    fn of(offer: &Value) -> Result<Held> {
        Ok(Held {
            id: offer["spec"]["id"].as_str().context("an id")?.to_owned(),
            job: offer["job"].as_u64().context("a job")?,
            token: offer["token"].as_u64().context("a token")?,
        })
    }

    fn with(&self, more: Value) -> Value {
        let mut fields = json!({"job": self.job, "token": self.token});
        if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
            fields.extend(more.clone());
        }
        fields
    }
}

#[tokio::test]
async fn of_a_thousand_forged_reports_none_counts_and_the_honest_ones_all_do() -> Result<()> {
    let site = Site::start_with(Kind::Sqlite, PATIENT).await?;
    let (broker, client) = (site.outside()?, site.client()?);
    let mut hand = Hand::new(&site, "agentA")?;
    hand.register(json!({"instance": 1, "slots": 64})).await?;
    let jobs =
        (0..JOBS).map(|n| message(format!("m{n}"), &json!({"id": format!("j{n}"), "type": "t"})));
    broker.publish(jobs.collect()).await?;
    let mut held = Vec::new();
    for _ in 0..JOBS {
        let attempt = Held::of(&hand.hear("offer").await?)?;
        hand.say("acknowledge", attempt.with(json!({}))).await?;
        // What is sent again below, word for word.
        hand.say("progress", attempt.with(json!({"progress": 0.5, "note": "honest"}))).await?;
        held.push(attempt);
    }
    let last = held.last().context("jobs are held")?.clone();
    hand.say("progress", last.with(json!({"progress": 0.5, "note": "honest", "id": "before"})))
        .await?;
    ensure!(hand.hear("confirmed").await?["id"] == "before");
    let before = seen(&client, &held).await?;

    let thief = Secret::from_seed(&[9; 32]);
    let mut sent: BTreeMap<&str, usize> = BTreeMap::new();
    for round in 0..ATTACKS {
        let (of, other) = (&held[round % JOBS], &held[(round + 1) % JOBS]);
        for (attack, body) in attacks(&hand, &thief, of, other, round)? {
            hand.send(body).await?;
            *sent.entry(attack).or_default() += 1;
        }
    }
    ensure!(sent.values().sum::<usize>() >= 1_000, "{sent:#?}");
    // A queue keeps the order: once this is confirmed, all of them were heard.
    hand.say("acknowledge", last.with(json!({"id": "after"}))).await?;
    ensure!(hand.hear("confirmed").await?["id"] == "after");
    ensure!(seen(&client, &held).await? == before, "an attack has changed something");
    for attempt in &held {
        let job = client.job(&attempt.id, 0).await?;
        ensure!(job.state() == v1::JobState::Running && job.0.attempts.len() == 1, "{job:?}");
        ensure!(job.0.progress_note == "honest", "{job:?}");
    }

    for attempt in &held {
        hand.say("complete", attempt.with(json!({"result": "good", "id": attempt.id}))).await?;
        ensure!(hand.hear("confirmed").await?["id"] == attempt.id.as_str());
    }
    for attempt in &held {
        let job = client.job(&attempt.id, 0).await?;
        ensure!(job.state() == v1::JobState::Completed && job.result() == "\"good\"", "{job:?}");
    }
    Ok(())
}

/// Where the last event of each job is, and who works.
async fn seen(client: &Client, held: &[Held]) -> Result<(Vec<u64>, Vec<(bool, i32)>)> {
    let workers = client.workers(false).await?;
    let workers = workers.iter().map(|worker| (worker.connected, worker.status)).collect();
    let mut positions = Vec::new();
    for attempt in held {
        positions.push(client.job(&attempt.id, 0).await?.0.position);
    }
    Ok((positions, workers))
}

/// One of each kind.
fn attacks(
    hand: &Hand,
    thief: &Secret,
    of: &Held,
    other: &Held,
    round: usize,
) -> Result<Vec<(&'static str, Vec<u8>)>> {
    let complete = hand.body("complete", of.with(json!({"result": "forged"})))?;
    let progress = hand.body("progress", of.with(json!({"progress": 0.9, "note": "forged"})))?;
    let at = |number| Place { scheduler: &hand.scheduler, session: &hand.session, number };
    let next = hand.number + 1 + round as u64;
    let honest: Value = serde_json::from_slice(&seal(&complete, at(next), &hand.secret)?)?;
    let changed = |field: &str, value: Value| {
        let mut envelope = honest.clone();
        envelope[field] = value;
        envelope.to_string().into_bytes()
    };
    let signature = honest["signature"].as_str().context("a signature")?;
    let mut flipped = signature.to_owned();
    let digit = round % flipped.len();
    flipped.replace_range(digit..=digit, if &signature[digit..=digit] == "0" { "1" } else { "0" });
    let elsewhere = Place { scheduler: "urn:uuid:elsewhere", ..at(next) };
    let another = Place { session: &[3; 32], ..at(next) };
    let goodbye = hand.body("goodbye", json!({}))?;
    let register = hand.body(
        "register",
        json!({"instance": 2, "slots": 1, "public_key": thief.public().to_string()}),
    )?;
    let cut = complete.len() - 1 - round % (complete.len() - 1);
    Ok(vec![
        ("unsigned", complete.clone().into_bytes()),
        ("unsigned_goodbye", goodbye.clone().into_bytes()),
        ("forged", seal(&complete, at(next), thief)?),
        ("forged_goodbye", seal(&goodbye, at(next), thief)?),
        ("forged_register", seal(&register, at(next), thief)?),
        ("other_key", changed("key", json!(thief.public().to_string()))),
        ("cross_job", {
            let body = hand.body("complete", other.with(json!({"result": "forged"})))?;
            changed("signed", json!(body))
        }),
        ("cross_kind", changed("signed", json!(complete.replace("complete", "fail")))),
        ("cross_scheduler", seal(&complete, elsewhere, &hand.secret)?),
        ("replayed", seal(&progress, at(1), &hand.secret)?),
        ("reordered", seal(&progress, at(hand.number), &hand.secret)?),
        ("other_session", seal(&progress, another, &hand.secret)?),
        ("truncated_signature", changed("signature", json!(signature[..digit]))),
        ("truncated_body", changed("signed", json!(complete[..cut]))),
        ("flipped", changed("signature", json!(flipped))),
        ("renumbered", changed("number", json!(next + 1))),
    ])
}

#[tokio::test]
async fn what_a_worker_prints_is_heard_from_the_worker_alone() -> Result<()> {
    let site = Site::start_with(Kind::Sqlite, PATIENT).await?;
    let mut hand = Hand::new(&site, "agentA")?;
    hand.register(json!({"instance": 1, "slots": 1})).await?;
    site.outside()?.publish(vec![message("m", &json!({"id": "j", "type": "t"}))]).await?;
    let held = Held::of(&hand.hear("offer").await?)?;
    hand.say_plain("log", held.with(json!({"text": "forged\n"}))).await?;
    hand.say("log", held.with(json!({"text": "honest\n"}))).await?;
    hand.say("complete", held.with(json!({"id": "done"}))).await?;
    hand.hear("confirmed").await?;
    let client = site.client()?;
    let mut printed =
        client.logs(v1::WatchLogsRequest { id: "j".to_owned(), ..Default::default() });
    let printed = printed.next().await?.context("there is output")?;
    ensure!(printed.pieces.len() == 1 && printed.pieces[0].data == "honest\n", "{printed:?}");
    Ok(())
}

#[tokio::test]
async fn a_trusted_queue_speaks_for_those_without_a_key_and_for_nobody_else() -> Result<()> {
    let site = Site::start_trusting(Kind::Sqlite).await?;
    let broker = site.outside()?;
    let mut plain = Hand::new(&site, "plain")?;
    plain.say_plain("register", json!({"instance": 1, "slots": 1})).await?;
    plain.hear("welcome").await?;
    let mut signed = Hand::new(&site, "signed")?;
    signed.register(json!({"instance": 1, "slots": 1})).await?;
    let job = |id: &str| message(id, &json!({"id": id, "type": "t", "receiver": id}));
    broker.publish(vec![job("plain"), job("signed")]).await?;
    let (mine, theirs) =
        (Held::of(&plain.hear("offer").await?)?, Held::of(&signed.hear("offer").await?)?);
    // Not in its session, and not as a stranger whose session has ended.
    signed.say_plain("complete", theirs.with(json!({"result": "forged"}))).await?;
    plain.say_plain("complete", mine.with(json!({"id": "done"}))).await?;
    plain.hear("confirmed").await?;
    signed.say("complete", theirs.with(json!({"result": "good", "id": "done"}))).await?;
    signed.hear("confirmed").await?;
    let job = site.client()?.job("signed", 0).await?;
    ensure!(job.result() == "\"good\"", "{job:?}");
    Ok(())
}

#[tokio::test]
async fn where_workers_must_be_approved_a_join_token_lets_them_in_over_a_queue() -> Result<()> {
    let site = Site::start_with(Kind::Sqlite, "worker_keys: approved").await?;
    let mut hand = Hand::new(&site, "agentA")?;
    let challenge = hand.asked().await?;
    hand.answer(&challenge, json!({"instance": 1})).await?;
    let refused = hand.hear("refused").await?;
    ensure!(refused["code"] == "key_not_approved", "{refused}");
    let token = site.client()?.invite_worker("agentA", Default::default()).await?;
    let challenge = hand.asked().await?;
    hand.answer(&challenge, json!({"instance": 1, "join_token": token})).await?;
    hand.hear("welcome").await?;
    // A key that was revoked is not heard any more.
    site.client()?.revoke_key("agentA").await?;
    let challenge = hand.asked().await?;
    hand.answer(&challenge, json!({"instance": 1})).await?;
    let refused = hand.hear("refused").await?;
    ensure!(refused["code"] == "key_revoked", "{refused}");
    Ok(())
}

#[tokio::test]
async fn a_job_is_handed_on_over_a_queue_once() -> Result<()> {
    let site = Site::start_with(Kind::Sqlite, PATIENT).await?;
    let mut dead = DeadLetters::start(&site).await?;
    let (mut from, mut to) = (Hand::new(&site, "agentA")?, Hand::new(&site, "agentB")?);
    from.register(json!({"instance": 1})).await?;
    to.register(json!({"instance": 1})).await?;
    let job = json!({"id": "j", "type": "t", "receiver": "agentA", "payload": [7]});
    site.outside()?.publish(vec![message("m", &job)]).await?;
    let held = Held::of(&from.hear("offer").await?)?;
    from.say("acknowledge", held.with(json!({}))).await?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let handoff = sign(
        Intent {
            from: WorkerId::fixed("agentA"),
            job: JobId::fixed("j"),
            receiver: Receiver::Worker(WorkerId::fixed("agentB")),
            payload: b"[7]",
            token: Token(held.token),
            epoch: Epoch(from.epoch),
            expires: Timestamp(u64::try_from(now.as_micros())? + 600_000_000),
            previous: HandoffSignature::NONE,
        },
        &from.scheduler,
        &from.secret,
    );
    let form = json!({
        "type": "job_handoff", "job_id": "j", "receiver": "agentB",
        "payload_hash": bellwether_wire::json::hex(&handoff.payload_hash),
        "signature": signature_text(&handoff),
    });
    from.send(form.to_string().into_bytes()).await?;
    let offer = to.hear("offer").await?;
    ensure!(offer["handoffs"][0]["from"] == "agentA", "{offer}");
    ensure!(offer["handoffs"][0]["signature"] == form["signature"], "{offer}");
    ensure!(offer["payload_hash"] == form["payload_hash"], "{offer}");
    let reader = ChainReader {
        scheduler: &to.scheduler,
        job: &JobId::fixed("j"),
        payload: b"[7]",
        worker: "agentB",
        roles: &[],
    };
    reader.verify(&[handoff])?;
    // The same again is a replay.
    from.send(form.to_string().into_bytes()).await?;
    let (error, _) = dead.next().await?;
    ensure!(error.contains("does not hold"), "{error}");
    let taken = Held::of(&offer)?;
    to.say("complete", taken.with(json!({"result": 1, "id": "done"}))).await?;
    to.hear("confirmed").await?;
    let job = site.client()?.job("j", 0).await?;
    ensure!(job.state() == v1::JobState::Completed && job.0.attempts.len() == 2, "{job:?}");
    Ok(())
}

/// What is handed on, as its outer form says it.
fn form(job: &str, receiver: &str, handoff: &Handoff) -> Value {
    json!({
        "type": "job_handoff", "job_id": job, "receiver": receiver,
        "payload_hash": bellwether_wire::json::hex(&handoff.payload_hash),
        "signature": signature_text(handoff),
    })
}

/// One handoff of each kind that must not be taken.
fn forged_handoffs(
    hand: &Hand,
    [thief, receiver]: [&Secret; 2],
    of: &Held,
    other: &Held,
    round: usize,
) -> Result<Vec<(&'static str, Value)>> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let now = u64::try_from(now.as_micros())?;
    let intent = || Intent {
        from: WorkerId::fixed("agentA"),
        job: JobId::fixed(&of.id),
        receiver: Receiver::Worker(WorkerId::fixed("agentB")),
        payload: b"[7]",
        token: Token(of.token),
        epoch: Epoch(hand.epoch),
        expires: Timestamp(now + 600_000_000),
        previous: HandoffSignature::NONE,
    };
    let signed = |intent: Intent<'_>| sign(intent, &hand.scheduler, &hand.secret);
    let told = |intent: Intent<'_>| form(&of.id, "agentB", &signed(intent));
    let honest = told(intent());
    let changed = |field: &str, value: Value| {
        let mut form = honest.clone();
        form[field] = value;
        form
    };
    let signature = honest["signature"].as_str().context("a signature")?;
    let prefix = signature.find(':').context("it begins with its kind")? + 1;
    let digit = prefix + round % (signature.len() - prefix);
    let mut flipped = signature.to_owned();
    flipped.replace_range(digit..=digit, if &signature[digit..=digit] == "0" { "1" } else { "0" });
    let previous = signed(intent()).signature;
    Ok(vec![
        ("forged", form(&of.id, "agentB", &sign(intent(), &hand.scheduler, thief))),
        ("cross_job", changed("job_id", json!(other.id))),
        ("cross_attempt", told(Intent { token: Token(other.token), ..intent() })),
        (
            "cross_scheduler",
            form(&of.id, "agentB", &sign(intent(), "urn:uuid:other", &hand.secret)),
        ),
        ("cross_epoch", told(Intent { epoch: Epoch(hand.epoch + 1), ..intent() })),
        ("other_receiver", changed("receiver", json!("agentA"))),
        ("other_payload", changed("payload_hash", json!("ab".repeat(32)))),
        ("signed_for_other_payload", told(Intent { payload: b"[8]", ..intent() })),
        ("expired", told(Intent { expires: Timestamp(now - 1), ..intent() })),
        ("not_the_holder", form(&of.id, "agentB", &sign(intent(), &hand.scheduler, receiver))),
        // As if another had handed it on before: what is reordered has another past.
        ("reordered", told(Intent { previous, ..intent() })),
        ("truncated", changed("signature", json!(signature[..digit]))),
        ("flipped", changed("signature", json!(flipped))),
    ])
}

#[tokio::test]
async fn of_a_thousand_forged_handoffs_none_is_taken_and_the_honest_ones_all_are() -> Result<()> {
    let site = Site::start_with(Kind::Sqlite, PATIENT).await?;
    let client = site.client()?;
    let (mut from, mut to) = (Hand::new(&site, "agentA")?, Hand::new(&site, "agentB")?);
    from.register(json!({"instance": 1, "slots": 64})).await?;
    to.register(json!({"instance": 1, "slots": 64})).await?;
    let jobs = (0..JOBS).map(|n| {
        let id = format!("j{n}");
        let job = json!({"id": id, "type": "t", "receiver": "agentA", "payload": [7]});
        message(id, &job)
    });
    site.outside()?.publish(jobs.collect()).await?;
    let mut held = Vec::new();
    for _ in 0..JOBS {
        held.push(Held::of(&from.hear("offer").await?)?);
    }
    for attempt in &held {
        from.say("acknowledge", attempt.with(json!({}))).await?;
    }
    let last = held.last().context("jobs are held")?.clone();
    from.say("acknowledge", last.with(json!({"id": "before"}))).await?;
    ensure!(from.hear("confirmed").await?["id"] == "before");
    let before = seen(&client, &held).await?;
    let thief = Secret::from_seed(&[9; 32]);
    let mut sent: BTreeMap<&str, usize> = BTreeMap::new();
    for round in 0..ATTACKS {
        let (of, other) = (&held[round % JOBS], &held[(round + 1) % JOBS]);
        for (attack, form) in forged_handoffs(&from, [&thief, &to.secret], of, other, round)? {
            from.send(form.to_string().into_bytes()).await?;
            *sent.entry(attack).or_default() += 1;
        }
    }
    ensure!(sent.values().sum::<usize>() >= 1_000, "{sent:#?}");
    // A queue keeps the order: once this is confirmed, all of them were heard.
    from.say("acknowledge", last.with(json!({"id": "after"}))).await?;
    ensure!(from.hear("confirmed").await?["id"] == "after");
    ensure!(seen(&client, &held).await? == before, "an attack has changed something");

    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let honest = held.iter().map(|attempt| {
        let intent = Intent {
            from: WorkerId::fixed("agentA"),
            job: JobId::fixed(&attempt.id),
            receiver: Receiver::Worker(WorkerId::fixed("agentB")),
            payload: b"[7]",
            token: Token(attempt.token),
            epoch: Epoch(from.epoch),
            expires: Timestamp(now.as_micros() as u64 + 600_000_000),
            previous: HandoffSignature::NONE,
        };
        form(&attempt.id, "agentB", &sign(intent, &from.scheduler, &from.secret)).to_string()
    });
    let honest: Vec<String> = honest.collect();
    for form in &honest {
        from.send(form.clone().into_bytes()).await?;
    }
    let mut taken = Vec::new();
    for _ in 0..JOBS {
        taken.push(Held::of(&to.hear("offer").await?)?);
    }
    // Each of them again, while the receiver holds it: a replay.
    for form in &honest {
        from.send(form.clone().into_bytes()).await?;
    }
    for attempt in &taken {
        to.say("complete", attempt.with(json!({"result": 1, "id": attempt.id}))).await?;
        ensure!(to.hear("confirmed").await?["id"] == attempt.id.as_str());
    }
    for attempt in &taken {
        let job = client.job(&attempt.id, 0).await?;
        ensure!(job.state() == v1::JobState::Completed && job.0.attempts.len() == 2, "{job:?}");
    }
    Ok(())
}

#[tokio::test]
async fn agents_in_python_hand_a_job_on_over_redis() -> Result<()> {
    let site = Site::start(Kind::Redis).await?;
    let mut listener = Listener::start(&site).await?;
    let _first = start_python(&site, "redis_worker.py", "agentA")?;
    let _second = start_python(&site, "redis_worker.py", "agentB")?;
    let client = site.client()?;
    eventually("both are there", || async {
        Ok((client.workers(false).await?.len() == 2).then_some(()))
    })
    .await?;
    let job = json!({
        "id": "j", "type": "echo", "receiver": "agentA", "payload": {"hand_to": "agentB"},
    });
    site.outside()?.publish(vec![message("m", &job)]).await?;
    listener.until("job_completed", 1).await?;
    let job = client.job("j", 0).await?;
    let workers: Vec<&str> = job.0.attempts.iter().map(|attempt| attempt.worker.as_str()).collect();
    ensure!(workers == ["agentA", "agentB"], "{job:?}");
    Ok(())
}
