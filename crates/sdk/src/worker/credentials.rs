//! Who the worker is to the scheduler that it is connected to, and what it signs for it.

use std::time::{Duration, SystemTime};

use bellwether_wire::handoff::handoff_from_wire;
use bellwether_wire::signing::Secret;
use bellwether_wire::signing::handoff::{ChainReader, Intent, sign, signature_text};
use bellwether_wire::signing::session::Proof;
use bellwether_wire::{
    Epoch, Handoff, HandoffSignature, JobId, Malformed, Timestamp, Token, WorkerId, v1,
};

use super::context::Context;

/// How long a handoff may be on its way.
const HANDOFF_LASTS: Duration = Duration::from_secs(300);

/// What the scheduler said of itself when the session began, and what answers to it.
#[derive(Debug, Clone)]
pub(crate) struct Credentials {
    pub(crate) worker: String,
    pub(crate) roles: Vec<String>,
    pub(crate) scheduler: String,
    pub(crate) epoch: u64,
    pub(crate) secret: Option<Secret>,
}

/// Names the worker and signs the challenge, if there is a key.
pub(crate) fn introduce(
    spec: &mut v1::WorkerSpec,
    challenge: &v1::Challenge,
    secret: Option<&Secret>,
) -> Vec<u8> {
    let Some(secret) = secret else { return Vec::new() };
    let key = secret.public();
    spec.public_key = key.0.to_vec().into();
    let proof = Proof {
        scheduler: &challenge.scheduler,
        nonce: &challenge.nonce,
        worker: &spec.id,
        instance: spec.instance,
        key,
    };
    proof.sign(secret).to_vec()
}

impl Credentials {
    /// The wish to hand an attempt off, signed for where it goes.
    pub(crate) fn hand_off(
        &self,
        context: &Context,
        receiver: &str,
    ) -> Result<v1::HandOff, String> {
        let secret = self.secret.as_ref().ok_or("a worker without a key can't hand jobs off")?;
        let chain = chain(context.offer()).map_err(|why| why.to_string())?;
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let intent = Intent {
            from: WorkerId::new(&self.worker).map_err(|why| why.to_string())?,
            job: JobId::new(context.id()).map_err(|why| why.to_string())?,
            receiver: bellwether_wire::Receiver::parse(receiver).map_err(|why| why.to_string())?,
            payload: context.payload(),
            token: Token(context.token()),
            epoch: Epoch(self.epoch),
            expires: Timestamp(crate::job::micros(now.saturating_add(HANDOFF_LASTS))),
            previous: chain.last().map_or(HandoffSignature::NONE, |last| last.signature),
        };
        let handoff = sign(intent, &self.scheduler, secret);
        Ok(v1::HandOff {
            job_id: handoff.job.to_string(),
            receiver: handoff.receiver.to_string(),
            payload_hash: handoff.payload_hash.to_vec().into(),
            signature: signature_text(&handoff),
        })
    }

    /// Whether those who had the job before gave it to us, by their own hands.
    pub(crate) fn verify_chain(&self, context: &Context) -> Result<(), String> {
        if context.offer().handoffs.is_empty() {
            return Ok(());
        }
        let chain = chain(context.offer()).map_err(|why| why.to_string())?;
        let job = JobId::new(context.id()).map_err(|why| why.to_string())?;
        let reader = ChainReader {
            scheduler: &self.scheduler,
            job: &job,
            payload: context.payload(),
            worker: &self.worker,
            roles: &self.roles,
        };
        reader.verify(&chain).map_err(|why| why.to_string())
    }
}

fn chain(offer: &v1::Offer) -> Result<Vec<Handoff>, Malformed> {
    offer.handoffs.iter().map(handoff_from_wire).collect()
}
