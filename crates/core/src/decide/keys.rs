//! Workers are who they say: which key speaks for an id, and who decides that.
//!
//! The edge verifies signatures; what is decided here rests on which key was shown.

use crate::command::Answer;
use crate::engine::Engine;
use crate::event::Event;
use crate::model::limits::{INVITATIONS_MAX, LABELS_MAX, TYPES_MAX, WORKER_KEYS_MAX};
use crate::model::{
    Admission, KeyPolicy, KeyStanding, KeyTerms, Micros, Ticket, Timestamp, WorkerId, WorkerKey,
    WorkerSpec, WorkerStatus,
};
use crate::rejection::Rejection;

impl Engine {
    /// Whether the worker may register, and the binding that comes with it if there is a new one.
    pub(super) fn admit_worker(
        &self,
        spec: &WorkerSpec,
        admission: Admission,
    ) -> Result<Option<Event>, Rejection> {
        let id = || spec.id.clone();
        if let (Some(ticket), Some(key)) = (admission.ticket, spec.public_key) {
            // A worker that was let in by its ticket shows it again when it comes back.
            let is_bound = self
                .state
                .key_of(spec.id.as_str())
                .is_some_and(|bound| bound.key == key && bound.standing != KeyStanding::Revoked);
            if !is_bound {
                return self.admit_by_ticket(spec, key, ticket).map(Some);
            }
        }
        let Some(bound) = self.state.key_of(spec.id.as_str()) else {
            return match (admission.policy, spec.public_key) {
                (KeyPolicy::FirstUse, None) => Ok(None),
                (KeyPolicy::FirstUse, Some(key)) => {
                    let (standing, terms) = (KeyStanding::FirstUse, KeyTerms::default());
                    self.binding(spec.id.clone(), key, standing, terms, None).map(Some)
                }
                (KeyPolicy::Approved, Some(key)) => {
                    Err(Rejection::KeyNotApproved { id: id(), key })
                }
                (KeyPolicy::Approved, None) => Err(Rejection::KeyRequired { id: id() }),
            };
        };
        if bound.standing == KeyStanding::Revoked {
            return Err(Rejection::KeyRevoked { id: id() });
        }
        match spec.public_key {
            None => Err(Rejection::KeyMissing { id: id() }),
            Some(key) if key != bound.key => Err(Rejection::OtherKey { id: id(), key }),
            Some(key)
                if bound.standing == KeyStanding::FirstUse
                    && admission.policy == KeyPolicy::Approved =>
            {
                Err(Rejection::KeyNotApproved { id: id(), key })
            }
            Some(_) => within(&bound.terms, spec).map(|()| None),
        }
    }

    fn admit_by_ticket(
        &self,
        spec: &WorkerSpec,
        key: WorkerKey,
        ticket: Ticket,
    ) -> Result<Event, Rejection> {
        let now = self.state.now;
        let open = self.state.invitations.get(&ticket);
        let open = open.filter(|open| open.worker == spec.id && open.expires > now);
        let open = open.ok_or_else(|| Rejection::TicketClosed { id: spec.id.clone() })?;
        within(&open.terms, spec)?;
        let terms = open.terms.clone();
        self.binding(spec.id.clone(), key, KeyStanding::Approved, terms, Some(ticket))
    }

    fn binding(
        &self,
        worker: WorkerId,
        key: WorkerKey,
        standing: KeyStanding,
        terms: KeyTerms,
        ticket: Option<Ticket>,
    ) -> Result<Event, Rejection> {
        let bound = &self.state.worker_keys;
        if bound.len() >= WORKER_KEYS_MAX && !bound.contains_key(&worker) {
            return Err(Rejection::TooManyKeys { what: "keys of workers", given: bound.len() });
        }
        Ok(Event::WorkerKeyBound { worker, key, standing, terms: Box::new(terms), ticket })
    }

    pub(crate) fn invite(
        &mut self,
        worker: WorkerId,
        ticket: Ticket,
        terms: KeyTerms,
        lasts: Micros,
    ) -> Result<Answer, Rejection> {
        check(&worker, &terms)?;
        let now = self.state.now;
        let open = self.state.invitations.values().filter(|open| open.expires > now).count();
        if open >= INVITATIONS_MAX {
            return Err(Rejection::TooManyKeys { what: "open tickets", given: open });
        }
        let (terms, expires) = (Box::new(terms), now + lasts);
        self.emit(Event::WorkerInvited { worker, ticket, terms, expires });
        Ok(Answer::Done)
    }

    pub(crate) fn approve_key(
        &mut self,
        worker: WorkerId,
        key: WorkerKey,
        terms: KeyTerms,
    ) -> Result<Answer, Rejection> {
        check(&worker, &terms)?;
        let approved = self.binding(worker.clone(), key, KeyStanding::Approved, terms, None)?;
        let before = self.state.key_of(worker.as_str());
        let takes_over = before.is_some_and(|bound| bound.key != key);
        self.emit(approved);
        if takes_over {
            // Whoever works under this id is not who it is from now on.
            self.send_away(&worker, "another key was approved for the worker");
        }
        Ok(Answer::Done)
    }

    pub(crate) fn rotate_key(
        &mut self,
        worker: WorkerId,
        from: WorkerKey,
        to: WorkerKey,
        issued: Timestamp,
    ) -> Result<Answer, Rejection> {
        let bound = self.state.key_of(worker.as_str());
        let bound = bound.ok_or_else(|| Rejection::UnknownKey { id: worker.clone() })?;
        if bound.standing == KeyStanding::Revoked {
            return Err(Rejection::KeyRevoked { id: worker });
        }
        if bound.key == to {
            return Ok(Answer::Done);
        }
        if bound.key != from {
            return Err(Rejection::OtherKey { id: worker, key: from });
        }
        if self.state.wall_ahead.from_the_wall(issued) <= bound.at {
            return Err(Rejection::RotationOutdated { id: worker });
        }
        self.emit(Event::WorkerKeyRotated { worker, key: to });
        Ok(Answer::Done)
    }

    pub(crate) fn revoke_key(&mut self, worker: WorkerId) -> Result<Answer, Rejection> {
        let bound = self.state.key_of(worker.as_str());
        let bound = bound.ok_or_else(|| Rejection::UnknownKey { id: worker.clone() })?;
        if bound.standing != KeyStanding::Revoked {
            self.emit(Event::WorkerKeyRevoked { worker: worker.clone() });
            self.send_away(&worker, "the key of the worker was revoked");
        }
        Ok(Answer::Done)
    }

    /// What it holds is placed anew.
    fn send_away(&mut self, worker: &WorkerId, why: &str) {
        let Some(no) = self.state.worker_no(worker.as_str()) else { return };
        if self.state.expect_worker(no).status != WorkerStatus::Unreachable {
            self.abandon(no, why);
            self.emit(Event::WorkerLeft { worker: no });
        }
    }
}

fn within(terms: &KeyTerms, spec: &WorkerSpec) -> Result<(), Rejection> {
    match terms.exceeded_by(spec) {
        None => Ok(()),
        Some((what, name)) => Err(Rejection::BeyondKey { id: spec.id.clone(), what, name }),
    }
}

fn check(worker: &WorkerId, terms: &KeyTerms) -> Result<(), Rejection> {
    let lists = [("roles", &terms.roles, LABELS_MAX), ("types", &terms.types, TYPES_MAX)];
    for (what, list, max) in lists {
        if list.len() > max {
            let (id, given) = (worker.clone(), list.len());
            return Err(Rejection::TooManyLabels { id, what, given, max });
        }
    }
    Ok(())
}
