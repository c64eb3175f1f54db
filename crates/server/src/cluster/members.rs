//! The schedulers as the edges see them: who leads, and the wish that another does.

use std::sync::Arc;
use std::time::Duration;

use bellwether_cluster::raft::MembershipError;
use bellwether_cluster::{ClusterError, Leader, MemberId, Role};
use bellwether_core::model::{Epoch, Seq};
use bellwether_host::Unavailable;
use bellwether_wire::v1;
use tokio::sync::watch;

use super::{Seat, Standing};
use crate::event_loop::Handle;
use crate::identity::Identity;

/// How long it may take until somebody else leads.
const TRANSFER_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub(crate) struct Members {
    standing: watch::Receiver<Standing>,
    handle: Handle,
    /// None: there are no others.
    seat: Option<Seat>,
    /// This scheduler, as it would be named if it led.
    here: Arc<Leader>,
    scheme: &'static str,
    identity: Identity,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTransferred {
    #[error("there are no other schedulers; see docs/cluster.md for how to have some")]
    Alone,
    #[error(transparent)]
    NotHere(#[from] Unavailable),
    #[error("{0}")]
    Refused(#[from] ClusterError),
    #[error("nobody else has taken over yet; this scheduler tries no longer to keep the reign")]
    Late,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum NotRemoved {
    #[error("who takes part is not decided by these schedulers; stop the one that is to go")]
    NotDecidedHere,
    #[error("member {0} leads; let another lead first: bellwether cluster transfer")]
    Leads(MemberId),
    #[error(transparent)]
    NotHere(#[from] Unavailable),
    #[error(transparent)]
    Refused(#[from] MembershipError),
}

impl Members {
    pub(crate) fn new(
        standing: watch::Receiver<Standing>,
        handle: Handle,
        seat: Option<Seat>,
        here: Leader,
        scheme: &'static str,
        identity: Identity,
    ) -> Members {
        Members { standing, handle, seat, here: Arc::new(here), scheme, identity }
    }

    /// The number of this scheduler among the others.
    pub(crate) fn id(&self) -> MemberId {
        self.seat.as_ref().map_or(self.here.id, |seat| seat.status().id)
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.seat.is_none()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<Standing> {
        self.standing.clone()
    }

    /// Where HTTP is served by, before an address that does not say so.
    pub(crate) fn scheme(&self) -> &'static str {
        self.scheme
    }

    pub(crate) fn here(&self) -> Leader {
        Leader::clone(&self.here)
    }

    /// Somebody else who leads, if anybody is known to.
    pub(crate) fn leader(&self) -> Option<Leader> {
        self.standing.borrow().leader().cloned()
    }

    /// The reign, if it is this scheduler's, and what is signed for it can be checked.
    pub(crate) fn check_leads(&self) -> Result<Epoch, Unavailable> {
        let reign = self.standing.borrow().reign().ok_or(Unavailable::Following)?;
        if self.identity.is_known() { Ok(reign) } else { Err(Unavailable::Busy) }
    }

    pub(crate) fn role(&self) -> v1::SchedulerRole {
        match *self.standing.borrow() {
            Standing::Alone { .. } => v1::SchedulerRole::Alone,
            Standing::Leads { .. } => v1::SchedulerRole::Leader,
            Standing::Follows { .. } => v1::SchedulerRole::Follower,
        }
    }

    pub(crate) fn list(&self, applied: Seq) -> v1::ListMembersResponse {
        let leader = self.standing.borrow().to_wire(&self.here);
        let Some(seat) = &self.seat else {
            return v1::ListMembersResponse {
                member: self.here.id.0.into(),
                standing: v1::SchedulerStanding::Alone.into(),
                leader: Some(leader),
                committed: applied.0,
                applied: applied.0,
                members: Vec::new(),
            };
        };
        let status = seat.status();
        v1::ListMembersResponse {
            member: status.id.0.into(),
            standing: standing_to_wire(status.role).into(),
            leader: Some(leader),
            committed: status.committed.max(applied).0,
            applied: applied.0,
            members: status
                .members
                .into_iter()
                .map(|member| v1::Member {
                    member: member.id.0.into(),
                    address: member.address,
                    votes: member.votes,
                    position: member.position.map(|position| position.0),
                })
                .collect(),
        }
    }

    /// Lets another lead; returns once this one does not.
    pub(crate) async fn transfer(&self, to: Option<MemberId>) -> Result<(), NotTransferred> {
        let Some(seat) = &self.seat else { return Err(NotTransferred::Alone) };
        self.check_leads()?;
        self.handle.retire().await?;
        if let Err(why) = seat.resign(to).await {
            self.handle.go_on();
            return Err(why.into());
        }
        let mut standing = self.standing.clone();
        let over = standing.wait_for(|standing| standing.reign().is_none());
        match tokio::time::timeout(TRANSFER_PATIENCE, over).await {
            Ok(_) => Ok(()),
            Err(_) => Err(NotTransferred::Late),
        }
    }

    /// Takes a member out for good, if enough of the others answer.
    pub(crate) async fn remove(&self, id: MemberId) -> Result<(), NotRemoved> {
        self.check_leads()?;
        let Some(seat) = &self.seat else { return Err(NotRemoved::NotDecidedHere) };
        if seat.status().id == id {
            return Err(NotRemoved::Leads(id));
        }
        Ok(seat.remove(id).await.ok_or(NotRemoved::NotDecidedHere)??)
    }

    /// The same before the end of the process, if this one leads: nobody need notice that it goes.
    pub(crate) async fn hand_over(&self) {
        if self.seat.is_none() || self.standing.borrow().reign().is_none() {
            return;
        }
        if let Err(why) = self.transfer(None).await {
            tracing::info!(%why, "the reign was not handed over; another takes it once the lease is over");
        }
    }
}

fn standing_to_wire(role: Role) -> v1::SchedulerStanding {
    match role {
        Role::Following => v1::SchedulerStanding::Following,
        Role::Standing => v1::SchedulerStanding::Standing,
        Role::Acceding => v1::SchedulerStanding::Acceding,
        Role::Reigning => v1::SchedulerStanding::Reigning,
        Role::Learning => v1::SchedulerStanding::Learning,
    }
}
