//! Places for connections: so many in all, and no more than half of them for one peer, so that nobody
//! can keep all others out.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

#[derive(Debug, Clone)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    peer_max: usize,
    // Held to count one more or one less.
    by_peer: Arc<Mutex<FxHashMap<IpAddr, usize>>>,
}

/// Free again when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _one_of_all: OwnedSemaphorePermit,
    places: Places,
    peer: IpAddr,
}

impl Places {
    pub(super) fn new(max: usize) -> Places {
        let all = Arc::new(Semaphore::new(max));
        Places { all, peer_max: max.div_ceil(2), by_peer: Arc::default() }
    }

    /// None if there is none left, or none for this peer.
    pub(super) fn take(&self, address: IpAddr) -> Option<Place> {
        let one_of_all = self.all.clone().try_acquire_owned().ok()?;
        let peer = peer_of(address);
        let mut by_peer = self.by_peer.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = by_peer.entry(peer).or_default();
        if *taken >= self.peer_max {
            return None;
        }
        *taken += 1;
        Some(Place { _one_of_all: one_of_all, places: self.clone(), peer })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut by_peer = self.places.by_peer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = by_peer.get_mut(&self.peer) {
            *taken -= 1;
            if *taken == 0 {
                by_peer.remove(&self.peer);
            }
        }
    }
}

/// Whoever has one address of IPv6 has all of its network.
pub(super) fn peer_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_peer_can_not_take_all_places() {
        let places = Places::new(4);
        let peer = |text: &str| text.parse::<IpAddr>().unwrap();
        let taken: Vec<_> = (0..3).map(|_| places.take(peer("10.0.0.1"))).collect();
        assert_eq!(taken.iter().flatten().count(), 2);
        assert!(places.take(peer("::ffff:10.0.0.1")).is_none(), "it is the same");
        let first = places.take(peer("2001:db8::1"));
        let second = places.take(peer("2001:db8::2"));
        assert!(first.is_some() && second.is_some());
        assert!(places.take(peer("10.0.0.2")).is_none(), "there are four");
        drop(taken);
        assert!(places.take(peer("10.0.0.1")).is_some(), "places come back");
    }
}
