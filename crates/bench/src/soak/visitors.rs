//! Those who look at the scheduler all the time: queries of all kinds, and slow readers of events.

use std::time::{Duration, Instant};

use bellwether_sdk::{Client, ClientError, v1};
use bellwether_testbed::Random;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::promises::Promises;
use super::worker_process::TYPE;
use crate::http::take_little;

const SLOW_READERS: usize = 20;
const QUERY_INTERVAL: Duration = Duration::from_millis(250);
const PAGE: u32 = 100;

pub(super) fn slow_readers(http: &str) -> JoinSet<()> {
    (0..SLOW_READERS).map(|_| take_little(http.to_owned())).collect()
}

/// Asks this and that, until it is told to stop. Every question must be answered.
pub(super) async fn ask(
    client: Client,
    promises: Arc<Promises>,
    mut random: Random,
    stopping: watch::Receiver<bool>,
) {
    while !*stopping.borrow() {
        let begun = Instant::now();
        let question = random.below(6);
        if let Err(error) = one_question(&client, question, random.below(10)).await {
            let calm = promises.is_calm_since(begun);
            // What the history no longer has is no error.
            if calm && error.code() != Some("unknown_job") {
                promises.broken(format!("error: question {question} was answered with {error}"));
            }
        }
        tokio::time::sleep(QUERY_INTERVAL).await;
    }
}

async fn one_question(client: &Client, question: u64, number: u64) -> Result<(), ClientError> {
    let page = v1::ListJobsRequest { limit: PAGE, ..Default::default() };
    let filter = match question {
        0 => v1::ListJobsRequest { tag: format!("tag-{number}"), ..page },
        1 => v1::ListJobsRequest { r#type: TYPE.to_owned(), ..page },
        2 => v1::ListJobsRequest { states: vec![v1::JobState::DeadLettered.into()], ..page },
        3 => v1::ListJobsRequest { worker: "mixed-0".to_owned(), ..page },
        4 => return client.workers(true).await.map(drop),
        _ => return client.status().await.map(drop),
    };
    let first = client.jobs(filter.clone()).await?;
    if let Some(cursor) = first.next {
        client.jobs(v1::ListJobsRequest { cursor, ..filter }).await?;
    }
    if let Some(job) = first.jobs.first() {
        client.job(job.id(), 0).await?;
    }
    Ok(())
}
