//! The schedulers that may lead: one address, or several with commas between them. Whoever leads is
//! followed, by what the members say, and nobody goes back to an earlier reign.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bellwether_wire::v1;
use bellwether_wire::v1::members_client::MembersClient;
use tokio::sync::watch;

use crate::connection::{Connection, Link, Security};
use crate::error::ClientError;

/// While a leader is being found, nobody is asked less often than this.
pub(crate) const SEARCH_PAUSE_MAX: Duration = Duration::from_millis(100);
/// Until a member that can't be reached is asked again who leads.
const WATCH_PAUSE: Duration = Duration::from_millis(100);
/// Members that are known at most: those that were given, and leaders that were named.
const MEMBERS_MAX: usize = 64;

/// Clones share what is known.
#[derive(Debug, Clone)]
pub(crate) struct Fleet(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    given: String,
    security: Security,
    // Held to look one up, or to add one.
    members: Mutex<Vec<Member>>,
    bearing: watch::Sender<Bearing>,
}

#[derive(Debug, Clone)]
struct Member {
    connection: Connection,
    /// Connected once it is used, and kept.
    link: Link,
}

/// Whom to ask, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Bearing {
    member: usize,
    /// The highest reign that was heard of.
    epoch: u64,
    /// How often somebody was said to lead: to ask the next in turn is no such word.
    named: u64,
}

/// A scheduler that is asked.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    bearing: Bearing,
    pub(crate) connection: Connection,
    pub(crate) link: Link,
}

impl Fleet {
    /// It must be called within a Tokio runtime if there are several.
    pub(crate) fn new(addresses: &str, security: &Security) -> Result<Fleet, ClientError> {
        let mut members = Vec::new();
        for address in addresses.split(',').map(str::trim).filter(|address| !address.is_empty()) {
            members.push(Member::new(Connection::new(address, security)?));
        }
        if members.is_empty() {
            let (address, reason) = (addresses.to_owned(), "it names nobody".to_owned());
            return Err(ClientError::BadAddress { address, reason });
        }
        let several = members.len();
        let fleet = Fleet(Arc::new(Shared {
            given: addresses.to_owned(),
            security: security.clone(),
            members: Mutex::new(members),
            bearing: watch::Sender::new(Bearing { member: 0, epoch: 0, named: 0 }),
        }));
        if several > 1 {
            (0..several).for_each(|member| fleet.watch(member));
        }
        Ok(fleet)
    }

    /// As they were given.
    pub(crate) fn addresses(&self) -> &str {
        &self.0.given
    }

    pub(crate) fn is_single(&self) -> bool {
        self.members().len() == 1
    }

    /// Who is to be asked next.
    pub(crate) fn ask(&self) -> Asked {
        let bearing = *self.0.bearing.borrow();
        let members = self.members();
        let Member { connection, link } = members[bearing.member.min(members.len() - 1)].clone();
        Asked { bearing, connection, link }
    }

    /// Everybody who is known.
    pub(crate) fn everybody(&self) -> Vec<Asked> {
        let bearing = *self.0.bearing.borrow();
        let numbered = |(member, known): (usize, &Member)| Asked {
            bearing: Bearing { member, ..bearing },
            connection: known.connection.clone(),
            link: known.link.clone(),
        };
        self.members().iter().enumerate().map(numbered).collect()
    }

    /// Connects to the first that answers.
    pub(crate) async fn connect(&self) -> Result<(), ClientError> {
        let count = self.members().len();
        let mut failed = None;
        for _ in 0..count {
            let asked = self.ask();
            match asked.connection.connect().await {
                Ok(link) => {
                    self.members()[asked.bearing.member].link = link;
                    return Ok(());
                }
                Err(error) => {
                    failed.get_or_insert(error);
                    self.pass(&asked);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    /// It could not help: the next is asked, unless somebody is known to lead by now.
    pub(crate) fn pass(&self, asked: &Asked) {
        let count = self.members().len();
        self.0.bearing.send_if_modified(|bearing| {
            let stays = *bearing == asked.bearing && count > 1;
            if stays {
                bearing.member = (bearing.member + 1) % count;
            }
            stays
        });
    }

    /// Somebody says that this one leads. False if that is who was asked.
    pub(crate) fn follow(&self, leader: &str, asked: &Asked) -> bool {
        let Some(member) = self.find(leader) else { return false };
        if member == asked.bearing.member {
            return false;
        }
        self.0.bearing.send_if_modified(|bearing| {
            let stays = *bearing == asked.bearing;
            if stays {
                bearing.member = member;
            }
            stays
        });
        true
    }

    /// The highest reign that was heard of. One that is lower is over.
    pub(crate) fn epoch(&self) -> u64 {
        self.0.bearing.borrow().epoch
    }

    /// Whoever was asked leads in this reign.
    pub(crate) fn leads(&self, asked: &Asked, epoch: u64) {
        self.0.bearing.send_if_modified(|bearing| {
            let news = epoch > bearing.epoch;
            if news {
                *bearing = bearing.named(asked.bearing.member, epoch);
            }
            news
        });
    }

    /// Resolves once a reign has begun after this one; never if there is one scheduler alone.
    pub(crate) fn later_reign(&self, than: u64) -> impl Future<Output = ()> + Send + use<> {
        let mut bearings = self.0.bearing.subscribe();
        async move {
            if bearings.wait_for(|bearing| bearing.epoch > than).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Resolves once somebody else than who was asked is said to lead.
    pub(crate) fn elsewhere(&self, asked: &Asked) -> impl Future<Output = ()> + Send + use<> {
        let (mut bearings, before) = (self.0.bearing.subscribe(), asked.bearing);
        async move {
            let moved = |now: &Bearing| now.named > before.named && now.member != before.member;
            if bearings.wait_for(moved).await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The member at this address, which is added if nobody has named it before.
    fn find(&self, address: &str) -> Option<usize> {
        let mut members = self.members();
        let known = members.iter().position(|known| same(&known.connection.address, address));
        if known.is_some() || members.len() >= MEMBERS_MAX {
            return known;
        }
        let secure = members.iter().any(|known| known.connection.address.starts_with("https://"));
        let full = if secure && !address.contains("://") {
            format!("https://{address}")
        } else {
            address.to_owned()
        };
        members.push(Member::new(Connection::new(&full, &self.0.security).ok()?));
        Some(members.len() - 1)
    }

    /// A follower may know of a reign before the leader itself is ready for it; whoever asked too early
    /// has gone on to others, and comes back when the leader says so, too.
    fn heard(&self, told: &v1::Leadership) {
        if told.grpc.is_empty() || told.epoch < self.epoch() {
            return;
        }
        let Some(member) = self.find(&told.grpc) else { return };
        self.0.bearing.send_if_modified(|bearing| {
            let now_ready = told.here && told.epoch == bearing.epoch && member != bearing.member;
            let news = told.epoch > bearing.epoch || now_ready;
            if news {
                *bearing = bearing.named(member, told.epoch);
            }
            news
        });
    }

    /// Asks a member who leads, as long as anybody wants to know.
    fn watch(&self, member: usize) {
        let link = self.members()[member].link.clone();
        let gone = self.0.bearing.subscribe();
        tokio::spawn(watch(Arc::downgrade(&self.0), link, gone));
    }

    fn members(&self) -> std::sync::MutexGuard<'_, Vec<Member>> {
        self.0.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Bearing {
    fn named(&self, member: usize, epoch: u64) -> Bearing {
        Bearing { member, epoch, named: self.named + 1 }
    }
}

impl Member {
    fn new(connection: Connection) -> Member {
        Member { link: connection.lazy(), connection }
    }
}

async fn watch(fleet: Weak<Shared>, link: Link, mut gone: watch::Receiver<Bearing>) {
    let listen = async {
        loop {
            let asked = MembersClient::new(link.clone()).watch(v1::WatchLeaderRequest {}).await;
            if let Ok(told) = asked {
                let mut told = told.into_inner();
                while let Ok(Some(leadership)) = told.message().await {
                    let Some(fleet) = fleet.upgrade().map(Fleet) else { return };
                    fleet.heard(&leadership);
                }
            }
            tokio::time::sleep(WATCH_PAUSE).await;
        }
    };
    let dropped = async { while gone.changed().await.is_ok() {} };
    tokio::select! {
        () = listen => {}
        () = dropped => {}
    }
}

/// Whether two addresses are of one scheduler, however they are written.
fn same(one: &str, other: &str) -> bool {
    let plain = |address: &str| {
        let host = address.split_once("://").map_or(address, |(_, host)| host);
        host.trim_end_matches('/').replace("localhost", "127.0.0.1")
    };
    plain(one) == plain(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet() -> Fleet {
        Fleet::new("a:1, b:1,http://c:1/", &Security::default()).unwrap()
    }

    fn told(grpc: &str, epoch: u64) -> v1::Leadership {
        v1::Leadership { grpc: grpc.to_owned(), epoch, ..Default::default() }
    }

    #[tokio::test]
    async fn members_are_asked_in_turn_until_one_is_known_to_lead() {
        let fleet = fleet();
        let asked = fleet.ask();
        assert_eq!(asked.connection.address, "a:1");
        fleet.pass(&asked);
        // Another call that failed at the same one does not skip the next.
        fleet.pass(&asked);
        assert_eq!(fleet.ask().connection.address, "b:1");
        assert!(fleet.follow("c:1", &fleet.ask()));
        assert_eq!(fleet.ask().connection.address, "http://c:1/");
    }

    #[tokio::test]
    async fn nobody_goes_back_to_an_earlier_reign() {
        let fleet = fleet();
        fleet.heard(&told("b:1", 7));
        fleet.heard(&told("a:1", 6));
        assert_eq!((fleet.ask().connection.address.as_str(), fleet.epoch()), ("b:1", 7));
        // One that nobody had named, and whom its predecessor does not lead any more.
        fleet.heard(&told("d:1", 8));
        assert_eq!(fleet.ask().connection.address, "d:1");
        fleet.later_reign(7).await;
    }

    #[tokio::test]
    async fn who_was_named_before_it_was_ready_is_found_once_it_is() {
        let fleet = fleet();
        fleet.heard(&told("b:1", 7));
        // It does not lead yet, so the next is asked, which is stopped and never answers.
        fleet.pass(&fleet.ask());
        let asked = fleet.ask();
        assert_eq!(asked.connection.address, "http://c:1/");
        fleet.heard(&v1::Leadership { here: true, ..told("b:1", 7) });
        fleet.elsewhere(&asked).await;
        assert_eq!(fleet.ask().connection.address, "b:1");
    }

    #[test]
    fn no_address_is_no_scheduler() {
        let error = Fleet::new(" , ", &Security::default()).unwrap_err();
        assert!(matches!(error, ClientError::BadAddress { .. }), "{error}");
    }
}
