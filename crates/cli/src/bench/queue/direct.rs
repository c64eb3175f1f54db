//! Jobs submitted directly, over gRPC: what the way through a queue is compared with.

use std::time::{Duration, Instant};

use bellwether_sdk::client::SubmitStream;
use bellwether_sdk::v1;

use super::stage::{Stage, TYPE};
use super::tally::Tally;
use super::{PACED_RATE, Scale, through};

/// Submissions in one message, where it goes as fast as it goes.
const BATCH: u64 = 500;

#[derive(Debug, Clone, Copy)]
pub(super) struct Direct {
    pub(super) jobs_per_s: f64,
    pub(super) start_p99_ms: f64,
}

pub(super) async fn measure(stage: &Stage, scale: Scale) -> anyhow::Result<Direct> {
    submit(stage, &stage.warm_up, BATCH).await?;
    let begun = Instant::now();
    submit(stage, &stage.fast, BATCH).await?;
    let jobs_per_s = scale.jobs as f64 / begun.elapsed().as_secs_f64();
    submit_paced(stage).await?;
    stage.paced.all_confirmed().await?;
    Ok(Direct { jobs_per_s, start_p99_ms: stage.paced.start_p99_ms() })
}

async fn submit(stage: &Stage, tally: &Tally, batch: u64) -> anyhow::Result<()> {
    let SubmitStream { submitter, mut answers } = stage.client.submit_stream();
    let send = async {
        let mut next = 0;
        while next < tally.jobs() {
            let end = (next + batch).min(tally.jobs());
            let now = Instant::now();
            let submissions = (next..end).map(|number| {
                tally.sent(number, now);
                submission(tally, number)
            });
            if !submitter.send(submissions.collect()).await {
                break;
            }
            next = end;
        }
        drop(submitter);
    };
    let take = async {
        while let Some(results) = answers.next().await? {
            for result in results {
                result?;
            }
        }
        anyhow::Ok(())
    };
    let ((), taken) = tokio::join!(send, take);
    taken?;
    tally.all_confirmed().await
}

/// Without waiting for answers, because a submitter who waits for one sends the next too late.
async fn submit_paced(stage: &Stage) -> anyhow::Result<()> {
    let SubmitStream { submitter, mut answers } = stage.client.submit_stream();
    let send = async move {
        let sent = pace(stage.paced.jobs(), async |number, due| {
            stage.paced.sent(number, due);
            let taken = submitter.send(vec![submission(&stage.paced, number)]).await;
            anyhow::ensure!(taken, "the scheduler takes no more submissions");
            Ok(())
        });
        let sent = sent.await;
        drop(submitter);
        sent
    };
    let take = async {
        while let Some(results) = answers.next().await? {
            for result in results {
                result?;
            }
        }
        anyhow::Ok(())
    };
    tokio::try_join!(send, take)?;
    Ok(())
}

fn submission(tally: &Tally, number: u64) -> v1::Submission {
    let id = tally.id(number);
    // The same job as through a queue.
    let payload = through::payload(&id).into();
    let job = v1::NewJob { id, r#type: TYPE.to_owned(), payload, ..Default::default() };
    v1::Submission { run_id: String::new(), jobs: vec![job] }
}

/// Calls at even intervals. What is late is called at once, with the time at which it was due.
pub(super) async fn pace(
    count: u64,
    mut each: impl AsyncFnMut(u64, Instant) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    for number in 0..count {
        let due = begun + Duration::from_secs_f64(number as f64 / PACED_RATE);
        tokio::time::sleep_until(due.into()).await;
        each(number, due).await?;
    }
    Ok(())
}
