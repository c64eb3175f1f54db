//! Which key speaks for which worker.

use crate::model::{
    Invitation, KeyBinding, KeyStanding, KeyTerms, Ticket, Timestamp, WorkerId, WorkerKey,
};
use crate::state::State;

impl State {
    pub(super) fn take_invitation(
        &mut self,
        worker: &WorkerId,
        ticket: Ticket,
        terms: &KeyTerms,
        expires: Timestamp,
        at: Timestamp,
    ) {
        self.invitations.retain(|_, open| open.expires > at);
        let (worker, terms) = (worker.clone(), terms.clone());
        self.invitations.insert(ticket, Invitation { worker, terms, expires });
    }

    pub(super) fn bind_key(
        &mut self,
        worker: &WorkerId,
        key: WorkerKey,
        standing: KeyStanding,
        terms: &KeyTerms,
        ticket: Option<Ticket>,
        at: Timestamp,
    ) {
        if let Some(ticket) = ticket {
            self.invitations.remove(&ticket);
        }
        let bound = KeyBinding { key, standing, terms: terms.clone(), at };
        self.worker_keys.insert(worker.clone(), bound);
    }

    pub(super) fn rotate_key(&mut self, worker: &WorkerId, key: WorkerKey, at: Timestamp) {
        if let Some(bound) = self.worker_keys.get_mut(worker) {
            bound.key = key;
            bound.at = at;
        }
    }

    pub(super) fn revoke_key(&mut self, worker: &WorkerId, at: Timestamp) {
        if let Some(bound) = self.worker_keys.get_mut(worker) {
            bound.standing = KeyStanding::Revoked;
            bound.at = at;
        }
        self.invitations.retain(|_, open| open.worker != *worker);
    }
}
