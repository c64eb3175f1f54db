//! Jobs that do nothing, at a rate: what wears a scheduler out over time. They carry no keys, so what
//! a broken stream leaves unanswered was not promised and is not sent again. Nor do they have ids of ours,
//! which the scheduler would keep for a day; their payload says which one it is.

use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bellwether_sdk::client::{Answers, SubmitStream, Submitter};
use bellwether_sdk::worker::RunningWorker;
use bellwether_sdk::{Client, Context, Outcome, Worker, v1};
use tokio::sync::{mpsc, watch};
use tokio::time::MissedTickBehavior;

use super::ledger::Ledger;
use super::site::BACKOFF;

const TYPE: &str = "noop";
const WORKERS: u32 = 4;
const SLOTS: u32 = 16;
const PAYLOAD_BYTES: usize = 32;
/// How often a message is sent.
const BEAT: Duration = Duration::from_millis(10);
const MESSAGE_JOBS_MAX: u64 = 2_000;
/// What could not be sent for longer than this is left out.
const BEHIND_MAX: Duration = Duration::from_secs(1);
/// After a stream broke.
const PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub(super) struct Flood {
    pub(super) client: Client,
    pub(super) ledger: Arc<Ledger>,
    pub(super) rate: u64,
    pub(super) stopping: watch::Receiver<bool>,
}

impl Flood {
    /// Returns once it was told to stop and all that was sent is answered.
    pub(super) async fn pour(self) {
        let mut pace = Pace { begun: Instant::now(), rate: self.rate, gone: 0 };
        let mut next = 0;
        while !*self.stopping.borrow() {
            let SubmitStream { submitter, answers } = self.client.submit_stream();
            let (asked, asking) = mpsc::unbounded_channel();
            let answering = tokio::spawn(take(answers, asking, self.ledger.clone()));
            next = self.send(&submitter, &asked, &mut pace, next).await;
            drop((submitter, asked));
            if answering.await.is_err() {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn send(
        &self,
        submitter: &Submitter,
        asked: &mpsc::UnboundedSender<Range<u64>>,
        pace: &mut Pace,
        mut next: u64,
    ) -> u64 {
        let mut beat = tokio::time::interval(BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !*self.stopping.borrow() {
            beat.tick().await;
            let now = Instant::now();
            let numbers = next..next + pace.due(now);
            if numbers.is_empty() {
                continue;
            }
            next = numbers.end;
            numbers.clone().for_each(|number| self.ledger.sent(number, now));
            let submissions = numbers.clone().map(submission).collect();
            let listening = asked.send(numbers).is_ok();
            if !listening || !submitter.send(submissions).await {
                break;
            }
        }
        next
    }
}

/// How many jobs are due.
#[derive(Debug)]
struct Pace {
    begun: Instant,
    rate: u64,
    gone: u64,
}

impl Pace {
    fn due(&mut self, now: Instant) -> u64 {
        let rate = self.rate as f64;
        let by_now = (now.saturating_duration_since(self.begun).as_secs_f64() * rate) as u64;
        let behind_max = (BEHIND_MAX.as_secs_f64() * rate) as u64;
        self.gone = self.gone.max(by_now.saturating_sub(behind_max));
        let due = (by_now - self.gone.min(by_now)).min(MESSAGE_JOBS_MAX);
        self.gone += due;
        due
    }
}

fn submission(number: u64) -> v1::Submission {
    let mut payload = vec![b'x'; PAYLOAD_BYTES];
    payload[..8].copy_from_slice(&number.to_le_bytes());
    let payload = payload.into();
    let job = v1::JobSpec { payload, ..v1::JobSpec::new("", TYPE) };
    v1::Submission { run_id: String::new(), jobs: vec![job], ..Default::default() }
}

fn number_of(context: &Context) -> u64 {
    let bytes = context.payload().first_chunk().copied();
    u64::from_le_bytes(bytes.expect("every job of the flood has its number"))
}

async fn take(
    mut answers: Answers,
    mut asked: mpsc::UnboundedReceiver<Range<u64>>,
    ledger: Arc<Ledger>,
) {
    // A stream that breaks has promised nothing for the rest.
    while let Ok(Some(results)) = answers.next().await {
        let Some(numbers) = asked.recv().await else { return };
        for (number, result) in numbers.zip(results) {
            match result {
                Ok(accepted) => ledger.acknowledge(number, accepted.id()),
                Err(refusal) => ledger.refuse(&refusal),
            }
        }
    }
}

/// They outlive the scheduler.
pub(super) fn workers(address: &str, ledger: &Arc<Ledger>) -> anyhow::Result<Vec<RunningWorker>> {
    let start = |number| {
        let (starts, ends) = (ledger.clone(), ledger.clone());
        let handler = move |context: Context| {
            starts.start(number_of(&context));
            std::future::ready(Outcome::done(""))
        };
        let worker = Worker::builder(address)
            .id(format!("flood-{number}"))
            .slots(SLOTS)
            .backoff(BACKOFF)
            .job(TYPE, handler)
            .on_confirmed(move |context| ends.confirm(number_of(context)));
        Ok(worker.start()?)
    };
    (0..WORKERS).map(start).collect()
}
