//! Jobs that depend on ones that are not known yet: producers race, so what they wait for may only be
//! on its way. They are held aside for a while, and tried again, so that nothing else waits for them.

use std::time::Duration;

use bellwether_brokers::{Delivery, Settlement};
use bellwether_core::Rejection;
use bellwether_wire::rejection::retry_after;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use super::Queue;
use super::jobs::{dead, is_known, may_be_repeated, refused, settle, submit};
use crate::edges::desk::Refused;

/// Messages of one queue that may be held aside; beyond, they are refused at once.
pub(super) const HELD_ASIDE_MAX: usize = 10_000;
/// How often it is tried again.
const PAUSE: Duration = Duration::from_millis(200);

/// Tries until it is taken, refused for another reason, or has waited long enough.
pub(super) async fn wait(queue: Queue, mut delivery: Delivery, _place: OwnedSemaphorePermit) {
    let until = Instant::now() + queue.dependency_wait;
    loop {
        tokio::select! {
            () = tokio::time::sleep(PAUSE) => {}
            () = queue.stopped() => {
                return settle(&queue, vec![Settlement::Release(delivery.receipt)]).await;
            }
        }
        let (mut deliveries, answers) = submit(&queue, vec![delivery]).await.answered(&queue).await;
        // What can't be read is settled already.
        let Some(back) = deliveries.pop() else { return };
        let settled = match answers.ok().and_then(|mut answers| answers.pop()) {
            // Nothing is taken for now.
            None => {
                delivery = back;
                continue;
            }
            Some(Ok(_)) => Settlement::Done(back.receipt),
            Some(Err(Refused::Malformed(why))) => dead(back, &why),
            Some(Err(Refused::Rejected(why))) => {
                let unknown = matches!(why, Rejection::UnknownDependency { .. });
                if (unknown && Instant::now() < until) || retry_after(&why).is_some() {
                    delivery = back;
                    continue;
                }
                let known =
                    may_be_repeated(&why) && matches!(is_known(&queue, &back).await, Ok(true));
                if known { Settlement::Done(back.receipt) } else { refused(back, &why) }
            }
        };
        return settle(&queue, vec![settled]).await;
    }
}
