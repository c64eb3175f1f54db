//! A worker that gives its attempt to another, and what an eavesdropper makes of it.
//!
//! Nothing is signed here: whoever can't make a signature can still send one that was made, for
//! another job, too late or again. So what is sent is always what some worker did sign.

use bellwether_core::model::{
    Epoch, Handoff, HandoffSignature, HeldAttempt, Receiver, Timestamp, Token, WorkerKey,
};
use bellwether_core::{Command, Report};

use super::{HeldPhase, SimWorker};
use crate::faults::due::About;
use crate::faults::plan::{self, ROLES};
use crate::faults::scheduler::WALL_START;
use crate::faults::stage::Stage;

/// Per thousand: an attempt is handed off instead of being ended; a handoff is signed and not sent.
const HANDS_OFF: u32 = 40;
const CHANGES_ITS_MIND: u32 = 40;
/// How long a handoff holds, in microseconds.
const HOLDS_MIN: u64 = 500_000;
const HOLDS_MAX: u64 = 60_000_000;
/// Handoffs that an eavesdropper remembers.
const OVERHEARD_MAX: usize = 64;

impl SimWorker {
    pub(super) fn wants_to_hand_off(stage: &mut Stage) -> bool {
        stage.random.chance(HANDS_OFF)
    }

    pub(super) fn hand_off(&self, stage: &mut Stage, token: Token) -> Option<Report> {
        let signed = self.sign(stage, token)?;
        overhear(stage, &signed);
        Some(Report::HandOff(Box::new(signed)))
    }

    /// Now and then a worker signs a handoff, does not send it, and goes on.
    pub(super) fn change_mind(&self, stage: &mut Stage, token: Token) {
        if stage.random.chance(CHANGES_ITS_MIND)
            && let Some(signed) = self.sign(stage, token)
        {
            overhear(stage, &signed);
        }
    }

    /// The first worker can do everything, so no job waits for ever.
    fn sign(&self, stage: &mut Stage, token: Token) -> Option<Handoff> {
        let held = self.held.iter().find(|held| held.attempt.token == token)?;
        let receiver = if self.index == 0 || stage.random.chance(300) {
            Receiver::Role(stage.random.pick_name(&ROLES))
        } else {
            Receiver::Worker(plan::worker_id(0))
        };
        let holds = stage.random.between(HOLDS_MIN, HOLDS_MAX);
        let mut signature = [0; 64];
        signature[..8].copy_from_slice(&token.0.to_be_bytes());
        signature[8..16].copy_from_slice(&(stage.now + holds).to_be_bytes());
        Some(Handoff {
            from: self.spec.id.clone(),
            job: held.spec.id.clone(),
            receiver,
            payload_hash: plan::payload_hash(&held.spec.payload),
            key: self.spec.public_key.unwrap_or(WorkerKey([0; 32])),
            token,
            epoch: Epoch(1),
            expires: Timestamp(WALL_START + stage.now + holds),
            previous: held.previous,
            signature: HandoffSignature(signature),
        })
    }

    /// What was overheard, once more: as it was, or as if it were about what this worker holds now.
    pub(super) fn replay_handoff(&self, stage: &mut Stage) {
        if stage.overheard.is_empty() || !stage.random.chance(stage.weather.forge) {
            return;
        }
        let mine = |signed: &&Handoff| signed.from == self.spec.id;
        let own: Vec<Handoff> = stage.overheard.iter().filter(mine).cloned().collect();
        let held = self.held.iter().find(|held| held.phase == HeldPhase::Running);
        let (signed, attempt) = match held {
            // Another attempt of the same worker: nothing but what was signed tells them apart.
            Some(held) if !own.is_empty() => (stage.random.pick(&own).clone(), held.attempt),
            _ => {
                let signed = stage.random.pick(&stage.overheard.clone()).clone();
                let Some((job, _)) = stage.court.ledger().job_named(&signed.job) else { return };
                let token = signed.token;
                (signed, HeldAttempt { job, token })
            }
        };
        stage.count("handoff_replayed");
        let worker = self.spec.id.clone();
        let report = Report::HandOff(Box::new(signed));
        self.send(stage, About::Forgery, Command::Report { worker, attempt, report });
    }
}

fn overhear(stage: &mut Stage, signed: &Handoff) {
    if stage.overheard.len() >= OVERHEARD_MAX {
        stage.overheard.remove(0);
    }
    stage.overheard.push(signed.clone());
}
