//! Four workers of different speeds.

use std::time::Duration;

use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Context, Outcome, Worker};

use super::runs;

const WORKERS: [(&str, f64, u32); 4] =
    [("ant", 0.5, 2), ("bee", 1.0, 2), ("cat", 1.5, 3), ("dog", 2.5, 3)];

pub(super) struct Fleet {
    address: String,
    workers: Vec<Option<RunningWorker>>,
    killed: bool,
}

impl Fleet {
    pub(super) fn start(address: &str) -> anyhow::Result<Fleet> {
        let mut fleet = Fleet { address: address.to_owned(), workers: Vec::new(), killed: false };
        for number in 0..WORKERS.len() {
            let worker = fleet.worker(number)?;
            fleet.workers.push(Some(worker));
        }
        Ok(fleet)
    }

    fn worker(&self, number: usize) -> anyhow::Result<RunningWorker> {
        let (id, speed, slots) = WORKERS[number];
        let mut builder =
            Worker::builder(&self.address).id(id).slots(slots).class(format!("speed-{speed}"));
        for kind in runs::kinds() {
            builder = builder.job(kind, move |context| work(context, speed));
        }
        Ok(builder.start()?)
    }

    pub(super) fn id(&self, number: usize) -> &'static str {
        WORKERS[number].0
    }

    /// Without a word, as if its machine had lost power. True if it was alive, once.
    pub(super) fn kill(&mut self, number: usize) -> bool {
        if self.killed {
            return false;
        }
        self.killed = true;
        self.workers[number].take().map(RunningWorker::kill).is_some()
    }

    pub(super) fn revive(&mut self, number: usize) -> anyhow::Result<bool> {
        if self.workers[number].is_some() {
            return Ok(false);
        }
        self.workers[number] = Some(self.worker(number)?);
        Ok(true)
    }

    pub(super) async fn stop(self) -> anyhow::Result<()> {
        for mut worker in self.workers.into_iter().flatten() {
            worker.drain();
            worker.ended().await?;
        }
        Ok(())
    }
}

/// Takes as long as the payload says, on a machine of this speed.
async fn work(context: Context, speed: f64) -> Outcome {
    let text = String::from_utf8_lossy(context.payload());
    let Ok(millis) = text.parse::<u64>() else {
        return Outcome::cancel("the payload is no number of milliseconds");
    };
    let pause = Duration::from_millis(millis).div_f64(speed * 4.0);
    for quarter in 1..=4 {
        tokio::select! {
            () = tokio::time::sleep(pause) => context.progress(quarter * 250, ""),
            () = context.cancelled() => return Outcome::cancel("cancelled"),
        }
    }
    Outcome::done(format!("{{\"took_ms\":{}}}", (millis as f64 / speed) as u64))
}
