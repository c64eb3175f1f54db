//! Waiting, watching, searching.

use std::time::Duration;

use anyhow::{Context as _, Result};
use bellwether_core::model::Micros;
use bellwether_server::ServerConfig;
use bellwether_wire::v1;
use bellwether_wire::v1::JobState;
use bellwether_wire::v1::report::Report as Kind;
use bellwether_wire::v1::scheduler_client::SchedulerClient;

use crate::fixture::{DEADLINE, Fixture, accepted, channel, job, rejection};

/// How long one who follows may take nothing.
const TOO_SLOW: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_is_told_of_every_end() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a"), job("b")]).await?;
    let mut worker = fixture.worker("w", 2).await?;
    let (first, second) = (worker.offer().await?, worker.offer().await?);
    worker.complete(&first, "one").await?;
    fixture.job_is(first.job_id(), JobState::Completed).await?;

    let ids = vec!["a".to_owned(), "b".to_owned()];
    let request = v1::WaitJobsRequest { ids, progress: false };
    let mut ends = fixture.client.wait_jobs(request).await?.into_inner();
    let before = ends.message().await?.context("one had ended")?.jobs;
    assert_eq!((before.len(), before[0].result.as_ref()), (1, b"one".as_ref()));
    worker.complete(&second, "two").await?;
    let after = ends.message().await?.context("the other ends")?.jobs;
    assert_eq!((after.len(), after[0].result.as_ref()), (1, b"two".as_ref()));
    assert!(ends.message().await?.is_none(), "closed after the last");

    let request = v1::WaitJobsRequest { ids: vec!["nobody".to_owned()], progress: false };
    let status = fixture.client.wait_jobs(request).await.unwrap_err();
    assert_eq!(status.code(), tonic::Code::NotFound);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_read_from_the_start_and_followed() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let request = v1::WatchEventsRequest {
        from: 1,
        kinds: vec!["job_submitted".to_owned(), "job_completed".to_owned()],
        ..Default::default()
    };
    let mut events = fixture.client.watch_events(request).await?.into_inner();
    let submitted = events.message().await?.context("an event")?.events.remove(0);
    assert_eq!((submitted.kind.as_str(), submitted.job_id.as_str()), ("job_submitted", "a"));
    assert_eq!(submitted.post_hash.len(), 32);

    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "").await?;
    let completed = events.message().await?.context("an event")?.events.remove(0);
    assert_eq!((completed.kind.as_str(), completed.job_id.as_str()), ("job_completed", "a"));
    assert!(completed.parent > submitted.seq);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_found_by_what_is_known_of_them() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let jobs: Vec<_> = (0..25)
        .map(|index| v1::JobSpec {
            tags: if index == 7 { vec!["lucky".to_owned()] } else { Vec::new() },
            ..v1::JobSpec::new(
                format!("job-{index:02}"),
                if index % 2 == 0 { "even" } else { "odd" },
            )
        })
        .collect();
    let results = fixture.submit(jobs).await?;
    let position = accepted(results.last().unwrap()).position;
    let mut found = async |request: v1::ListJobsRequest| -> Result<(Vec<String>, String)> {
        let request = v1::ListJobsRequest { position, ..request };
        let response = fixture.client.list_jobs(request).await?.into_inner();
        let ids = response.jobs.into_iter().map(|job| job.spec.unwrap().id).collect();
        Ok((ids, response.next_cursor))
    };
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let request = v1::ListJobsRequest { limit: 10, cursor, ..Default::default() };
        let (page, next) = found(request).await?;
        all.extend(page);
        cursor = next;
        if cursor.is_empty() {
            break;
        }
    }
    assert_eq!(all.len(), 25);
    assert_eq!((all[0].as_str(), all[24].as_str()), ("job-24", "job-00"), "newest first");
    let by = |change: fn(&mut v1::ListJobsRequest)| {
        let mut request = v1::ListJobsRequest::default();
        change(&mut request);
        request
    };
    assert_eq!(found(by(|r| r.r#type = "odd".to_owned())).await?.0.len(), 12);
    assert_eq!(found(by(|r| r.tag = "lucky".to_owned())).await?.0, ["job-07"]);
    assert_eq!(found(by(|r| r.id_prefix = "job-1".to_owned())).await?.0.len(), 10);
    assert_eq!(found(by(|r| r.states = vec![JobState::Ready as i32])).await?.0.len(), 25);
    assert_eq!(found(by(|r| r.states = vec![JobState::Running as i32])).await?.0.len(), 0);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_is_told_of_jobs_that_are_forgotten_as_they_end() -> Result<()> {
    let mut fixture = Fixture::with(|config| config.scheduling.retain_jobs = 0).await?;
    fixture.submit(vec![job("a")]).await?;
    let request = v1::WaitJobsRequest { ids: vec!["a".to_owned()], ..Default::default() };
    let mut ends = fixture.client.wait_jobs(request).await?.into_inner();
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "kept").await?;
    let told = ends.message().await?.expect("the job has ended").jobs;
    assert_eq!((told[0].state(), told[0].result.as_ref()), (JobState::Completed, &b"kept"[..]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dependency_that_the_core_has_forgotten_is_known_from_history() -> Result<()> {
    let mut fixture = Fixture::with(|config| {
        config.scheduling.retain_jobs = 0;
        config.scheduling.retain_for = Micros::from_secs(0);
    })
    .await?;
    fixture.submit(vec![job("a"), job("filler")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    for _ in 0..2 {
        let offer = worker.offer().await?;
        worker.complete(&offer, "").await?;
    }
    fixture.job_is("a", JobState::Completed).await?;
    fixture.job_is("filler", JobState::Completed).await?;
    let after = |id: &str| v1::JobSpec { dependencies: vec!["a".to_owned()], ..job(id) };
    let results = fixture.submit(vec![after("b")]).await?;
    assert_eq!(accepted(&results[0]).jobs[0].id, "b");
    assert_eq!(worker.offer().await?.job_id(), "b");
    let unknown = v1::JobSpec { dependencies: vec!["never".to_owned()], ..job("c") };
    let results = fixture.submit(vec![unknown]).await?;
    assert_eq!(rejection(&results[0]).code, "unknown_dependency");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_registry_comes_back_when_it_is_deleted() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "kept").await?;
    fixture.job_is("a", JobState::Completed).await?;
    let data = fixture.config.data_dir.clone();
    let mut fixture = fixture
        .restart_after(|| {
            for file in ["registry.sqlite", "registry.sqlite-wal", "registry.sqlite-shm"] {
                drop(std::fs::remove_file(data.join(file)));
            }
        })
        .await?;
    assert_eq!(fixture.job("a").await?.result, "kept");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn workers_and_status_are_seen() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut worker = fixture.worker("w", 3).await?;
    worker.offer().await?;
    let workers = fixture.client.list_workers(v1::ListWorkersRequest { all: false }).await?;
    let workers = workers.into_inner().workers;
    assert_eq!(workers.len(), 1);
    assert!(workers[0].connected);
    assert_eq!(workers[0].held[0].id, "a");
    let status = fixture.client.status(v1::StatusRequest {}).await?.into_inner();
    assert_eq!((status.workers, status.slots, status.slots_used), (1, 3, 1));
    assert_eq!(status.role(), v1::SchedulerRole::Alone);
    let offered = status.jobs.iter().find(|count| count.state() == JobState::Offered);
    assert_eq!(offered.map(|count| count.count), Some(1));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn status_counts_every_job_that_was_acknowledged() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    let mut worker = fixture.worker("w", 2).await?;
    fixture.submit(vec![job("offered"), job("running")]).await?;
    worker.offer().await?;
    let running = worker.offer().await?;
    worker.report(&running, Kind::Acknowledge(v1::Acknowledge {})).await?;
    fixture.job_is(running.job_id(), JobState::Running).await?;
    let ready = 60_000;
    for batch in (0..ready).collect::<Vec<_>>().chunks(5_000) {
        fixture
            .submit(batch.iter().map(|number| job(&format!("ready-{number}"))).collect())
            .await?;
    }
    let delayed = v1::JobSpec { delay: 3_600_000_000, ..job("delayed") };
    let dependent = v1::JobSpec { dependencies: vec!["delayed".to_owned()], ..job("dependent") };
    fixture.submit(vec![delayed]).await?;
    fixture.submit(vec![dependent]).await?;

    let status = fixture.client.status(v1::StatusRequest {}).await?.into_inner();
    let counts: Vec<_> = status.jobs.iter().map(|count| (count.state(), count.count)).collect();
    let expected = [
        (JobState::Waiting, 1),
        (JobState::Delayed, 1),
        (JobState::Ready, ready),
        (JobState::Offered, 1),
        (JobState::Running, 1),
    ];
    assert_eq!(counts, expected);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_the_state() -> Result<()> {
    let mut fixture = Fixture::start().await?;
    fixture.submit(vec![job("a")]).await?;
    let mut chunks = fixture.client.snapshot(v1::SnapshotRequest {}).await?.into_inner();
    let mut bytes = Vec::new();
    while let Some(chunk) = chunks.message().await? {
        bytes.extend_from_slice(&chunk.bytes);
    }
    let engine = bellwether_journal::state::decode(&bytes)?;
    assert!(engine.state().job_no("a").is_some());
    Ok(())
}

/// Several messages of what has ended are more than the buffers between the two can hold.
#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_and_takes_nothing_is_cut_off_and_told_and_counted() -> Result<()> {
    let patience = |config: &mut ServerConfig| config.limits.follow_timeout = TOO_SLOW;
    let mut fixture = Fixture::with(patience).await?;
    // Many tags make messages that are larger than all the buffers in between.
    let tags: Vec<String> = (0..10).map(|number| format!("{number:0>200}")).collect();
    let tagged = |id: &String| v1::JobSpec { tags: tags.clone(), ..job(id) };
    let ids: Vec<String> = (0..9_000).map(|number| format!("j{number}")).collect();
    for ids in ids.chunks(1_000) {
        fixture.submit(ids.iter().map(tagged).collect()).await?;
    }
    // On a connection of its own, which fills up.
    let mut slow = SchedulerClient::new(channel(&fixture.server).await?);
    let request = v1::WaitJobsRequest { ids: ids.clone(), progress: false };
    let mut ends = slow.wait_jobs(request).await?.into_inner();
    fixture.client.cancel(v1::CancelRequest { ids, reason: String::new() }).await?;
    let counted = async {
        loop {
            let metrics = fixture.get("/metrics").await?;
            if String::from_utf8_lossy(&metrics.body).contains("followers_cut_off_total 1") {
                return Ok::<_, anyhow::Error>(());
            }
        }
    };
    tokio::time::timeout(DEADLINE, counted).await??;
    let why = loop {
        match ends.message().await {
            Ok(message) => drop(message.context("it does not end without a word")?),
            Err(why) => break why,
        }
    };
    assert!(why.message().contains("not taken in time"), "{why}");
    Ok(())
}
