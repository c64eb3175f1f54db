//! Sends the load: in batches as fast as it goes, or one by one at a rate, whatever comes back.

use std::time::{Duration, Instant};

use bellwether_sdk::Client;
use bellwether_sdk::client::{Answers, SubmitStream, Submitter};

use crate::load::{Load, Shape};

/// Submissions in one message, unless the user wants another number.
pub(crate) const BATCH: u64 = 500;
/// The first job at a rate is due a little after the start.
const HEAD_START: Duration = Duration::from_millis(1);

/// How long it took until the last submission was durable.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Submitted {
    pub(crate) took: Duration,
    pub(crate) refused: u64,
}

pub(crate) async fn submit(
    client: &Client,
    load: &Load,
    rate: Option<f64>,
    batch: u64,
) -> anyhow::Result<Submitted> {
    let begun = Instant::now();
    if !matches!(load.shape, Shape::Single(_)) {
        let run = load.run();
        let now = Instant::now();
        (0..load.jobs()).for_each(|number| load.tally.sent(number, now));
        for result in client.submit_batch(vec![run]).await? {
            result?;
        }
        return Ok(Submitted { took: begun.elapsed(), refused: 0 });
    }
    let SubmitStream { submitter, answers } = client.submit_stream();
    let sending = match rate {
        None => tokio::spawn(send_batches(submitter, load.clone(), batch)),
        Some(rate) => {
            let (load, runtime) = (load.clone(), tokio::runtime::Handle::current());
            tokio::task::spawn_blocking(move || send_at_rate(&submitter, &load, rate, &runtime))
        }
    };
    let refused = drain(client, load, answers).await?;
    sending.await?;
    Ok(Submitted { took: begun.elapsed(), refused })
}

/// Takes every answer. What a full queue refused is sent again when it says so, and keeps the time
/// at which it was to be sent.
async fn drain(client: &Client, load: &Load, mut answers: Answers) -> anyhow::Result<u64> {
    let (mut next, mut refused) = (0, 0);
    while let Some(results) = answers.next().await? {
        for result in results {
            let number = next;
            next += 1;
            let mut outcome = result;
            while let Err(refusal) = outcome {
                refused += 1;
                let Some(pause) = refusal.retry_after else { return Err(refusal.into()) };
                tokio::time::sleep(pause).await;
                let again = client.submit_batch(vec![load.submission(number)]).await?;
                outcome = again.into_iter().next().expect("one answer to one submission");
            }
        }
    }
    anyhow::ensure!(
        next == load.jobs(),
        "only {next} of {} submissions were answered",
        load.jobs()
    );
    Ok(refused)
}

async fn send_batches(submitter: Submitter, load: Load, batch: u64) {
    let mut next = 0;
    while next < load.jobs() {
        let end = (next + batch).min(load.jobs());
        let submissions = (next..end).map(|number| load.submission(number)).collect();
        let now = Instant::now();
        (next..end).for_each(|number| load.tally.sent(number, now));
        if !submitter.send(submissions).await {
            // The answers say why.
            return;
        }
        next = end;
    }
}

/// On a thread of its own, because the runtime's timers are too coarse. What is late is sent at
/// once, and its time counts from when it was to be sent.
fn send_at_rate(submitter: &Submitter, load: &Load, rate: f64, runtime: &tokio::runtime::Handle) {
    sharpen_timer();
    let begun = Instant::now() + HEAD_START;
    let due = |number: u64| begun + Duration::from_secs_f64(number as f64 / rate);
    let mut next = 0;
    while next < load.jobs() {
        std::thread::sleep(due(next).saturating_duration_since(Instant::now()));
        let now = Instant::now();
        let mut submissions = Vec::new();
        while next < load.jobs() && (due(next) <= now || submissions.is_empty()) {
            load.tally.sent(next, due(next));
            submissions.push(load.submission(next));
            next += 1;
        }
        if !runtime.block_on(submitter.send(submissions)) {
            return;
        }
    }
}

/// By default the kernel lets a sleeper lie 50 us longer to save power.
fn sharpen_timer() {
    if let Err(error) = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1)) {
        tracing::warn!(%error, "timers stay coarse");
    }
}
