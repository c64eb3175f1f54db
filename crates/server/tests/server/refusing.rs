//! What is refused, and how.

use anyhow::Result;
use bellwether_wire::v1;
use bellwether_wire::v1::report::Report;
use tonic::Code;

use crate::fixture::{FakeWorker, Fixture, accepted, channel, job, rejection, spec};

fn code_of(status: &tonic::Status) -> &str {
    status
        .metadata()
        .get("bellwether-code")
        .map_or("", |code| code.to_str().expect("codes are ASCII"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_asks_for_patience_first_and_then_refuses() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.scheduling.jobs_max = 100).await?;
    let jobs = (0..100).map(|index| job(&format!("j{index}"))).collect();
    let results = fixture.submit(jobs).await?;
    assert_eq!(accepted(&results[10]).throttle, None);
    assert_eq!(accepted(&results[60]).throttle.as_ref().unwrap().filled_percent, 61);
    let refused = rejection(&results[95]);
    assert_eq!(refused.code, "queue_full");
    assert!(refused.retry_after > 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_not_be_read_is_named_and_the_rest_is_taken() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let nameless = v1::JobSpec::new("b", "");
    let large = v1::JobSpec { payload: vec![0; (1 << 20) + 1].into(), ..job("c") };
    let results = fixture.submit(vec![job("a"), nameless, large]).await?;
    assert_eq!(accepted(&results[0]).jobs.len(), 1);
    let malformed = rejection(&results[1]);
    assert_eq!(malformed.code, "malformed");
    assert_eq!(malformed.message, "submissions[1].jobs[0].type: is missing");
    assert_eq!(rejection(&results[2]).code, "payload_too_large");
    let status = fixture.job("nobody").await.unwrap_err();
    let status = status.downcast_ref::<tonic::Status>().unwrap();
    assert_eq!((status.code(), code_of(status)), (Code::NotFound, "unknown_job"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_above_the_limit_is_refused_before_it_is_read() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.limits.message_bytes_max = 1 << 20).await?;
    let jobs = (0..3).map(|_| v1::JobSpec { payload: vec![0; 900_000].into(), ..job("") });
    let error = fixture.submit(jobs.collect()).await.unwrap_err();
    assert_eq!(error.downcast_ref::<tonic::Status>().unwrap().code(), Code::OutOfRange);
    assert!(fixture.submit(vec![job("small")]).await.is_ok(), "the connection lives on");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_on_an_attempt_that_is_not_held_is_refused() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut holder = fixture.worker("w1", 1).await?;
    let offer = holder.offer().await?;
    let mut other = fixture.worker("w2", 1).await?;
    other.complete(&offer, "stolen").await?;
    let refusal = other.refusal().await?;
    assert_eq!((refusal.code.as_str(), refusal.report), ("stale_token", 1));
    let nothing = v1::Report { job: offer.job, token: offer.token, report: None };
    let message = v1::WorkerMessage { reports: vec![nothing], ..Default::default() };
    other.send(message).await?;
    assert_eq!(other.refusal().await?.code, "malformed");
    holder.complete(&offer, "mine").await?;
    holder.reports_done(1).await?;
    assert_eq!(fixture.job("a").await?.result, "mine");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_must_register_properly() -> Result<()> {
    let fixture = Fixture::start().await?;
    let refused = |slots| {
        let link = channel(&fixture.server);
        async move { FakeWorker::connect(link.await?, spec("w", slots), Vec::new()).await }
    };
    let error = refused(0).await.err().unwrap();
    let status = error.downcast_ref::<tonic::Status>().unwrap();
    assert_eq!((status.code(), code_of(status)), (Code::InvalidArgument, "bad_slots"));
    let link = channel(&fixture.server).await?;
    let error = FakeWorker::connect(link, spec("", 1), Vec::new()).await.err().unwrap();
    let status = error.downcast_ref::<tonic::Status>().unwrap();
    assert_eq!((status.code(), code_of(status)), (Code::InvalidArgument, "malformed"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_session_replaces_the_first() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let first = fixture.worker("w", 1).await?;
    let mut second = fixture.worker("w", 1).await?;
    let status = first.end().await?.expect("it is told");
    assert_eq!((status.code(), code_of(&status)), (Code::Aborted, "replaced"));
    fixture.submit(vec![job("a")]).await?;
    assert_eq!(second.offer().await?.job_id(), "a");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_leaves_gives_back_what_it_held() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut leaving = fixture.worker("w1", 1).await?;
    let offer = leaving.offer().await?;
    leaving.report(&offer, Report::Acknowledge(v1::Acknowledge {})).await?;
    leaving.send(v1::WorkerMessage { leave: true, ..Default::default() }).await?;
    leaving.close();
    assert!(leaving.end().await?.is_none(), "the scheduler closes its side, too");
    let mut staying = fixture.worker("w2", 1).await?;
    assert_eq!(staying.offer().await?.job_id(), "a");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_serves_one_scheduler() -> Result<()> {
    let fixture = Fixture::start().await?;
    let error = bellwether_server::Server::start(fixture.config.clone()).await.unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_change_while_it_runs_unless_they_make_no_sense() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let state = fixture.client.get_config(v1::GetConfigRequest {}).await?.into_inner();
    let mut config = state.config.unwrap();
    config.max_crashes = 7;
    let set = |config: &v1::Config, expected_version| v1::SetConfigRequest {
        config: Some(config.clone()),
        expected_version,
    };
    let done = fixture.client.set_config(set(&config, state.version)).await;
    assert!(done.is_ok_and(|done| done.into_inner().refused.is_empty()));
    let now = fixture.client.get_config(v1::GetConfigRequest {}).await?.into_inner();
    assert_eq!((now.version, now.config.unwrap().max_crashes), (state.version + 1, 7));
    config.max_crashes = 0;
    let refused = fixture.client.set_config(set(&config, 0)).await?.into_inner().refused;
    assert_eq!(refused[0].rejection.as_ref().unwrap().code, "bad_config");
    if state.version > 0 {
        let status = fixture.client.set_config(set(&config, state.version)).await.unwrap_err();
        assert_eq!(code_of(&status), "config_changed");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_journal_of_the_other_kind_is_not_started_beside() -> Result<()> {
    use bellwether_server::config::JournalKind;
    for (was, wanted) in
        [(JournalKind::Sqlite, JournalKind::File), (JournalKind::File, JournalKind::Sqlite)]
    {
        let Fixture { folder, mut config, server, client } =
            Fixture::with(|config| config.journal = was).await?;
        drop(client);
        server.shutdown().await;
        config.journal = wanted;
        let refused = bellwether_server::Server::start(config).await.map(drop).unwrap_err();
        assert!(refused.to_string().contains("journal of the other kind"), "{refused}");
        drop(folder);
    }
    Ok(())
}
