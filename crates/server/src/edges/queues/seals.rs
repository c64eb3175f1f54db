//! Who says what on a queue. No session stands for a worker there, so every message is signed with the
//! worker's key, for the session that the scheduler challenged it to and with a number that grows.
//! What is signed and comes in order is heard; what is late may still end the attempt that it is about.

use bellwether_core::model::WorkerKey;
use bellwether_wire::json::reply::Seal;
use bellwether_wire::json::{Said, worker_message::HELLO};
use rustc_hash::FxHashMap;

use crate::edges::registrar::{Nonce, Registrar};

/// Challenges that are open at a time. Beyond, all are forgotten, and workers ask again.
const CHALLENGES_MAX: usize = 10_000;

/// How much of a message counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// All of it.
    InOrder,
    /// It opens a session: with this key, or with none.
    Registers(Option<SealedSession>),
    /// It asks what to sign.
    Asks,
    /// It is from before, or of an earlier session.
    Late(WorkerKey),
    /// The worker has no session. The queue vouches for it.
    Stranger,
    Refused(Unheard),
}

/// Why nothing of a message counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unheard {
    #[error(
        "it is not signed; sign what the worker says (docs/handoff.md), or declare the queue trusted"
    )]
    Unsigned,
    #[error("it was not signed by the key that it names, or for another scheduler, job or message")]
    Forged,
    #[error("its challenge is not open; answer the latest one")]
    Outdated,
}

/// The session that a worker has signed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SealedSession {
    pub(super) key: WorkerKey,
    nonce: [u8; 32],
    /// The highest number that was heard.
    last: u64,
}

/// What workers that want to register are to sign: until it is used, always the same, so that nobody
/// who asks in the name of another puts it off.
#[derive(Debug, Default)]
pub(super) struct Challenges(FxHashMap<String, Nonce>);

impl Challenges {
    pub(super) fn of(&mut self, worker: &str, registrar: &Registrar) -> Nonce {
        if self.0.len() >= CHALLENGES_MAX && !self.0.contains_key(worker) {
            self.0.clear();
        }
        *self.0.entry(worker.to_owned()).or_insert_with(|| registrar.challenge())
    }

    fn take(&mut self, worker: &str, nonce: [u8; 32]) -> bool {
        let is_open = self.0.get(worker) == Some(&Nonce(nonce));
        if is_open {
            self.0.remove(worker);
        }
        is_open
    }
}

/// Whoever listens to a queue, as far as it decides who is heard.
pub(super) struct Ears<'a> {
    pub(super) scheduler: &'a str,
    /// What workers say here need not be signed.
    pub(super) trusted: bool,
    pub(super) challenges: &'a mut Challenges,
}

impl Ears<'_> {
    /// `session` is the live one of the worker: with what it was sealed, if it was.
    pub(super) fn hear(
        &mut self,
        said: &Said,
        seal: Option<&Seal>,
        session: Option<&mut Option<SealedSession>>,
    ) -> Standing {
        if said.kind == HELLO {
            return Standing::Asks;
        }
        match seal {
            Some(seal) => self.hear_sealed(said, seal, session),
            None => self.hear_unsealed(said, session),
        }
    }

    fn hear_unsealed(&self, said: &Said, session: Option<&mut Option<SealedSession>>) -> Standing {
        match session {
            _ if !self.trusted => Standing::Refused(Unheard::Unsigned),
            // Who has shown a key once goes on with it.
            Some(Some(_)) => Standing::Refused(Unheard::Unsigned),
            _ if said.message.register.is_some() => Standing::Registers(None),
            Some(None) => Standing::InOrder,
            None => Standing::Stranger,
        }
    }

    fn hear_sealed(
        &mut self,
        said: &Said,
        seal: &Seal,
        session: Option<&mut Option<SealedSession>>,
    ) -> Standing {
        if seal.verify(said, self.scheduler).is_err() {
            return Standing::Refused(Unheard::Forged);
        }
        let Seal { key, session: nonce, number: last, .. } = *seal;
        if said.message.register.is_some() {
            return match self.challenges.take(&said.worker, nonce) {
                true => Standing::Registers(Some(SealedSession { key, nonce, last })),
                false => Standing::Refused(Unheard::Outdated),
            };
        }
        let live = session.and_then(|session| session.as_mut());
        let Some(live) = live.filter(|live| live.key == key && live.nonce == nonce) else {
            return Standing::Late(key);
        };
        if last <= live.last {
            return Standing::Late(key);
        }
        live.last = last;
        Standing::InOrder
    }
}

#[cfg(test)]
mod tests {
    use bellwether_wire::json::reply::{Place, Reply, reply_from_json, seal};
    use bellwether_wire::signing::Secret;

    use super::*;

    const SCHEDULER: &str = "urn:uuid:ours";

    fn sealed(body: &str, session: [u8; 32], number: u64, by: u8) -> (Said, Seal) {
        let place = Place { scheduler: SCHEDULER, session: &session, number };
        let body = seal(body, place, &Secret::from_seed(&[by; 32])).unwrap();
        match reply_from_json(&body).unwrap() {
            Reply::Said(said, Some(seal)) => (said, seal),
            other => panic!("{other:?}"),
        }
    }

    fn hear(
        challenges: &mut Challenges,
        (said, seal): &(Said, Seal),
        session: &mut Option<SealedSession>,
    ) -> Standing {
        let mut ears = Ears { scheduler: SCHEDULER, trusted: false, challenges };
        ears.hear(said, Some(seal), Some(session))
    }

    #[test]
    fn a_challenge_is_answered_once_and_numbers_grow() {
        let mut challenges = Challenges(FxHashMap::from_iter([("w".to_owned(), Nonce([7; 32]))]));
        let register = sealed(r#"{"type":"register","worker":"w"}"#, [7; 32], 1, 1);
        let mut session = None;
        let Standing::Registers(Some(opened)) = hear(&mut challenges, &register, &mut session)
        else {
            panic!("the challenge was open");
        };
        let replayed = hear(&mut challenges, &register, &mut session);
        assert_eq!(replayed, Standing::Refused(Unheard::Outdated));

        session = Some(opened);
        let progress = r#"{"type":"progress","worker":"w","job":1,"token":2,"progress":0.5}"#;
        let beat = |session, number, by| sealed(progress, session, number, by);
        let late = Standing::Late(opened.key);
        assert_eq!(hear(&mut challenges, &beat([7; 32], 2, 1), &mut session), Standing::InOrder);
        assert_eq!(hear(&mut challenges, &beat([7; 32], 2, 1), &mut session), late);
        assert_eq!(hear(&mut challenges, &beat([7; 32], 9, 1), &mut session), Standing::InOrder);
        assert_eq!(hear(&mut challenges, &beat([7; 32], 3, 1), &mut session), late);
        assert_eq!(hear(&mut challenges, &beat([8; 32], 10, 1), &mut session), late);
        let thief = hear(&mut challenges, &beat([7; 32], 10, 2), &mut session);
        assert_eq!(thief, Standing::Late(Secret::from_seed(&[2; 32]).public()));
        let (other, seal) = (beat([7; 32], 11, 1).0, beat([7; 32], 12, 1).1);
        assert_eq!(
            hear(&mut challenges, &(Said { worker: "x".to_owned(), ..other }, seal), &mut session),
            Standing::Refused(Unheard::Forged)
        );
    }

    #[test]
    fn unsigned_words_count_where_the_queue_is_trusted_and_no_key_was_shown() {
        let said = |text: &str| match reply_from_json(text.as_bytes()).unwrap() {
            Reply::Said(said, None) => said,
            other => panic!("{other:?}"),
        };
        let beat = said(r#"{"type":"heartbeat","worker":"w"}"#);
        let hear = |trusted, session: Option<&mut Option<SealedSession>>| {
            let challenges = &mut Challenges::default();
            Ears { scheduler: SCHEDULER, trusted, challenges }.hear(&beat, None, session)
        };
        let unsigned = Standing::Refused(Unheard::Unsigned);
        assert_eq!(hear(false, None), unsigned);
        assert_eq!(hear(false, Some(&mut None)), unsigned);
        assert_eq!(hear(true, None), Standing::Stranger);
        assert_eq!(hear(true, Some(&mut None)), Standing::InOrder);
        let key = Secret::from_seed(&[1; 32]).public();
        let sealed = SealedSession { key, nonce: [7; 32], last: 3 };
        assert_eq!(hear(true, Some(&mut Some(sealed))), unsigned);
    }
}
