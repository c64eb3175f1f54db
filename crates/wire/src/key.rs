//! The keys of workers, as the schema has them.

use bellwether_core::Event;
use bellwether_core::model::limits::{LABELS_MAX, TYPES_MAX};
use bellwether_core::model::{
    Invitation, KeyBinding, KeyStanding, KeyTerms, NAMESPACE_DEFAULT, Name, Ticket, Timestamp,
    WorkerId, WorkerKey,
};
use bytes::Bytes;

use crate::job::texts;
use crate::malformed::{Malformed, hash, label_set, name};
use crate::{Mirror, v1};

pub fn key_from_wire(field: &str, bytes: &[u8]) -> Result<WorkerKey, Malformed> {
    hash(field, bytes).map(WorkerKey)
}

pub fn key_to_wire(key: WorkerKey) -> Bytes {
    Bytes::copy_from_slice(&key.0)
}

pub fn terms_to_wire(terms: &KeyTerms) -> v1::KeyTerms {
    v1::KeyTerms {
        roles: texts(&terms.roles),
        types: texts(&terms.types),
        namespace: terms.namespace.as_ref().map(Name::to_string).unwrap_or_default(),
    }
}

pub fn terms_from_wire(wire: Option<v1::KeyTerms>) -> Result<KeyTerms, Malformed> {
    let v1::KeyTerms { roles, types, namespace } = wire.unwrap_or_default();
    let is_named = !namespace.is_empty() && namespace != NAMESPACE_DEFAULT;
    Ok(KeyTerms {
        roles: label_set("terms.roles", &roles, LABELS_MAX)?,
        types: label_set("terms.types", &types, TYPES_MAX)?,
        namespace: is_named.then(|| name("terms.namespace", &namespace)).transpose()?,
    })
}

pub fn bound_key_to_wire(worker: &WorkerId, bound: &KeyBinding, at: Timestamp) -> v1::BoundKey {
    v1::BoundKey {
        worker: worker.to_string(),
        key: key_to_wire(bound.key),
        standing: bound.standing.to_wire(),
        terms: Some(terms_to_wire(&bound.terms)),
        at: at.0,
    }
}

pub fn key_facts_to_wire(worker: &WorkerId, bound: &KeyBinding) -> v1::WorkerKeyFacts {
    v1::WorkerKeyFacts {
        worker: worker.to_string(),
        key: key_to_wire(bound.key),
        standing: bound.standing.to_wire(),
        terms: Some(terms_to_wire(&bound.terms)),
        at: bound.at.0,
    }
}

pub fn key_facts_from_wire(wire: v1::WorkerKeyFacts) -> Result<(WorkerId, KeyBinding), Malformed> {
    let bound = KeyBinding {
        key: key_from_wire("key", &wire.key)?,
        standing: KeyStanding::required("standing", wire.standing)?,
        terms: terms_from_wire(wire.terms)?,
        at: Timestamp(wire.at),
    };
    Ok((name("worker", &wire.worker)?, bound))
}

pub fn invitation_to_wire(ticket: Ticket, open: &Invitation) -> v1::WorkerInvited {
    invited_to_wire(&open.worker, ticket, &open.terms, open.expires)
}

pub fn invitation_from_wire(wire: v1::WorkerInvited) -> Result<(Ticket, Invitation), Malformed> {
    let ticket = Ticket(hash("ticket", &wire.ticket)?);
    let (worker, terms) = (name("worker", &wire.worker)?, terms_from_wire(wire.terms)?);
    Ok((ticket, Invitation { worker, terms, expires: Timestamp(wire.expires) }))
}

pub(crate) fn invited_to_wire(
    worker: &WorkerId,
    ticket: Ticket,
    terms: &KeyTerms,
    expires: Timestamp,
) -> v1::WorkerInvited {
    v1::WorkerInvited {
        worker: worker.to_string(),
        ticket: Bytes::copy_from_slice(&ticket.0),
        terms: Some(terms_to_wire(terms)),
        expires: expires.0,
    }
}

pub(crate) fn invited_from_wire(wire: v1::WorkerInvited) -> Result<Event, Malformed> {
    let (ticket, Invitation { worker, terms, expires }) = invitation_from_wire(wire)?;
    Ok(Event::WorkerInvited { worker, ticket, terms: Box::new(terms), expires })
}

pub(crate) fn bound_from_wire(wire: v1::WorkerKeyBound) -> Result<Event, Malformed> {
    let ticket = &wire.ticket;
    let ticket = if ticket.is_empty() { None } else { Some(Ticket(hash("ticket", ticket)?)) };
    Ok(Event::WorkerKeyBound {
        worker: name("worker", &wire.worker)?,
        key: key_from_wire("key", &wire.key)?,
        standing: KeyStanding::required("standing", wire.standing)?,
        terms: Box::new(terms_from_wire(wire.terms)?),
        ticket,
    })
}
