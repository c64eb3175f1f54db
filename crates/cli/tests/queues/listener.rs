//! Somebody who listens to a channel of the queue.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use bellwether_brokers::{Broker, Channel, Delivery, Outgoing, Settlement};
use bellwether_sdk::NewJob;
use serde_json::Value;
use tokio::sync::mpsc;

use crate::site::{DEADLINE, PULSE, Site};
use bellwether_bench::broker_server::Kind;

/// Reads lifecycle events, each once.
#[derive(Debug)]
pub(crate) struct Listener {
    inbox: mpsc::UnboundedReceiver<Letter>,
    seen: BTreeSet<String>,
    pub(crate) events: Vec<Value>,
    /// How many of each type, knocks left out.
    counts: BTreeMap<String, usize>,
}

/// A message of a channel that somebody listens to.
#[derive(Debug)]
struct Letter {
    error: Option<String>,
    body: Vec<u8>,
}

/// Reads a channel for as long as somebody takes what it reads.
fn read(broker: Arc<dyn Broker>, channel: Channel) -> mpsc::UnboundedReceiver<Letter> {
    let (sender, inbox) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while !sender.is_closed() {
            let Ok(deliveries) = broker.receive(&channel, 1_000).await else { continue };
            for Delivery { error, body, .. } in &deliveries {
                let letter = Letter { error: error.clone(), body: body.to_vec() };
                if sender.send(letter).is_err() {
                    return;
                }
            }
            let done = deliveries.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
            // What could not be settled comes again, and is then known.
            drop(broker.settle(done.collect()).await);
        }
    });
    inbox
}

impl Listener {
    /// Listens once this returns.
    pub(crate) async fn start(site: &Site) -> Result<Listener> {
        let inbox = read(site.outside()?, Channel::Events);
        let mut listener =
            Listener { inbox, seen: BTreeSet::new(), events: Vec::new(), counts: BTreeMap::new() };
        if site.server.kind == Kind::ZeroMq {
            listener.knock(site).await?;
        }
        Ok(listener)
    }

    /// Until something new is heard: over ZeroMQ, who is not connected yet hears nothing.
    pub(crate) async fn knock(&mut self, site: &Site) -> Result<()> {
        self.take_waiting()?;
        let client = site.client()?;
        while self.inbox.is_empty() {
            client.submit(NewJob::new("knock")).await?;
            tokio::time::sleep(PULSE).await;
        }
        self.take_waiting()
    }

    /// Until so many events of a type have come, repeats not counted.
    pub(crate) async fn until(&mut self, kind: &str, count: usize) -> Result<()> {
        let kind = format!("bellwether.{kind}");
        self.take_waiting()?;
        loop {
            let have = self.counts.get(&kind).copied().unwrap_or(0);
            if have >= count {
                return Ok(());
            }
            let next = tokio::time::timeout(DEADLINE, self.inbox.recv()).await;
            let next =
                next.with_context(|| format!("{have} of {count} events {kind} have come"))?;
            self.take(&next.context("the reader runs")?)?;
            self.take_waiting()?;
        }
    }

    /// The subjects of all events of a type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&str> {
        let wanted = self.events.iter().filter(|event| event["type"] == kind && !is_knock(event));
        wanted.filter_map(|event| event["subject"].as_str()).collect()
    }

    fn take_waiting(&mut self) -> Result<()> {
        while let Ok(letter) = self.inbox.try_recv() {
            self.take(&letter)?;
        }
        Ok(())
    }

    fn take(&mut self, letter: &Letter) -> Result<()> {
        let events: Vec<Value> = serde_json::from_slice(&letter.body)?;
        ensure!(!events.is_empty(), "a message without events");
        for event in events {
            ensure!(event["specversion"] == "1.0", "{event}");
            let source = event["source"].as_str().context("a source")?;
            let id = event["id"].as_str().context("an id")?;
            if self.seen.insert(format!("{source} {id}")) {
                if !is_knock(&event) {
                    let kind = event["type"].as_str().context("a type")?;
                    *self.counts.entry(kind.to_owned()).or_default() += 1;
                }
                self.events.push(event);
            }
        }
        Ok(())
    }
}

fn is_knock(event: &Value) -> bool {
    event["data"]["spec"]["type"] == "knock"
}

/// Reads dead letters.
#[derive(Debug)]
pub(crate) struct DeadLetters {
    inbox: mpsc::UnboundedReceiver<Letter>,
}

impl DeadLetters {
    /// Listens once this returns.
    pub(crate) async fn start(site: &Site) -> Result<DeadLetters> {
        const KNOCK: &[u8] = b"knock";
        let mut inbox = read(site.outside()?, Channel::Dead);
        if site.server.kind == Kind::ZeroMq {
            let broker = site.outside()?;
            while inbox.is_empty() {
                broker.publish(vec![Outgoing::new(Channel::Jobs, KNOCK)]).await?;
                tokio::time::sleep(PULSE).await;
            }
            // The last knock, which everything before it has passed.
            broker.publish(vec![Outgoing::new(Channel::Jobs, b"last".as_slice())]).await?;
            while inbox.recv().await.is_some_and(|letter| letter.body == KNOCK) {}
        }
        Ok(DeadLetters { inbox })
    }

    /// The next one: its error and its bytes.
    pub(crate) async fn next(&mut self) -> Result<(String, Vec<u8>)> {
        let next = tokio::time::timeout(DEADLINE, self.inbox.recv()).await;
        let letter = next.context("no dead letter has come")?.context("the reader runs")?;
        Ok((letter.error.context("a dead letter says why")?, letter.body))
    }
}
