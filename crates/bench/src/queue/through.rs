//! Jobs through the queue: published, executed, and their events read from the queue again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_brokers::{Broker, Channel, MessageId, Outgoing, Settlement, Side};
use tokio::task::JoinSet;

use super::{Loads, Measured, PACED_RATE};
use crate::broker_server::BrokerServer;
use crate::load::{STUCK_AFTER, TYPE, Tally, json_payload};

/// Messages that are published or received together.
pub(super) const BATCH: usize = 1_000;
/// Batches that are published at the same time.
pub(super) const LANES: usize = 4;
const KNOCK_INTERVAL: Duration = Duration::from_millis(20);

/// Until the last event of completion was read.
pub(super) async fn measure(loads: &Loads, server: &BrokerServer) -> anyhow::Result<Measured> {
    let producer = bellwether_brokers::open(server.settings(Side::Outside))?;
    let mut listener =
        Listener { broker: bellwether_brokers::open(server.settings(Side::Outside))? };
    publish(producer.as_ref(), &loads.warm_up.tally, loads.warm_up.jobs()).await?;
    loads.warm_up.tally.wait_until_confirmed().await?;
    listener.hear(producer.as_ref()).await?;
    let (fast, jobs) = (&loads.fast.tally, loads.fast.jobs());
    let begun = Instant::now();
    tokio::try_join!(publish(producer.as_ref(), fast, jobs), listener.completed(fast, jobs))?;
    let jobs_per_s = jobs as f64 / begun.elapsed().as_secs_f64();
    publish_paced(&producer, &loads.paced.tally, loads.paced.jobs()).await?;
    loads.paced.tally.wait_until_confirmed().await?;
    let start_p99_ms = loads.paced.tally.until_started().quantile_ms(0.99);
    Ok(Measured { jobs_per_s, start_p99_ms })
}

/// At even intervals. What is late is sent at once, with the time at which it was due.
async fn publish_paced(producer: &Arc<dyn Broker>, tally: &Tally, jobs: u64) -> anyhow::Result<()> {
    let mut publishing = JoinSet::new();
    let begun = Instant::now();
    for number in 0..jobs {
        let due = begun + Duration::from_secs_f64(number as f64 / PACED_RATE);
        tokio::time::sleep_until(due.into()).await;
        tally.sent(number, due);
        let (producer, message) = (Arc::clone(producer), message(tally, number));
        publishing.spawn(async move { producer.publish(vec![message]).await });
    }
    while let Some(published) = publishing.join_next().await {
        published??;
    }
    Ok(())
}

async fn publish(producer: &dyn Broker, tally: &Tally, jobs: u64) -> anyhow::Result<()> {
    let lane = async |lane: usize| {
        let batches = (0..jobs).step_by(BATCH).skip(lane).step_by(LANES);
        for start in batches {
            let end = (start + BATCH as u64).min(jobs);
            let now = Instant::now();
            let batch = (start..end).map(|number| {
                tally.sent(number, now);
                message(tally, number)
            });
            producer.publish(batch.collect()).await?;
        }
        anyhow::Ok(())
    };
    const { assert!(LANES == 4, "as many as are joined here") };
    tokio::try_join!(lane(0), lane(1), lane(2), lane(3))?;
    Ok(())
}

pub(super) fn job(id: &str) -> String {
    format!(r#"{{"id":"{id}","type":"{TYPE}","payload":{}}}"#, json_payload(id))
}

fn message(tally: &Tally, number: u64) -> Outgoing {
    let id = tally.id(number);
    let mut message = Outgoing::new(Channel::Jobs, job(&id));
    message.id = Some(MessageId::new(id));
    message
}

struct Listener {
    broker: Arc<dyn Broker>,
}

impl Listener {
    /// Until something is heard: over ZeroMQ, who only begins to listen misses what happens
    /// meanwhile.
    async fn hear(&mut self, producer: &dyn Broker) -> anyhow::Result<()> {
        let heard = self.broker.receive(&Channel::Events, BATCH);
        let knock = async {
            for number in 0_u64.. {
                let knock = Outgoing::new(Channel::Jobs, job(&format!("knock-{number}")));
                producer.publish(vec![knock]).await?;
                tokio::time::sleep(KNOCK_INTERVAL).await;
            }
            anyhow::Ok(())
        };
        tokio::select! {
            heard = heard => {
                let done = heard?.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
                Ok(self.broker.settle(done.collect()).await?)
            }
            knocked = knock => knocked,
            () = tokio::time::sleep(STUCK_AFTER) => anyhow::bail!("no event has come"),
        }
    }

    /// Reads until every job of the tally is said to be completed.
    async fn completed(&mut self, tally: &Tally, jobs: u64) -> anyhow::Result<()> {
        let said = format!("{COMPLETED},\"subject\":\"{}", tally.prefix);
        let said = memchr::memmem::Finder::new(&said);
        let mut completed = 0;
        while completed < jobs {
            let next = self.broker.receive(&Channel::Events, BATCH);
            let deliveries = tokio::time::timeout(STUCK_AFTER, next)
                .await
                .with_context(|| format!("events of {completed} of {jobs} jobs have come"))??;
            // A look at the bytes: reading JSON is not what is measured.
            let bodies = deliveries.iter().map(|delivery| &delivery.body);
            completed += bodies.map(|body| said.find_iter(body).count() as u64).sum::<u64>();
            let done = deliveries.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
            self.broker.settle(done.collect()).await?;
        }
        Ok(())
    }
}

const COMPLETED: &str = "\"type\":\"bellwether.job_completed\"";
