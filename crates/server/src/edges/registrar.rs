//! Who workers are: challenges, proofs of keys, and handoffs that they sign.
//!
//! Signatures are verified here, where they arrive. The loop is told what was proven, and decides
//! by the facts: which key is bound to whom, which attempt is held, what time it is.

use bellwether_core::model::{
    Admission, Epoch, HeldAttempt, KeyPolicy, KeyTerms, Micros, Ticket, WorkerId, WorkerKey,
    WorkerSpec,
};
use bellwether_core::{Command, Report};
use bellwether_wire::json::hex;
use bellwether_wire::key::key_from_wire;
use bellwether_wire::signing::handoff::Arrived;
use bellwether_wire::signing::session::{Proof, Rotation, certificate_key};
use bellwether_wire::{Malformed, v1};
use tokio::sync::watch;

use crate::cluster::Standing;
use crate::identity::Identity;

/// How long a ticket is open if nobody says otherwise, and at the most.
const TICKET_LASTS: Micros = Micros::from_secs(3_600);
const TICKET_LASTS_MAX: Micros = Micros::from_secs(30 * 86_400);
const JOIN_TOKEN: &str = "bellwether-join-";

/// What a session was challenged with: random, and its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Nonce(pub(crate) [u8; 32]);

/// What a worker shows of itself when it registers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Evidence<'a> {
    /// What it was challenged with, and its answer; empty is none.
    pub(crate) nonce: Nonce,
    pub(crate) proof: &'a [u8],
    /// It has shown a certificate that is for its id.
    pub(crate) certified: bool,
}

/// This scheduler, as those who sign something for it know it.
#[derive(Debug, Clone)]
pub(crate) struct Registrar {
    pub(crate) scheduler: Identity,
    /// What its checkpoints are signed with.
    pub(crate) key: WorkerKey,
    pub(crate) standing: watch::Receiver<Standing>,
    pub(crate) policy: KeyPolicy,
}

impl Registrar {
    /// The reign that this scheduler is in; 0 while another leads.
    pub(crate) fn epoch(&self) -> Epoch {
        self.standing.borrow().reign().unwrap_or_default()
    }

    pub(crate) fn challenge(&self) -> Nonce {
        Nonce(random_bytes())
    }

    pub(crate) fn challenge_to_wire(&self, nonce: Nonce) -> v1::Challenge {
        v1::Challenge {
            scheduler: self.scheduler.as_str().to_owned(),
            nonce: nonce.0.to_vec().into(),
            epoch: self.epoch().0,
        }
    }

    pub(crate) fn introduction(&self) -> v1::Introduction {
        let scheduler = self.scheduler.as_str().to_owned();
        v1::Introduction { scheduler, epoch: self.epoch().0 }
    }

    /// What a registration comes with. A key that is not proven is none. Who comes with a certificate
    /// in its name is let in by the authority, and needs no key of its own.
    pub(crate) fn admission(
        &self,
        evidence: Evidence<'_>,
        spec: &mut WorkerSpec,
        join_token: &str,
    ) -> Result<Admission, Malformed> {
        let Evidence { nonce, proof, certified } = evidence;
        if proof.is_empty() {
            spec.public_key = certified.then(|| certificate_key(spec.id.as_str()));
        } else if let Some(key) = spec.public_key {
            let claim = Proof {
                scheduler: self.scheduler.as_str(),
                nonce: &nonce.0,
                worker: spec.id.as_str(),
                instance: spec.instance,
                key,
            };
            claim.verify(proof).map_err(|_| {
                let wanted = "it must be this session's challenge, signed with the worker's key";
                Malformed::not_allowed("proof", "not accepted", wanted)
            })?;
        }
        let policy = if certified { KeyPolicy::FirstUse } else { self.policy };
        Ok(Admission { policy, ticket: ticket(join_token) })
    }

    /// What a registration comes with that is signed as a whole, or not at all.
    pub(crate) fn signed(
        &self,
        key: Option<WorkerKey>,
        spec: &mut WorkerSpec,
        join_token: &str,
    ) -> Result<Admission, Malformed> {
        if key.is_some() && spec.public_key != key {
            let wanted = "it must be the key that the registration is signed with";
            return Err(Malformed::not_allowed("public_key", "another", wanted));
        }
        spec.public_key = key;
        Ok(Admission { policy: self.policy, ticket: ticket(join_token) })
    }

    /// A report of a worker that gives its attempt away. Who it is, is who holds the attempt.
    pub(crate) fn hand_off(
        &self,
        from: &WorkerId,
        attempt: HeldAttempt,
        wire: &v1::HandOff,
    ) -> Result<Report, Malformed> {
        let arrived = Arrived::read(wire)?;
        if arrived.token != attempt.token {
            let wanted = "it must be signed for the attempt that it is a report of";
            return Err(Malformed::not_allowed("signature", "not accepted", wanted));
        }
        let handoff = arrived.verified(from.clone(), self.scheduler.as_str(), self.epoch())?;
        Ok(Report::HandOff(Box::new(handoff)))
    }

    pub(crate) fn rotation(&self, wire: &v1::RotateKeyRequest) -> Result<Command, Malformed> {
        let worker = WorkerId::new(&wire.worker).map_err(|why| Malformed::new("worker", why))?;
        let (from, to) = (key_from_wire("from", &wire.from)?, key_from_wire("to", &wire.to)?);
        let rotation = Rotation {
            scheduler: self.scheduler.as_str(),
            worker: worker.as_str(),
            from,
            to,
            issued_at: wire.issued_at,
        };
        rotation.verify(&wire.signed_by_old, &wire.signed_by_new).map_err(|_| {
            let wanted = "it must be signed with both keys, for this scheduler";
            Malformed::not_allowed("signed_by_old", "not accepted", wanted)
        })?;
        let issued = bellwether_core::model::Timestamp(wire.issued_at);
        Ok(Command::RotateKey { worker, from, to, issued })
    }
}

/// A new one-time token, and the wish that lets it in.
pub(crate) fn invitation(worker: WorkerId, terms: KeyTerms, lasts: u64) -> (String, Command) {
    let token = format!("{JOIN_TOKEN}{}", hex(&random_bytes()));
    let ticket = ticket(&token).expect("it is not empty");
    let lasts = if lasts == 0 { TICKET_LASTS } else { Micros(lasts).min(TICKET_LASTS_MAX) };
    (token, Command::Invite { worker, ticket, terms, lasts })
}

fn random_bytes() -> [u8; 32] {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the system has random bytes for whoever asks");
    bytes
}

/// One unsalted hash is enough because a token has 256 random bits.
fn ticket(join_token: &str) -> Option<Ticket> {
    let given = !join_token.is_empty();
    given.then(|| Ticket(*blake3::hash(join_token.as_bytes()).as_bytes()))
}

/// A key as people write it.
pub(crate) fn key_from_hex(field: &str, text: &str) -> Result<WorkerKey, Malformed> {
    blake3::Hash::from_hex(text).map(|bytes| WorkerKey(*bytes.as_bytes())).map_err(|_| {
        let length = format!("{} bytes long", text.len());
        Malformed::not_allowed(field, length, "it must be 64 hexadecimal digits")
    })
}
