//! Workers that report what is not theirs.

use anyhow::{Result, ensure};
use bellwether_sdk::v1::report::Report as Kind;
use bellwether_sdk::{NewJob, v1};

use crate::raw::Session;
use crate::site::Site;

fn kinds() -> [Kind; 5] {
    let cause = v1::FailureCause::Permanent.into();
    [
        Kind::Acknowledge(v1::Acknowledge {}),
        Kind::Claim(v1::Claim {}),
        Kind::Progress(v1::Progress { permille: 500, note: "half".to_owned() }),
        Kind::Complete(v1::Complete { result: "stolen".into() }),
        Kind::Fail(v1::Fail { cause, error: "sabotage".to_owned(), retry_after: None }),
    ]
}

fn complete(result: &'static str) -> Kind {
    Kind::Complete(v1::Complete { result: result.into() })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_can_not_report_an_attempt_that_it_does_not_hold() -> Result<()> {
    let site = Site::new(&[])?;
    let scheduler = site.start().await?;
    let client = site.client()?;
    let mut holder = Session::open(&site, "holder").await?;
    let job = NewJob::new("theirs").id("job").guarantee(v1::Guarantee::ExactlyOnce);
    client.submit(job).await?;
    let offer = holder.offer().await?;
    holder.report(offer.job, offer.token, Kind::Claim(v1::Claim {})).await?;
    ensure!(holder.granted().await?.token == offer.token);

    let mut stranger = Session::open(&site, "stranger").await?;
    let attempts = [
        (offer.job, offer.token),
        (offer.job, 0),
        (offer.job, offer.token - 1),
        (offer.job, u64::MAX),
        (offer.job + 1_000, offer.token),
        (u64::MAX, u64::MAX),
    ];
    let mut sent = 0;
    for (job, token) in attempts {
        for kind in kinds() {
            stranger.report(job, token, kind.clone()).await?;
            sent += 1;
            let refusal = stranger.refusal().await?;
            ensure!(refusal.report == sent, "{refusal:?} is not the answer to {sent}");
            ensure!(refusal.code == "stale_token", "{kind:?} of {job}/{token}: {refusal:?}");
        }
    }
    ensure!(client.job("job", 0).await?.state() == v1::JobState::Running);

    // The holder's own result is taken; saying it again is fine, and saying another is not.
    holder.report(offer.job, offer.token, complete("mine")).await?;
    holder.report(offer.job, offer.token, complete("mine")).await?;
    ensure!(!holder.done(3).await?, "the same result was refused");
    holder.report(offer.job, offer.token, complete("other")).await?;
    let refusal = holder.refusal().await?;
    ensure!(["other_result", "stale_token"].contains(&refusal.code.as_str()), "{refusal:?}");
    let job = client.job("job", 0).await?;
    ensure!(job.state() == v1::JobState::Completed && job.result() == "mine", "{job:?}");
    scheduler.stop().await
}
