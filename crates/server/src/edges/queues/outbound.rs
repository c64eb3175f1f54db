//! What workers on a queue are told, on its way there, and the end of what they said.

use std::time::Duration;

use bellwether_brokers::{BrokerError, Outgoing, Settlement};
use tokio::sync::mpsc;

use super::{Queue, REFUSED_PAUSE};

/// What may wait for the server. Sessions that wait for longer are cut off by the loop.
pub(super) const MESSAGES_MAX: usize = 1_024;
const RETRY_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) enum Outbound {
    Tell(Vec<Outgoing>),
    Settle(Vec<Settlement>),
}

pub(super) async fn run(queue: Queue, mut outbound: mpsc::Receiver<Outbound>) {
    let mut waiting = Vec::new();
    while outbound.recv_many(&mut waiting, MESSAGES_MAX).await > 0 {
        let (mut messages, mut settlements) = (Vec::new(), Vec::new());
        for item in waiting.drain(..) {
            match item {
                Outbound::Tell(told) => messages.extend(told),
                Outbound::Settle(settled) => settlements.extend(settled),
            }
        }
        if !settlements.is_empty()
            && let Err(error) = queue.broker.settle(settlements).await
        {
            // They come again, and are then late or known.
            tracing::debug!(queue = %queue.name, %error, "replies will be delivered again");
        }
        if !messages.is_empty() && !publish(&queue, messages).await {
            return;
        }
    }
}

async fn publish(queue: &Queue, messages: Vec<Outgoing>) -> bool {
    loop {
        let pause = match queue.broker.publish(messages.clone()).await {
            Ok(()) => return true,
            Err(error @ BrokerError::Lost { .. }) => {
                tracing::debug!(queue = %queue.name, %error, "offers wait");
                RETRY_PAUSE
            }
            Err(error) => {
                tracing::error!(queue = %queue.name, %error, "workers can't be told");
                REFUSED_PAUSE
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = queue.stopped() => return false,
        }
    }
}
