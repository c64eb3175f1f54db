//! Signing in with a link. It carries a ticket that is good once and for a short time; whoever brings
//! it gets the token that it was made with. So the token itself is in no link, no history of a browser
//! and no log.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bellwether_wire::json::hex;

use super::tokens::{TokenHash, hash};

/// Tickets that may wait to be used; the oldest goes first.
const TICKETS_MAX: usize = 64;
pub(crate) const VALID_FOR: Duration = Duration::from_secs(600);
const TICKET_BYTES: usize = 20;

#[derive(Debug, Clone, Default)]
pub(crate) struct SignIns {
    // Held only to look one up or to put one in.
    waiting: Arc<Mutex<VecDeque<Ticket>>>,
}

struct Ticket {
    hash: TokenHash,
    token: String,
    until: Instant,
}

/// Without its secrets.
impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ticket").field("until", &self.until).finish_non_exhaustive()
    }
}

impl SignIns {
    /// A ticket for whoever holds this token.
    pub(crate) fn issue(&self, token: &str, now: Instant) -> std::io::Result<String> {
        let mut secret = [0; TICKET_BYTES];
        getrandom::fill(&mut secret)?;
        let ticket = hex(&secret);
        let mut waiting = self.lock();
        waiting.retain(|known| known.until > now);
        if waiting.len() >= TICKETS_MAX {
            waiting.pop_front();
        }
        let (hash, token) = (hash(&ticket), token.to_owned());
        waiting.push_back(Ticket { hash, token, until: now + VALID_FOR });
        Ok(ticket)
    }

    /// The token that a ticket stands for; from then on it stands for nothing.
    pub(crate) fn redeem(&self, ticket: &str, now: Instant) -> Option<String> {
        let wanted = hash(ticket);
        let mut waiting = self.lock();
        waiting.retain(|known| known.until > now);
        let place = waiting.iter().position(|known| known.hash == wanted)?;
        waiting.remove(place).map(|ticket| ticket.token)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Ticket>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The page that takes a ticket: behind the `#`, which browsers send to nobody.
pub(crate) fn link(scheme: &str, address: &str, ticket: Option<&str>) -> String {
    let fragment = ticket.map(|ticket| format!("#ticket={ticket}")).unwrap_or_default();
    format!("{scheme}{address}/ui/{fragment}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_good_once_and_for_ten_minutes() {
        let (tickets, now) = (SignIns::default(), Instant::now());
        let used = tickets.issue("secret", now).unwrap();
        let late = tickets.issue("secret", now).unwrap();
        assert_eq!(tickets.redeem(&used, now).as_deref(), Some("secret"));
        assert_eq!(tickets.redeem(&used, now), None);
        assert_eq!(tickets.redeem(&late, now + VALID_FOR), None);
        assert_eq!(tickets.redeem("", now), None);
    }

    #[test]
    fn tickets_that_nobody_uses_make_room() {
        let (tickets, now) = (SignIns::default(), Instant::now());
        let first = tickets.issue("first", now).unwrap();
        for _ in 0..TICKETS_MAX {
            tickets.issue("later", now).unwrap();
        }
        assert_eq!(tickets.redeem(&first, now), None);
    }
}
