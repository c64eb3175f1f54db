//! A job's life, through the wire.

use anyhow::Result;
use bellwether_wire::v1;
use bellwether_wire::v1::JobState;
use bellwether_wire::v1::report::Report;

use crate::fixture::{FakeWorker, Fixture, accepted, channel, job, rejection, single, spec};

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_submitted_offered_and_completed() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let results = fixture.submit(vec![job("a")]).await?;
    assert_eq!(accepted(&results[0]).jobs[0].id, "a");
    let waiting = fixture.job("a").await?;
    assert_eq!(waiting.state(), JobState::Ready);
    assert!(waiting.explanation.contains("no worker"), "{}", waiting.explanation);

    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    assert_eq!(offer.job_id(), "a");
    worker.complete(&offer, "42").await?;
    worker.reports_done(1).await?;
    let done = fixture.job("a").await?;
    assert_eq!(done.state(), JobState::Completed);
    assert_eq!(done.result, "42");
    assert_eq!(done.attempts.len(), 1);
    assert_eq!(done.attempts[0].worker, "w");
    assert_eq!(done.attempts[0].state(), v1::AttemptState::Completed);
    assert!(done.attempts[0].decision.is_some());
    fixture.server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_survives_a_restart() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a"), job("b")]).await?;
    let mut fixture = fixture.restart().await?;
    assert_eq!(fixture.job("a").await?.state(), JobState::Ready);
    assert_eq!(fixture.job("b").await?.state(), JobState::Ready);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_job_goes_on_through_a_restart() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.report(&offer, Report::Acknowledge(v1::Acknowledge {})).await?;
    worker.reports_done(1).await?;

    let told = tokio::spawn(async move { worker.told_to_reconnect().await });
    let mut fixture = fixture.restart().await?;
    told.await??;

    let held = vec![v1::Attempt { job: offer.job, token: offer.token }];
    let link = channel(&fixture.server).await?;
    let mut worker = FakeWorker::connect(link, spec("w", 1), held).await?;
    assert!(worker.registered.unknown.is_empty());
    worker.complete(&offer, "done").await?;
    worker.reports_done(1).await?;
    let done = fixture.job("a").await?;
    assert_eq!(done.state(), JobState::Completed);
    assert_eq!(done.attempts.len(), 1, "one attempt, before and after");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_job_is_retried_and_then_dead_lettered() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![v1::JobSpec { retry: Some(1), ..job("a") }]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    for number in 1..=2 {
        let offer = worker.offer().await?;
        assert_eq!(offer.number, number);
        worker.fail(&offer, "no luck").await?;
    }
    let dead = fixture.job_is("a", JobState::DeadLettered).await?;
    assert_eq!(dead.failures, 2);
    assert_eq!(dead.attempts[1].error, "no luck");

    let request = v1::RetryRequest { ids: vec!["a".to_owned(), "nobody".to_owned()], force: false };
    let done = fixture.client.retry(request).await?.into_inner();
    assert_eq!(done.refused.len(), 1);
    assert_eq!(done.refused[0].rejection.as_ref().unwrap().code, "unknown_job");
    let offer = worker.offer().await?;
    worker.complete(&offer, "at last").await?;
    fixture.job_is("a", JobState::Completed).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_job_is_revoked() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a"), job("b")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.report(&offer, Report::Acknowledge(v1::Acknowledge {})).await?;
    let id = offer.job_id().to_owned();
    let request = v1::CancelRequest { ids: vec![id.clone()], reason: "changed my mind".to_owned() };
    let done = fixture.client.cancel(request).await?.into_inner();
    assert!(done.refused.is_empty());
    assert_eq!(worker.revoke().await?.token, offer.token);
    let cancelled = fixture.job(&id).await?;
    assert_eq!(cancelled.state(), JobState::Cancelled);
    assert_eq!(cancelled.explanation, "changed my mind");

    worker.complete(&offer, "too late").await?;
    assert_eq!(worker.refusal().await?.code, "stale_token");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_key_is_the_same_job() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let keyed = |id: &str| v1::JobSpec { idempotency_key: "k".to_owned(), ..job(id) };
    let first = fixture.submit(vec![keyed("a")]).await?;
    let second = fixture.submit(vec![keyed("b")]).await?;
    assert_eq!(accepted(&first[0]).jobs, accepted(&second[0]).jobs);
    assert!(accepted(&second[0]).known);
    let again = fixture.submit(vec![job("a")]).await?;
    assert_eq!(rejection(&again[0]).code, "duplicate_job");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_in_order_and_a_cycle_is_refused_whole() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let after =
        |id: &str, before: &str| v1::JobSpec { dependencies: vec![before.to_owned()], ..job(id) };
    let run = v1::Submission {
        run_id: "r".to_owned(),
        jobs: vec![job("a"), after("b", "a")],
        ..Default::default()
    };
    let cycle = v1::Submission {
        run_id: String::new(),
        jobs: vec![after("c", "d"), after("d", "c")],
        ..Default::default()
    };
    let request = v1::SubmitRequest { submissions: vec![run, cycle] };
    let results = fixture.client.submit(request).await?.into_inner().results;
    assert_eq!(accepted(&results[0]).jobs.len(), 2);
    assert_eq!(rejection(&results[1]).code, "cycle");

    let mut worker = fixture.worker("w", 4).await?;
    let first = worker.offer().await?;
    assert_eq!((first.job_id(), first.run_id.as_str()), ("a", "r"));
    assert_eq!(fixture.job("b").await?.state(), JobState::Waiting);
    assert_eq!(fixture.job("b").await?.spec.unwrap().dependencies, ["a"]);
    worker.complete(&first, "").await?;
    let second = worker.offer().await?;
    assert_eq!(second.job_id(), "b");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn exactly_once_is_claimed_and_granted() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let guarantee = v1::Guarantee::ExactlyOnce as i32;
    fixture.submit(vec![v1::JobSpec { guarantee, ..job("a") }]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "unclaimed").await?;
    assert_eq!(worker.refusal().await?.code, "claim_first");
    worker.report(&offer, Report::Claim(v1::Claim {})).await?;
    assert_eq!(worker.grant().await?.token, offer.token);
    worker.complete(&offer, "claimed").await?;
    worker.complete(&offer, "claimed").await?;
    worker.complete(&offer, "another").await?;
    assert_eq!(worker.refusal().await?.code, "other_result");
    assert_eq!(fixture.job("a").await?.result, "claimed");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_generated_where_none_is_given() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let results = fixture.submit(vec![job(""), job("")]).await?;
    let first = &accepted(&results[0]).jobs[0].id;
    let second = &accepted(&results[1]).jobs[0].id;
    assert_ne!(first, second);
    assert_eq!(fixture.job(first).await?.state(), JobState::Ready);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_submissions_is_answered_in_order() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let requests: Vec<_> = (0..50)
        .map(|index| v1::SubmitRequest { submissions: vec![single(job(&format!("j{index}")))] })
        .collect();
    let stream = fixture.client.submit_stream(tokio_stream::iter(requests)).await?;
    let mut responses = stream.into_inner();
    for index in 0..50 {
        let response = responses.message().await?.unwrap();
        assert_eq!(accepted(&response.results[0]).jobs[0].id, format!("j{index}"));
    }
    assert!(responses.message().await?.is_none());
    Ok(())
}
