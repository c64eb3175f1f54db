//! Webhooks: events, posted to whoever asked for them, signed, and again until they are taken.
//!
//! Each receiver has a task of its own that reads the journal at its own pace and remembers on disk
//! how far it is. A receiver that is slow or dead costs nobody else anything; what it does not take
//! after a number of attempts is dropped and counted.
//!
//! Deliberately absent: following redirects, and reaching addresses of the inside, unless that is
//! allowed: whoever may write the configuration of a receiver may not be trusted with our network.

mod address;
mod deliver;
mod post;
mod signature;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::config::Webhook;
use crate::edges::desk::Desk;
use crate::identity::Identity;
use crate::position::{Keeper, PositionError};
use crate::sinks::metrics::Metrics;
use deliver::Delivery;
use post::Poster;
pub use post::TlsSetupError;

/// Where positions are kept.
const FOLDER: &str = "webhooks";

#[derive(Debug)]
pub(crate) struct Webhooks {
    tasks: JoinSet<()>,
    stop: watch::Sender<bool>,
}

#[derive(Debug, thiserror::Error)]
pub enum WebhooksError {
    #[error(transparent)]
    Position(#[from] PositionError),
    #[error(transparent)]
    Tls(#[from] TlsSetupError),
}

impl Webhooks {
    pub(crate) async fn start(
        hooks: &[Webhook],
        desk: &Desk,
        keeper: &Keeper,
        identity: &Identity,
        metrics: &Arc<Metrics>,
    ) -> Result<Webhooks, WebhooksError> {
        let (stop, stopped) = watch::channel(false);
        let mut tasks = JoinSet::new();
        for hook in hooks {
            let name = blake3::hash(hook.url.as_bytes()).to_hex();
            let name = format!("{FOLDER}/{}", &name[..16]);
            let position = keeper.open(&name, desk.handle.durable()).await?;
            let poster = Poster::new(hook)?;
            let delivery = Delivery {
                hook: hook.clone(),
                desk: desk.clone(),
                source: identity.clone(),
                poster,
                done: position.published(),
                position,
                metrics: metrics.clone(),
                stopped: stopped.clone(),
            };
            tasks.spawn(delivery.run());
        }
        Ok(Webhooks { tasks, stop })
    }

    /// Remembers how far everybody is.
    pub(crate) async fn close(mut self) {
        self.stop.send_replace(true);
        while self.tasks.join_next().await.is_some() {}
    }
}
