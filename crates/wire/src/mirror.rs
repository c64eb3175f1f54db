//! Enums that the core and the schema both have.

use bellwether_core::event::DeadReason;
use bellwether_core::model::config::{Backoff, PredictorKind};
use bellwether_core::model::{
    FailureCause, Guarantee, JobStatus, KeyStanding, OnFailure, OnLimit, Priority, RevokeReason,
    Strategy,
};
use bellwether_core::place::breaker::BreakerState;

use crate::malformed::Malformed;
use crate::v1;

/// A core enum with its number in the schema. Zero is never one of them: it stands for "not said".
pub trait Mirror: Copy {
    const WANTED: &'static str;

    fn to_wire(self) -> i32;
    fn from_wire(number: i32) -> Option<Self>;

    /// For a field that must be set.
    fn required(field: &str, number: i32) -> Result<Self, Malformed> {
        if number == 0 {
            return Err(Malformed::missing(field));
        }
        Self::from_wire(number).ok_or_else(|| Malformed::not_allowed(field, number, Self::WANTED))
    }

    /// For a field that may be left out.
    fn optional(field: &str, number: i32) -> Result<Option<Self>, Malformed> {
        if number == 0 { Ok(None) } else { Self::required(field, number).map(Some) }
    }
}

macro_rules! mirror {
    ($name:ident, $wanted:literal: $($variant:ident),+ $(,)?) => {
        mirror!($name = $name, $wanted: $($variant),+);
    };
    ($name:ident = $wire:ident, $wanted:literal: $($variant:ident),+ $(,)?) => {
        impl Mirror for $name {
            const WANTED: &'static str = $wanted;

            fn to_wire(self) -> i32 {
                match self {
                    $($name::$variant => v1::$wire::$variant as i32,)+
                }
            }

            fn from_wire(number: i32) -> Option<$name> {
                match v1::$wire::try_from(number).ok()? {
                    v1::$wire::Unspecified => None,
                    $(v1::$wire::$variant => Some($name::$variant),)+
                }
            }
        }

        impl v1::$wire {
            pub fn as_str(self) -> &'static str {
                $name::from_wire(self.into()).map_or("unknown", $name::as_str)
            }
        }
    };
}

mirror!(
    JobStatus = JobState, "it must be a state from 1 to 10":
    Waiting, Delayed, Ready, Offered, Running, Completed, Failed, Cancelled, Skipped, DeadLettered,
);
mirror!(Priority, "it must be a priority from 1 to 4": Low, Normal, High, Critical);
mirror!(Guarantee, "it must be a guarantee from 1 to 3": AtMostOnce, AtLeastOnce, ExactlyOnce);
mirror!(OnLimit, "it must be 1 (queue), 2 (skip) or 3 (replace)": Queue, Skip, Replace);
mirror!(OnFailure, "it must be 1 (skip) or 2 (run)": Skip, Run);
mirror!(
    FailureCause, "it must be a failure cause from 1 to 8":
    Failed, TimedOut, Stalled, WorkerLost, Undelivered, Returned, Permanent, NoHandler,
);
mirror!(
    RevokeReason, "it must be a revoke reason from 1 to 5":
    HedgeLost, Cancelled, GivenUp, Unknown, HandedOff,
);
mirror!(KeyStanding, "it must be a standing from 1 to 3": FirstUse, Approved, Revoked);
mirror!(DeadReason, "it must be a reason from 1 to 2": RetriesUsedUp, Poison);
mirror!(
    Strategy, "it must be a strategy from 1 to 5, or 100":
    Predictive, LeastLoaded, RoundRobin, Affinity, Random, Formula,
);
mirror!(BreakerState, "it must be a state from 1 to 3": Closed, HalfOpen, Open);
mirror!(
    PredictorKind, "it must be a predictor from 1 to 3, or 100":
    Ema, Hierarchical, Auto, Failing,
);
mirror!(Backoff, "it must be a backoff from 1 to 3": Exponential, Linear, Constant);
