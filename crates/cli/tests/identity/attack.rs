//! A thousand handoffs that nobody made, or that were made for something else: none is accepted. The
//! honest ones all are.

use std::collections::BTreeMap;

use anyhow::Result;
use bellwether_sdk::NewJob;
use bellwether_wire::json::handoff::{HandoffForm, from_wire};
use bellwether_wire::signing::Secret;
use bellwether_wire::signing::handoff::{Intent, sign, signature_text};
use bellwether_wire::{
    Epoch, Handoff, HandoffSignature, JobId, Receiver, Timestamp, Token, WorkerId, v1,
};
use serde_json::{Value, json};

use crate::site::Site;

/// Of each kind of attack.
const ATTACKS: usize = 100;
const JOBS: usize = 20;
const PAYLOAD: &str = "7";

/// A job that a worker holds, and what it would sign to hand it off.
struct HeldJob {
    id: String,
    token: u64,
}

struct Forge {
    scheduler: String,
    epoch: u64,
    now: u64,
    honest: Secret,
    thief: Secret,
}

impl Forge {
    fn handoff(&self, job: &HeldJob, change: impl FnOnce(&mut Intent<'_>)) -> Handoff {
        let mut intent = Intent {
            from: WorkerId::fixed("agentA"),
            job: JobId::fixed(&job.id),
            receiver: Receiver::Worker(WorkerId::fixed("agentB")),
            payload: PAYLOAD.as_bytes(),
            token: Token(job.token),
            epoch: Epoch(self.epoch),
            expires: Timestamp(self.now + 600_000_000),
            previous: HandoffSignature::NONE,
        };
        change(&mut intent);
        sign(intent, &self.scheduler, &self.honest)
    }
}

fn form(handoff: &Handoff) -> HandoffForm {
    from_wire(v1::HandOff {
        job_id: handoff.job.to_string(),
        receiver: handoff.receiver.to_string(),
        payload_hash: handoff.payload_hash.to_vec().into(),
        signature: signature_text(handoff),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_thousand_forged_handoffs_none_is_accepted_and_the_honest_ones_all_are() -> Result<()>
{
    let site = Site::start("").await?;
    let _holder = site.holder("agentA").await?;
    let _doer = site.doer("agentB").await?;
    let mut held = Vec::new();
    for number in 0..JOBS {
        let id = format!("job-{number}");
        let job = NewJob::new("t")
            .id(&id)
            .payload(PAYLOAD)
            .receiver("agentA")
            .timeout(std::time::Duration::from_secs(600));
        site.client()?.submit(job).await?;
        let shown = site.job(&id, "running").await?;
        let token = shown["attempts"][0]["token"].as_u64().expect("an attempt has a token");
        held.push(HeldJob { id, token });
    }
    let (_, identity) = site.get("/scheduler/identity").await?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?;
    let forge = Forge {
        scheduler: identity["scheduler"].as_str().expect("it has a name").to_owned(),
        epoch: identity["epoch"].as_u64().expect("it has an epoch"),
        now: now.as_micros().try_into()?,
        honest: site.secret("agentA")?,
        thief: site.secret("thief")?,
    };

    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for round in 0..ATTACKS {
        let (job, other) = (&held[round % JOBS], &held[(round + 1) % JOBS]);
        for (attack, body) in attacks(&forge, job, other, round) {
            let (status, answer) = site.post("/scheduler/handoffs", &body).await?;
            assert!((400..500).contains(&status), "{attack}: {status} {answer} of {body}");
            *refused.entry(format!("{attack}: {}", answer["code"])).or_default() += 1;
        }
    }
    let total: usize = refused.values().sum();
    assert!(total >= 1_000, "{refused:#?}");
    for job in &held {
        assert_eq!(
            site.job(&job.id, "running").await?["attempts"].as_array().map(Vec::len),
            Some(1)
        );
    }

    for job in &held {
        let body = serde_json::to_value(form(&forge.handoff(job, |_| {})))?;
        let (status, answer) = site.post("/scheduler/handoffs", &body).await?;
        assert_eq!(status, 200, "{answer}");
        // The same again is a replay.
        let (status, answer) = site.post("/scheduler/handoffs", &body).await?;
        assert!((400..500).contains(&status), "{status} {answer}");
    }
    for job in &held {
        let shown = site.job(&job.id, "completed").await?;
        assert_eq!(shown["attempts"].as_array().map(Vec::len), Some(2), "{shown}");
    }
    Ok(())
}

/// One of each kind.
fn attacks(
    forge: &Forge,
    job: &HeldJob,
    other: &HeldJob,
    round: usize,
) -> Vec<(&'static str, Value)> {
    let honest = form(&forge.handoff(job, |_| {}));
    let value = |form: &HandoffForm| serde_json::to_value(form).expect("it is texts");
    let changed = |change: &dyn Fn(&mut HandoffForm)| {
        let mut form = honest.clone();
        change(&mut form);
        value(&form)
    };
    let thief = Forge { honest: forge.thief.clone(), ..forge.clone() };
    let elsewhere = Forge { scheduler: "urn:uuid:elsewhere".to_owned(), ..forge.clone() };
    let before = Forge { epoch: forge.epoch.wrapping_sub(1), ..forge.clone() };
    let expired = forge.handoff(job, |intent| intent.expires = Timestamp(forge.now - 1));
    let reordered =
        forge.handoff(job, |intent| intent.previous = forge.handoff(other, |_| {}).signature);
    let stale = forge.handoff(job, |intent| intent.token = Token(job.token - 1));
    let payload = forge.handoff(job, |intent| intent.payload = b"8");
    let end = honest.signature.len() - 1 - round % (honest.signature.len() - 1);
    vec![
        ("forged", value(&form(&thief.handoff(job, |_| {})))),
        ("cross_job", changed(&|form| form.job_id.clone_from(&other.id))),
        ("cross_scheduler", value(&form(&elsewhere.handoff(job, |_| {})))),
        ("earlier_reign", value(&form(&before.handoff(job, |_| {})))),
        ("other_receiver", changed(&|form| form.receiver = "agentC".to_owned())),
        ("other_role", changed(&|form| form.receiver = "role:agentB".to_owned())),
        ("expired", value(&form(&expired))),
        ("reordered", value(&form(&reordered))),
        ("replayed_token", value(&form(&stale))),
        ("other_payload", value(&form(&payload))),
        ("truncated", changed(&|form| form.signature.truncate(end))),
        (
            "flipped",
            changed(&|form| {
                let at = 8 + (round * 7) % (form.signature.len() - 8);
                let flipped = if form.signature.as_bytes()[at] == b'A' { "B" } else { "A" };
                form.signature.replace_range(at..=at, flipped);
            }),
        ),
        ("no_signature", changed(&|form| form.signature = "KLP-sig:".to_owned())),
        ("unknown_field", {
            let mut body = value(&honest);
            body["worker"] = json!("agentB");
            body
        }),
    ]
}

impl Clone for Forge {
    fn clone(&self) -> Forge {
        Forge {
            scheduler: self.scheduler.clone(),
            epoch: self.epoch,
            now: self.now,
            honest: self.honest.clone(),
            thief: self.thief.clone(),
        }
    }
}
