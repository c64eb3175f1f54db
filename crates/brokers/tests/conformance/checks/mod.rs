//! The promises, by name and in the order in which they are checked.

mod channels;
mod crashes;
mod dead_letters;
mod delivery;
mod limits;
mod refusals;
mod settling;

use std::fmt;

use anyhow::Result;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::stage::Stage;

/// How a promise is kept.
pub(crate) enum Outcome {
    Kept,
    /// By its nature the queue promises less, namely this, and that is what was checked.
    Weaker(&'static str),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => Ok(()),
            Self::Weaker(promise) => write!(f, " (weaker: {promise})"),
        }
    }
}

pub(crate) type Check = for<'a> fn(&'a mut Stage) -> BoxFuture<'a, Result<Outcome>>;

macro_rules! checks {
    ($($module:ident::$check:ident,)*) => {
        &[$((stringify!($check), |stage| $module::$check(stage).boxed())),*]
    };
}

pub(crate) const ALL: &[(&str, Check)] = checks![
    delivery::delivered_in_the_order_of_sending,
    delivery::batches_arrive_whole,
    delivery::receive_can_be_cancelled,
    settling::settled_is_never_seen_again,
    settling::unsettled_is_redelivered_when_its_consumer_dies,
    settling::redelivery_has_the_same_id,
    settling::released_comes_back,
    settling::held_for_long_stays_held,
    dead_letters::dead_letter_keeps_bytes_and_error,
    dead_letters::dead_letter_does_not_block_the_rest,
    channels::dispatch_reaches_only_its_worker,
    channels::replies_arrive,
    channels::events_reach_every_reader_in_order,
    channels::prefixes_do_not_mix,
    limits::higher_priority_goes_first,
    limits::large_message_arrives_whole,
    limits::unread_stays_with_the_broker,
    refusals::wrong_credentials_are_refused,
    refusals::wrong_server_is_refused,
    refusals::encrypted_only_with_whom_is_trusted,
    refusals::check_tells_the_version,
    crashes::paused_broker_is_waited_for,
    crashes::confirmed_survives_a_crash,
    crashes::nothing_is_lost_in_crashes_under_load,
];
