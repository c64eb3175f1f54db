//! Opens brokers for a check, and the few steps that all checks are made of.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use bellwether_brokers::{
    Backend, Broker, BrokerError, Channel, Delivered, Delivery, MessageId, Outgoing, Settings,
    Settlement, Side, open,
};

use crate::bed::Bed;

/// Whatever takes longer will not come.
const DEADLINE: Duration = Duration::from_secs(30);

/// How long a dead consumer may hold a message in these tests.
pub(crate) const REDELIVER_AFTER: Duration = Duration::from_secs(1);

pub(crate) struct Stage {
    pub(crate) bed: Box<dyn Bed>,
    scenes: usize,
}

/// One queue of its own for one check.
pub(crate) struct Scene {
    backend: Backend,
    prefix: String,
    prefetch: usize,
}

impl Stage {
    pub(crate) fn new(bed: Box<dyn Bed>) -> Self {
        Self { bed, scenes: 0 }
    }

    /// A queue that nobody has used before.
    pub(crate) fn scene(&mut self) -> Result<Scene> {
        self.scenes += 1;
        let prefix = format!("kai-job-{}", self.scenes);
        Ok(Scene { backend: self.bed.backend(&prefix)?, prefix, prefetch: 256 })
    }
}

impl Stage {
    /// A queue that nobody has used before and that has priorities, if that must be asked for.
    pub(crate) fn scene_with_priorities(&mut self) -> Result<Option<Scene>> {
        let Some(backend) = self.bed.backend_with_priorities()? else { return Ok(None) };
        self.scene_at(backend).map(Some)
    }

    /// A queue that nobody has used before, reached in another way.
    pub(crate) fn scene_at(&mut self, backend: Backend) -> Result<Scene> {
        Ok(Scene { backend, ..self.scene()? })
    }
}

impl Scene {
    pub(crate) fn with_prefetch(self, prefetch: usize) -> Self {
        Self { prefetch, ..self }
    }

    fn open(&self, consumer: &str, side: Side) -> Result<Arc<dyn Broker>> {
        let mut settings = settings(self.backend.clone());
        settings.stream_prefix.clone_from(&self.prefix);
        settings.consumer = consumer.to_owned();
        settings.prefetch = self.prefetch;
        settings.side = side;
        Ok(open(settings)?)
    }

    pub(crate) fn scheduler(&self) -> Result<Arc<dyn Broker>> {
        self.open("scheduler", Side::Scheduler)
    }

    /// Another process on the scheduler's side.
    pub(crate) fn successor(&self) -> Result<Arc<dyn Broker>> {
        self.open("successor", Side::Scheduler)
    }

    /// A producer, worker or watcher.
    pub(crate) fn outside(&self, name: &str) -> Result<Arc<dyn Broker>> {
        self.open(name, Side::Outside)
    }
}

/// Settings as all checks use them.
pub(crate) fn settings(backend: Backend) -> Settings {
    let mut settings = Settings::new(backend);
    settings.redeliver_after = REDELIVER_AFTER;
    settings.timeout = Duration::from_secs(5);
    settings
}

pub(crate) fn at_most_once(broker: &Arc<dyn Broker>) -> bool {
    broker.promises().delivered == Delivered::AtMostOnce
}

/// Fails with the name of the step if it takes too long.
pub(crate) async fn in_time<T>(
    step: &str,
    work: impl Future<Output = Result<T, BrokerError>>,
) -> Result<T> {
    let finished = tokio::time::timeout(DEADLINE, work).await;
    finished.with_context(|| format!("{step}: not in {DEADLINE:?}"))?.context(step.to_owned())
}

/// A message whose id tells its body.
pub(crate) fn message(channel: &Channel, body: impl ToString) -> Outgoing {
    let body = body.to_string();
    let mut message = Outgoing::new(channel.clone(), body.clone());
    message.id = Some(MessageId::new(format!("id-{body}")));
    message
}

pub(crate) fn messages(channel: &Channel, range: std::ops::Range<usize>) -> Vec<Outgoing> {
    range.map(|number| message(channel, number)).collect()
}

/// Publishes, again and again while the server is away.
pub(crate) async fn publish(broker: &Arc<dyn Broker>, messages: Vec<Outgoing>) -> Result<()> {
    let trying = async {
        loop {
            match broker.publish(messages.clone()).await {
                Err(BrokerError::Lost { .. }) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
                result => return result,
            }
        }
    };
    in_time("publish", trying).await
}

/// Receives exactly so many messages.
pub(crate) async fn receive(
    broker: &Arc<dyn Broker>,
    channel: &Channel,
    count: usize,
) -> Result<Vec<Delivery>> {
    let mut all = Vec::new();
    while all.len() < count {
        let step = format!("receive {count} of {channel}, got {}", all.len());
        all.extend(in_time(&step, broker.receive(channel, count - all.len())).await?);
    }
    Ok(all)
}

pub(crate) async fn settle(broker: &Arc<dyn Broker>, deliveries: Vec<Delivery>) -> Result<()> {
    let done = deliveries.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
    in_time("settle", broker.settle(done.collect())).await
}

pub(crate) fn bodies(deliveries: &[Delivery]) -> Vec<String> {
    let text = |delivery: &Delivery| String::from_utf8_lossy(&delivery.body).into_owned();
    deliveries.iter().map(text).collect()
}

pub(crate) fn numbers(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|number| number.to_string()).collect()
}

/// Waits until the channel holds so many messages, where that can be asked.
pub(crate) async fn backlog_becomes(
    broker: &Arc<dyn Broker>,
    channel: &Channel,
    expected: u64,
) -> Result<()> {
    let began = std::time::Instant::now();
    loop {
        let seen = match broker.backlog(channel).await {
            Ok(Some(seen)) if seen != expected => seen.to_string(),
            Ok(_) => return Ok(()),
            // The server is coming back.
            Err(error @ BrokerError::Lost { .. }) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        ensure!(began.elapsed() < DEADLINE, "backlog of {channel} stays {seen}, not {expected}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Makes a worker known to the scheduler, as every worker does first.
pub(crate) async fn register(scheduler: &Arc<dyn Broker>, worker: &Arc<dyn Broker>) -> Result<()> {
    let waiting = {
        let scheduler = Arc::clone(scheduler);
        tokio::spawn(async move { receive(&scheduler, &Channel::Replies, 1).await })
    };
    publish(worker, vec![Outgoing::new(Channel::Replies, "hello")]).await?;
    let hello = waiting.await??;
    settle(scheduler, hello).await
}
