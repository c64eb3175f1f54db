//! Members that know the same position know the same: the state, and who belongs to the pool.

use std::collections::BTreeMap;

use bellwether_core::Engine;
use bellwether_core::model::Seq;
use bellwether_journal::state;

use crate::cluster::log::Members;
use crate::cluster::sight::Sight;
use crate::faults::court::{Observation, View};
use crate::faults::invariants::Invariant;

/// Positions between two that are compared.
const COMPARED_EVERY: u64 = 5;

#[derive(Debug, Default)]
pub(crate) struct FollowersAgree {
    states: BTreeMap<Seq, [u8; 32]>,
    members: BTreeMap<u64, Members>,
}

impl Invariant for FollowersAgree {
    fn name(&self) -> &'static str {
        "followers_agree"
    }

    fn observe(&mut self, seen: &Observation<'_>, view: &View<'_>) -> Result<(), String> {
        match seen {
            Observation::BatchCommitted if is_compared(view.follower.last_seq()) => {
                self.compare("the journal", view.follower)
            }
            Observation::Among(Sight::Follows { member, index, engine, members }) => {
                let durable = view.ledger.last_seq;
                if engine.last_seq() > durable {
                    let at = engine.last_seq();
                    return Err(format!("member {member} is at {at}, committed is {durable}"));
                }
                if is_compared(engine.last_seq()) {
                    self.compare(&format!("member {member}"), engine)?;
                }
                let known = self.members.entry(*index).or_insert_with(|| Members::clone(members));
                if known != *members {
                    return Err(format!(
                        "at {index} member {member} knows {members:?}, another knew {known:?}"
                    ));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Some positions will do.
fn is_compared(seq: Seq) -> bool {
    seq.0.is_multiple_of(COMPARED_EVERY)
}

impl FollowersAgree {
    fn compare(&mut self, who: &str, engine: &Engine) -> Result<(), String> {
        let seq = engine.last_seq();
        let hash = state::hash(engine.state());
        if *self.states.entry(seq).or_insert(hash) != hash {
            return Err(format!("at {seq} {who} knows another state than the others"));
        }
        Ok(())
    }
}
