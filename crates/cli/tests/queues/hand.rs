//! A worker over a queue whose every word the test says.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bellwether_brokers::{Broker, BrokerError, Channel, Outgoing, Settlement};
use bellwether_wire::json::handoff::bytes_from_hex;
use bellwether_wire::json::reply::{Place, seal};
use bellwether_wire::signing::{Secret, key_file};
use serde_json::{Value, json};

use crate::site::{DEADLINE, Site, eventually};

pub(crate) struct Hand {
    broker: Arc<dyn Broker>,
    pub(crate) worker: &'static str,
    pub(crate) secret: Secret,
    /// The scheduler, as it has named itself, and the session that it has asked for.
    pub(crate) scheduler: String,
    pub(crate) session: [u8; 32],
    pub(crate) epoch: u64,
    pub(crate) number: u64,
    heard: Vec<Value>,
}

impl Hand {
    pub(crate) fn new(site: &Site, worker: &'static str) -> Result<Hand> {
        let secret = key_file::load_or_make(&site.path(&format!("{worker}.key")))?;
        Ok(Hand {
            broker: site.outside_as(worker)?,
            worker,
            secret,
            scheduler: String::new(),
            session: [0; 32],
            epoch: 0,
            number: 0,
            heard: Vec::new(),
        })
    }

    /// The same worker, whose connection is gone.
    pub(crate) fn connect_again(&mut self, site: &Site) -> Result<()> {
        self.broker = site.outside_as(self.worker)?;
        Ok(())
    }

    pub(crate) fn body(&self, kind: &str, more: Value) -> Result<String> {
        let mut body = json!({"type": kind, "worker": self.worker});
        let fields = body.as_object_mut().context("an object")?;
        fields.extend(more.as_object().cloned().unwrap_or_default());
        Ok(body.to_string())
    }

    /// Signed, as the next message of the session.
    pub(crate) async fn say(&mut self, kind: &str, more: Value) -> Result<()> {
        self.number += 1;
        let body = self.body(kind, more)?;
        let place =
            Place { scheduler: &self.scheduler, session: &self.session, number: self.number };
        let sealed = seal(&body, place, &self.secret)?;
        self.send(sealed).await
    }

    /// Without a signature.
    pub(crate) async fn say_plain(&self, kind: &str, more: Value) -> Result<()> {
        self.send(self.body(kind, more)?.into_bytes()).await
    }

    pub(crate) async fn send(&self, body: Vec<u8>) -> Result<()> {
        let message = Outgoing::new(Channel::Replies, body);
        eventually("the broker is there", || async {
            match self.broker.publish(vec![message.clone()]).await {
                Ok(()) => Ok(Some(())),
                Err(BrokerError::Lost { .. }) => Ok(None),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// What the scheduler asks it to sign.
    pub(crate) async fn asked(&mut self) -> Result<Value> {
        self.say_plain("hello", json!({})).await?;
        self.hear("challenge").await
    }

    /// Registers in the session that was asked for.
    pub(crate) async fn answer(&mut self, challenge: &Value, more: Value) -> Result<()> {
        let nonce = bytes_from_hex(challenge["nonce"].as_str().context("a nonce")?);
        self.session = nonce.and_then(|nonce| nonce.try_into().ok()).context("a session")?;
        self.scheduler = challenge["scheduler"].as_str().context("a name")?.to_owned();
        self.epoch = challenge["epoch"].as_u64().context("an epoch")?;
        self.number = 0;
        let mut more = more;
        more["public_key"] = json!(self.secret.public().to_string());
        self.say("register", more).await
    }

    pub(crate) async fn register(&mut self, more: Value) -> Result<Value> {
        let challenge = self.asked().await?;
        self.answer(&challenge, more).await?;
        self.hear("welcome").await
    }

    /// Says it again until it is answered, as one must where messages can be lost.
    pub(crate) async fn say_until(
        &mut self,
        kind: &str,
        more: Value,
        answer: &str,
    ) -> Result<Value> {
        const PATIENCE: Duration = Duration::from_secs(1);
        loop {
            self.say(kind, more.clone()).await?;
            if let Ok(heard) = tokio::time::timeout(PATIENCE, self.hear(answer)).await {
                return heard;
            }
        }
    }

    /// The next message of a kind; others before it are skipped.
    pub(crate) async fn hear(&mut self, kind: &str) -> Result<Value> {
        loop {
            if let Some(at) = self.heard.iter().position(|message| message["type"] == kind) {
                return self.heard.drain(..=at).next_back().context("it was found");
            }
            let channel = Channel::dispatch(self.worker);
            let next = tokio::time::timeout(DEADLINE, self.broker.receive(&channel, 100));
            let deliveries = next.await.with_context(|| format!("no {kind} has come"))??;
            for delivery in &deliveries {
                self.heard.push(serde_json::from_slice(&delivery.body)?);
            }
            let done = deliveries.into_iter().map(|delivery| Settlement::Done(delivery.receipt));
            self.broker.settle(done.collect()).await?;
        }
    }
}
