//! What runs at the leader alone: queues, webhooks, and what predictions learn from elsewhere. It begins
//! with a reign and ends with it, and the next leader goes on where this one was.

use std::sync::Arc;
use std::time::Duration;

use bellwether_host::Unavailable;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::config::ServerConfig;
use crate::edges::desk::Desk;
use crate::edges::queues::{Queues, QueuesError};
use crate::edges::webhooks::{Webhooks, WebhooksError};
use crate::event_loop::Handle;
use crate::position::Keeper;
use crate::sinks::clickhouse;
use crate::sinks::metrics::Metrics;
use crate::sinks::trace::context::Tracing;

/// After something could not be started, as while the reign is being lost.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub(crate) enum EngageError {
    #[error(transparent)]
    Queues(#[from] QueuesError),
    #[error(transparent)]
    Webhooks(#[from] WebhooksError),
}

/// Everything that a reign is made with.
#[derive(Debug, Clone)]
pub(crate) struct Means {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) desk: Desk,
    pub(crate) keeper: Keeper,
    pub(crate) tracing: Option<Tracing>,
    pub(crate) metrics: Arc<Metrics>,
}

#[derive(Debug)]
struct Engaged {
    queues: Queues,
    webhooks: Webhooks,
}

#[derive(Debug)]
pub(crate) struct Reign {
    // Taken by whoever begins or ends a reign, one after the other.
    engaged: Arc<Mutex<Option<Engaged>>>,
    /// Waits for the next reign; none for a scheduler that is alone.
    waiting: Option<JoinHandle<()>>,
}

impl Reign {
    /// Of a scheduler that is alone: it begins now, and ends with the process.
    pub(crate) async fn begin(means: &Means) -> Result<Reign, EngageError> {
        let engaged = means.engage().await?;
        Ok(Reign { engaged: Arc::new(Mutex::new(Some(engaged))), waiting: None })
    }

    /// Of one among several: it begins and ends whenever its turn does.
    pub(crate) fn wait(means: Means) -> Reign {
        let engaged = Arc::new(Mutex::new(None));
        let waiting = tokio::spawn(follow(means, engaged.clone()));
        Reign { engaged, waiting: Some(waiting) }
    }

    /// The loop is about to end: what was told so far is remembered, while it still can be.
    pub(crate) async fn quiet(self) -> Quiet {
        if let Some(waiting) = self.waiting {
            waiting.abort();
        }
        let engaged = self.engaged.lock().await.take();
        match engaged {
            Some(Engaged { queues, webhooks }) => {
                webhooks.close().await;
                Quiet(Some(queues))
            }
            None => Quiet(None),
        }
    }
}

/// A reign whose loop has been told to end.
#[derive(Debug)]
pub(crate) struct Quiet(Option<Queues>);

impl Quiet {
    /// The loop has ended: what it said last is sent.
    pub(crate) async fn end(self) {
        if let Some(queues) = self.0 {
            queues.stop().await;
        }
    }
}

async fn follow(means: Means, engaged: Arc<Mutex<Option<Engaged>>>) {
    let mut standing = means.desk.members.watch();
    loop {
        if standing.wait_for(|standing| standing.reign().is_some()).await.is_err() {
            return;
        }
        let reign = standing.borrow_and_update().reign();
        match means.engage().await {
            Ok(begun) => *engaged.lock().await = Some(begun),
            Err(error) => {
                tracing::error!(%error, "what the leader does for others could not be started");
                tokio::time::sleep(PAUSE).await;
                continue;
            }
        }
        let over = standing.wait_for(|standing| standing.reign() != reign).await.is_err();
        if let Some(Engaged { queues, webhooks }) = engaged.lock().await.take() {
            webhooks.close().await;
            queues.stop().await;
        }
        if over {
            return;
        }
    }
}

impl Means {
    async fn engage(&self) -> Result<Engaged, EngageError> {
        while self.desk.members.check_leads() == Err(Unavailable::Busy) {
            // The first leader of all is still giving the cluster its name.
            tokio::time::sleep(PAUSE / 10).await;
        }
        let Means { config, desk, keeper, tracing, metrics } = self;
        let identity = &desk.registrar.scheduler;
        let hooks = Webhooks::start(&config.webhooks, desk, keeper, identity, metrics).await?;
        if config.clickhouse.is_some() {
            warm(&desk.handle, config).await;
        }
        let queues = Queues::start(config, desk, keeper, identity, *tracing, &metrics.queues);
        Ok(Engaged { queues: queues.await?, webhooks: hooks })
    }
}

/// Gives types without a history what ClickHouse remembers of them, if it answers soon.
async fn warm(handle: &Handle, config: &ServerConfig) {
    let Some(clickhouse) = &config.clickhouse else { return };
    let commands = clickhouse::remembered(clickhouse).await;
    let types = commands.len();
    match handle.command(commands).await {
        Ok(_) if types > 0 => tracing::info!(types, "predictions know what ClickHouse remembers"),
        Ok(_) => {}
        Err(why) => tracing::warn!(%why, "predictions start without the history in ClickHouse"),
    }
}
