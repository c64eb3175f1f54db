//! A disk that fills up, and is emptied again.

use anyhow::{Context as _, Result, bail};
use bellwether_testbed::SmallDisk;
use bellwether_wire::v1;
use bellwether_wire::v1::report::Report;

use crate::fixture::{DEADLINE, Fixture, accepted, job};

fn large(id: String) -> v1::JobSpec {
    v1::JobSpec { payload: vec![7; 100_000].into(), ..job(&id) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_work_and_loses_none_and_recovers() -> Result<()> {
    let Some(disk) = SmallDisk::mount(24 << 20) else { return Ok(()) };
    let filler = disk.path().join("filler");
    std::fs::write(&filler, vec![1; 12 << 20])?;
    let data_dir = disk.path().join("data");
    let mut fixture = Fixture::with(|config| config.data_dir = data_dir).await?;
    fixture.set_max_retry(7).await?;
    fixture.submit(vec![job("running")]).await?;
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.report(&offer, Report::Acknowledge(v1::Acknowledge {})).await?;
    worker.reports_done(1).await?;

    let mut taken = Vec::new();
    let status = loop {
        let id = format!("job-{}", taken.len());
        match fixture.submit(vec![large(id.clone())]).await {
            Ok(results) => taken.push(accepted(&results[0]).jobs[0].id.clone()),
            Err(error) => break error.downcast::<tonic::Status>()?,
        }
        if taken.len() > 500 {
            bail!("the disk never filled up");
        }
    };
    let code = status.metadata().get("bellwether-code").context("a code")?;
    assert_eq!(code, "disk_full");
    assert!(fixture.client.status(v1::StatusRequest {}).await?.into_inner().read_only);
    let ended = worker.end().await?.context("the session is told")?;
    assert_eq!(ended.code(), tonic::Code::Unavailable);

    std::fs::remove_file(&filler)?;
    let recovered = async {
        loop {
            if fixture.submit(vec![job("after")]).await.is_ok() {
                return Ok::<_, anyhow::Error>(());
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, recovered).await??;
    assert_eq!(fixture.max_retry().await?, 7, "what was set while it ran holds");
    for id in &taken {
        assert_eq!(fixture.job(id).await?.state(), v1::JobState::Ready, "{id}");
    }
    let held = vec![v1::Attempt { job: offer.job, token: offer.token }];
    let mut worker = fixture.worker_with("w", 1, held).await?;
    assert!(worker.registered.unknown.is_empty(), "what it ran goes on");
    worker.complete(&offer, "done").await?;
    worker.reports_done(1).await?;
    assert_eq!(fixture.job("running").await?.state(), v1::JobState::Completed);
    fixture.server.shutdown().await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_data_directory_as_large_as_it_may_be_takes_no_more_and_what_was_taken_goes_on()
-> Result<()> {
    let mut fixture = Fixture::with(|config| config.disk_max = Some(8 << 20)).await?;
    fixture.submit(vec![job("taken")]).await?;
    let filled = async {
        loop {
            match fixture.submit((0..20).map(|_| large(String::new())).collect()).await {
                Ok(_) => {}
                Err(error) => return error.downcast::<tonic::Status>(),
            }
        }
    };
    let status = tokio::time::timeout(DEADLINE, filled).await??;
    let code = status.metadata().get("bellwether-code").context("a code")?;
    assert_eq!(code, "disk_max");
    assert!(status.message().contains("raise disk_max"), "{status}");
    let shown = fixture.client.status(v1::StatusRequest {}).await?.into_inner();
    assert!(shown.read_only && shown.explanation.contains("disk_max"), "{shown:?}");
    let mut worker = fixture.worker("w", 1).await?;
    let offer = worker.offer().await?;
    worker.complete(&offer, "done").await?;
    worker.reports_done(1).await?;
    assert_eq!(fixture.job("taken").await?.state(), v1::JobState::Completed);
    fixture.server.shutdown().await;
    Ok(())
}
