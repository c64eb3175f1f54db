//! What a worker that speaks only a queue is told: one JSON object a message.

use bellwether_core::model::{JobSpec, RevokeReason, Timestamp, TraceParent};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use super::handoff::HandoffForm;
use super::hex;
use super::unit::{Moment, seconds};
use super::written::{Payload, WrittenJob};
use crate::handoff::handoff_from_wire;
use crate::job::taken_job_from_wire;
use crate::signing::handoff::signature_text;
use crate::signing::payload_hash;
use crate::{Mirror, v1};

/// Told in this order: a welcome comes before the offers that follow it.
#[derive(Debug, serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(clippy::large_enum_variant, reason = "most are offers, and each is written at once")]
pub enum Dispatch<'a> {
    /// The registration holds. What came before it was meant for an earlier life of the worker.
    Welcome {
        worker: &'a str,
        /// As the worker gave it when it registered.
        instance: u64,
        /// Seconds.
        heartbeat_interval: f64,
        /// Attempts to drop.
        unknown: Vec<Attempt>,
        scheduler: &'a str,
    },
    Offer {
        #[serde(flatten)]
        attempt: Attempt,
        number: u32,
        idempotency_token: &'a str,
        #[serde(skip_serializing_if = "str::is_empty")]
        load_model: &'a str,
        offered_at: Moment,
        /// As in the W3C header of that name; the worker's spans belong below it.
        #[serde(skip_serializing_if = "Option::is_none")]
        trace_parent: Option<String>,
        /// SHA-256 of the payload as it was submitted, in hexadecimal.
        payload_hash: String,
        /// By whom it was handed to whom, in order; to be verified before it starts.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        handoffs: Vec<Link<'a>>,
        spec: Spec<'a>,
    },
    Grant {
        #[serde(flatten)]
        attempt: Attempt,
    },
    Revoke {
        #[serde(flatten)]
        attempt: Attempt,
        reason: &'static str,
    },
    /// The message of the worker with this id is durable.
    Confirmed {
        id: &'a str,
    },
    Refused {
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        #[serde(flatten)]
        attempt: Option<Attempt>,
        code: &'a str,
        message: &'a str,
    },
    Drain,
    /// What a registration is to be signed for, and all that follows it.
    Challenge {
        worker: &'a str,
        /// What is signed names it so.
        scheduler: &'a str,
        /// The session, in hexadecimal.
        nonce: String,
        epoch: u64,
    },
    /// Register again, and say what is held.
    Reconnect {
        reason: &'a str,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Attempt {
    pub job: u64,
    pub token: u64,
}

/// One handoff, as it was sent, and who sent it.
#[derive(Debug, serde::Serialize)]
pub struct Link<'a> {
    from: &'a str,
    #[serde(flatten)]
    form: HandoffForm,
}

impl<'a> Link<'a> {
    fn of(wire: &'a v1::Handoff) -> Option<Link<'a>> {
        let handoff = handoff_from_wire(wire).ok()?;
        let form = super::handoff::from_wire(v1::HandOff {
            job_id: wire.job_id.clone(),
            receiver: wire.receiver.clone(),
            payload_hash: wire.payload_hash.clone(),
            signature: signature_text(&handoff),
        });
        Some(Link { from: &wire.from, form })
    }
}

/// The job, with the names that it was submitted with, and its payload as it was written.
#[derive(Debug)]
pub struct Spec<'a> {
    spec: JobSpec,
    run_id: &'a str,
}

impl Serialize for Spec<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let job = WrittenJob { spec: &self.spec, payload: Payload::AsGiven };
        job.write_fields(&mut map)?;
        if !self.run_id.is_empty() {
            map.serialize_entry("run_id", self.run_id)?;
        }
        map.end()
    }
}

impl Dispatch<'_> {
    pub fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("names and numbers can be written as JSON")
    }
}

impl From<&v1::Attempt> for Attempt {
    fn from(wire: &v1::Attempt) -> Attempt {
        Attempt { job: wire.job, token: wire.token }
    }
}

/// The parts of a message that need nothing else to be told: all but the welcome and what became
/// of the worker's own messages.
pub fn dispatches(message: &v1::SchedulerMessage) -> Vec<Dispatch<'_>> {
    let offers = message.offers.iter().map(offer);
    let grants = message.grants.iter().map(|grant| Dispatch::Grant { attempt: grant.into() });
    let revokes = message.revokes.iter().map(|revoke| Dispatch::Revoke {
        attempt: Attempt { job: revoke.job, token: revoke.token },
        reason: RevokeReason::from_wire(revoke.reason).unwrap_or(RevokeReason::Unknown).as_str(),
    });
    let drain = message.drain.then_some(Dispatch::Drain);
    let reconnect = message
        .reconnect
        .then_some(Dispatch::Reconnect { reason: "the scheduler shuts down; it will be back" });
    offers.chain(grants).chain(revokes).chain(drain).chain(reconnect).collect()
}

pub fn welcome<'a>(worker: &'a str, instance: u64, registered: &'a v1::Registered) -> Dispatch<'a> {
    Dispatch::Welcome {
        worker,
        instance,
        heartbeat_interval: seconds(registered.heartbeat_interval),
        unknown: registered.unknown.iter().map(Attempt::from).collect(),
        scheduler: &registered.server,
    }
}

fn offer(offer: &v1::Offer) -> Dispatch<'_> {
    let spec = offer.spec.as_ref().and_then(|spec| taken_job_from_wire(spec).ok());
    let trace_parent = TraceParent::from_bytes(&offer.trace_parent).ok();
    let payload = offer.spec.as_ref().map_or(&[][..], |spec| &spec.payload);
    Dispatch::Offer {
        attempt: Attempt { job: offer.job, token: offer.token },
        number: offer.number,
        idempotency_token: &offer.idempotency_token,
        load_model: &offer.load_model,
        offered_at: Moment(Timestamp(offer.offered_at)),
        trace_parent: trace_parent.map(|trace| trace.to_string()),
        payload_hash: hex(&payload_hash(payload)),
        handoffs: offer.handoffs.iter().filter_map(Link::of).collect(),
        spec: Spec {
            spec: spec.expect("the scheduler writes what it reads"),
            run_id: &offer.run_id,
        },
    }
}

#[cfg(test)]
mod tests {
    use bellwether_core::model::{Guarantee, Priority};
    use expect_test::expect;

    use super::*;

    fn lines(dispatches: &[Dispatch<'_>]) -> String {
        let lines = dispatches.iter().map(|one| String::from_utf8(one.to_json()).unwrap());
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_offer_carries_the_job_as_it_was_written() {
        let message = v1::SchedulerMessage {
            offers: vec![v1::Offer {
                job: 3,
                token: 9,
                number: 1,
                spec: Some(v1::JobSpec {
                    payload: r#"{"z": 1e400}"#.into(),
                    guarantee: Guarantee::ExactlyOnce.to_wire(),
                    timeout: Some(90_000_000),
                    priority: Priority::High.to_wire(),
                    ..v1::JobSpec::new("a", "resize")
                }),
                idempotency_token: "a/3".into(),
                offered_at: 1_801_382_400_000_000,
                ..Default::default()
            }],
            grants: vec![v1::Attempt { job: 3, token: 9 }],
            revokes: vec![v1::Revoke {
                job: 3,
                token: 9,
                reason: RevokeReason::Cancelled.to_wire(),
            }],
            drain: true,
            ..Default::default()
        };
        expect![[r#"
            {"type":"offer","job":3,"token":9,"number":1,"idempotency_token":"a/3","offered_at":"2027-01-31T08:00:00Z","payload_hash":"e0406f7768076f5abb4a719afc4f69fe578e85044e55c3d0a31c38fe891ba9de","spec":{"id":"a","type":"resize","priority":"high","payload":{"z": 1e400},"timeout":90.0,"retry":0,"guarantee":"exactly_once"}}
            {"type":"grant","job":3,"token":9}
            {"type":"revoke","job":3,"token":9,"reason":"cancelled"}
            {"type":"drain"}"#]]
        .assert_eq(&lines(&dispatches(&message)));
    }

    #[test]
    fn a_refusal_names_the_message_where_it_had_a_name() {
        let attempt = Some(Attempt { job: 3, token: 9 });
        let refused =
            Dispatch::Refused { id: None, attempt, code: "stale_token", message: "drop it" };
        let register = Dispatch::Refused {
            id: Some("m-1"),
            attempt: None,
            code: "bad_slots",
            message: "too many",
        };
        expect![[r#"
            {"type":"refused","job":3,"token":9,"code":"stale_token","message":"drop it"}
            {"type":"refused","id":"m-1","code":"bad_slots","message":"too many"}"#]]
        .assert_eq(&lines(&[refused, register]));
    }
}
