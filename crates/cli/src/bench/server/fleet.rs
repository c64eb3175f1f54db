//! The workers of a measurement, all in this process.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Client, Context, Outcome, Worker};

use super::load::{Load, TYPE};

const POLL: Duration = Duration::from_millis(5);
const KNOWN_WITHIN: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(in crate::bench) struct Fleet {
    workers: Vec<RunningWorker>,
}

impl Fleet {
    pub(in crate::bench) fn start(
        address: &str,
        workers: u32,
        slots: u32,
        load: &Load,
    ) -> anyhow::Result<Fleet> {
        let workers = (0..workers)
            .map(|number| {
                let (starts, ends) = (Arc::clone(&load.times), Arc::clone(&load.times));
                let handler = move |context: Context| {
                    starts.started(context.payload());
                    ready(Outcome::done(""))
                };
                Worker::builder(address)
                    .id(format!("bench-{}-{number}", std::process::id()))
                    .slots(slots)
                    .job(TYPE, handler)
                    .on_confirmed(move |context| ends.confirmed(context.payload()))
                    .start()
            })
            .collect::<Result<_, _>>()?;
        Ok(Fleet { workers })
    }

    pub(in crate::bench) async fn wait_until_known(&self, client: &Client) -> anyhow::Result<()> {
        let known = async {
            loop {
                let workers = client.workers(false).await?;
                let is_known = |ours: &RunningWorker| {
                    workers.iter().any(|known| {
                        known.connected && known.spec.as_ref().is_some_and(|s| s.id == ours.id())
                    })
                };
                if self.workers.iter().all(is_known) {
                    return anyhow::Ok(());
                }
                tokio::time::sleep(POLL).await;
            }
        };
        match tokio::time::timeout(KNOWN_WITHIN, known).await {
            Ok(known) => known,
            Err(_) => anyhow::bail!("the workers did not register in time"),
        }
    }

    pub(in crate::bench) async fn stop(self) -> anyhow::Result<()> {
        for mut worker in self.workers {
            worker.leave();
            worker.ended().await?;
        }
        Ok(())
    }
}
