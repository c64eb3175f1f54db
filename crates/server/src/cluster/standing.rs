//! Whether this scheduler leads, for everybody who must know.

use bellwether_cluster::Leader;
use bellwether_core::model::Epoch;
use bellwether_wire::v1;

/// What a scheduler is just now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Standing {
    /// There are no others.
    Alone {
        epoch: Epoch,
    },
    Leads {
        epoch: Epoch,
    },
    /// None if nobody is known to lead.
    Follows {
        leader: Option<Leader>,
    },
}

impl Standing {
    /// The reign that this scheduler is in.
    pub(crate) fn reign(&self) -> Option<Epoch> {
        match self {
            Standing::Alone { epoch } | Standing::Leads { epoch } => Some(*epoch),
            Standing::Follows { .. } => None,
        }
    }

    /// Somebody else, who is asked instead.
    pub(crate) fn leader(&self) -> Option<&Leader> {
        match self {
            Standing::Follows { leader } => leader.as_ref(),
            Standing::Alone { .. } | Standing::Leads { .. } => None,
        }
    }

    /// `grpc` and `http` are where this scheduler itself is reached.
    pub(crate) fn to_wire(&self, here: &Leader) -> v1::Leadership {
        let leader = match self {
            Standing::Alone { epoch } | Standing::Leads { epoch } => {
                Leader { epoch: *epoch, ..here.clone() }
            }
            Standing::Follows { leader: Some(leader) } => leader.clone(),
            Standing::Follows { leader: None } => return v1::Leadership::default(),
        };
        v1::Leadership {
            grpc: leader.grpc,
            http: leader.http,
            epoch: leader.epoch.0,
            member: leader.id.0.into(),
            here: self.reign().is_some(),
        }
    }
}
