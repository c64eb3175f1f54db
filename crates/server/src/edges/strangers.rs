//! Connections of whom nothing is known yet. Whoever comes when there is no place left gets that of the
//! stranger who has kept one longest, so that nobody keeps out those who have a token.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};

use futures_util::task::AtomicWaker;

use super::places::{Place, Places, peer_of};

/// Where connections sit that are served.
#[derive(Debug, Clone)]
pub(super) struct Seats {
    places: Places,
    /// In the order in which they came; held to look for one.
    strangers: Arc<Mutex<VecDeque<Stranger>>>,
    /// As many strangers as there can be: more are remembered only until somebody counts.
    strangers_max: usize,
}

#[derive(Debug)]
struct Stranger {
    peer: IpAddr,
    seat: Weak<Seat>,
}

/// A place in use; free again when it is dropped, or when it was given to somebody else.
#[derive(Debug)]
pub(super) struct Seat {
    known: Arc<AtomicBool>,
    /// Taken out when it is given away.
    place: Mutex<Option<Place>>,
    /// Of whoever reads from the connection.
    waker: AtomicWaker,
}

impl Seats {
    pub(super) fn new(max: usize) -> Seats {
        Seats { places: Places::new(max), strangers: Arc::default(), strangers_max: max }
    }

    /// None if all who have one are known. `known` says whether this one is, by now.
    pub(super) fn take(&self, address: IpAddr, known: Arc<AtomicBool>) -> Option<Arc<Seat>> {
        let peer = peer_of(address);
        let of_the_same = |stranger: &Stranger| stranger.peer == peer;
        let place = (self.places.take(address))
            .or_else(|| self.free_one(of_the_same).then(|| self.places.take(address))?)
            .or_else(|| self.free_one(|_| true).then(|| self.places.take(address))?)?;
        let place = Mutex::new(Some(place));
        let seat = Arc::new(Seat { known, place, waker: AtomicWaker::new() });
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        if strangers.len() >= self.strangers_max {
            strangers.retain(Stranger::is_one);
        }
        strangers.push_back(Stranger { peer, seat: Arc::downgrade(&seat) });
        Some(seat)
    }

    /// Sends away the oldest of those that are meant; says whether there was one.
    fn free_one(&self, is_meant: impl Fn(&Stranger) -> bool) -> bool {
        let mut strangers = self.strangers.lock().unwrap_or_else(PoisonError::into_inner);
        strangers.retain(Stranger::is_one);
        let found = strangers.iter().position(is_meant).and_then(|index| strangers.remove(index));
        let seat = found.and_then(|stranger| stranger.seat.upgrade());
        seat.is_some_and(|seat| seat.lose())
    }
}

impl Stranger {
    /// Whether it is still there, and still one.
    fn is_one(&self) -> bool {
        self.seat.upgrade().is_some_and(|seat| !seat.known.load(Ordering::Relaxed))
    }
}

impl Seat {
    /// Ready once the place was given to somebody else; never for those who are known.
    pub(super) fn poll_lost(&self, context: &mut Context<'_>) -> Poll<()> {
        if self.known.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        // Before the look: who gives the place away after it wakes us.
        self.waker.register(context.waker());
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_none() { Poll::Ready(()) } else { Poll::Pending }
    }

    fn lose(&self) -> bool {
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let had_one = place.is_some();
        drop(place);
        self.waker.wake();
        had_one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn is_lost(seat: &Seat) -> bool {
        let waker = std::task::Waker::noop();
        seat.poll_lost(&mut Context::from_waker(waker)).is_ready()
    }

    #[test]
    fn the_oldest_stranger_gives_way_and_nobody_who_is_known() {
        let seats = Seats::new(4);
        let known = Arc::new(AtomicBool::new(false));
        let first = seats.take(peer("10.0.0.1"), known.clone()).expect("there is room");
        let second = seats.take(peer("10.0.0.1"), Arc::default()).expect("there is room");
        known.store(true, Ordering::Relaxed);
        let third = seats.take(peer("10.0.0.1"), Arc::default()).expect("a stranger gives way");
        assert!(!is_lost(&first) && is_lost(&second) && !is_lost(&third));
    }

    #[test]
    fn strangers_of_others_give_way_when_all_places_are_taken() {
        let seats = Seats::new(2);
        let first = seats.take(peer("10.0.0.1"), Arc::default()).expect("there is room");
        let second = seats.take(peer("10.0.0.2"), Arc::default()).expect("there is room");
        let third = seats.take(peer("10.0.0.3"), Arc::default()).expect("a stranger gives way");
        assert!(is_lost(&first) && !is_lost(&second) && !is_lost(&third));
    }

    #[test]
    fn where_all_are_known_nobody_gives_way() {
        let seats = Seats::new(2);
        let known = || Arc::new(AtomicBool::new(true));
        let taken = seats.take(peer("10.0.0.1"), known());
        assert!(taken.is_some() && seats.take(peer("10.0.0.1"), known()).is_none());
        drop(taken);
        assert!(seats.take(peer("10.0.0.1"), known()).is_some(), "places come back");
    }
}
