//! Entries of other producers, other consumer groups, and `PUBLISH`.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use bellwether_brokers::{Backend, Channel, DispatchBy};
use redis::Value;
use redis::aio::MultiplexedConnection;
use redis::streams::StreamReadReply;

use crate::bed::Bed;
use crate::servers::redis::Redis;
use crate::stage::{Stage, bodies, messages, numbers, publish, receive, settle};

const DEADLINE: Duration = Duration::from_secs(30);

async fn client(bed: &Redis) -> Result<MultiplexedConnection> {
    let client = redis::Client::open(bed.url())?;
    Ok(client.get_multiplexed_async_connection().await?)
}

#[tokio::test]
async fn entry_without_a_body_is_an_object_of_its_fields() -> Result<()> {
    let bed = Redis::start()?;
    let mut client = client(&bed).await?;
    let mut stage = Stage::new(Box::new(bed));
    let scene = stage.scene()?;
    let mut command = redis::cmd("XADD");
    command.arg("kai-job-1:jobs").arg("*").arg("type").arg("resize").arg("timeout").arg("120");
    command.arg("payload").arg(r#"{"width":100}"#);
    command.query_async::<Value>(&mut client).await?;
    let got = receive(&scene.scheduler()?, &Channel::Jobs, 1).await?;
    let job: serde_json::Value = serde_json::from_slice(&got[0].body)?;
    let expected = serde_json::json!({"type": "resize", "timeout": 120, "payload": {"width": 100}});
    ensure!(job == expected, "got {job}");
    Ok(())
}

#[tokio::test]
async fn trimming_spares_what_another_group_has_not_read() -> Result<()> {
    let bed = Redis::start()?;
    let mut client = client(&bed).await?;
    let mut stage = Stage::new(Box::new(bed));
    let scene = stage.scene()?;
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    publish(&producer, messages(&Channel::Jobs, 0..2000)).await?;
    let key = "kai-job-1:jobs";
    let mut command = redis::cmd("XGROUP");
    command.arg("CREATE").arg(key).arg("team").arg("0");
    command.query_async::<Value>(&mut client).await?;
    let read: StreamReadReply = redis::cmd("XREADGROUP")
        .arg(&["GROUP", "team", "one", "COUNT", "1000", "STREAMS", key, ">"])
        .query_async(&mut client)
        .await?;
    let ids: Vec<&String> = read.keys[0].ids.iter().map(|entry| &entry.id).collect();
    redis::cmd("XACK").arg(key).arg("team").arg(&ids).query_async::<Value>(&mut client).await?;
    let got = receive(&scheduler, &Channel::Jobs, 2000).await?;
    settle(&scheduler, got).await?;
    let began = Instant::now();
    let length = loop {
        let length: usize = redis::cmd("XLEN").arg(key).query_async(&mut client).await?;
        if length < 2000 {
            break length;
        }
        ensure!(began.elapsed() < DEADLINE, "nothing is trimmed");
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    ensure!(length >= 1000, "the team lost messages: {length} are left");
    Ok(())
}

#[tokio::test]
async fn dispatch_by_publish_reaches_who_listens() -> Result<()> {
    let mut bed = Redis::start()?;
    let Backend::Redis(mut settings) = bed.backend("kai-job")? else {
        anyhow::bail!("this is Redis");
    };
    settings.dispatch_by = DispatchBy::Publish;
    let broker = bellwether_brokers::open(crate::stage::settings(Backend::Redis(settings)))?;
    let channel = Channel::dispatch("worker-1");
    let listening = {
        let (broker, channel) = (std::sync::Arc::clone(&broker), channel.clone());
        tokio::spawn(async move { receive(&broker, &channel, 1).await })
    };
    while !listening.is_finished() {
        publish(&broker, messages(&channel, 0..1)).await?;
        tokio::task::yield_now().await;
    }
    let got = listening.await??;
    ensure!(bodies(&got) == ["0"], "got {:?}", bodies(&got));
    settle(&broker, got).await
}

#[tokio::test]
async fn what_was_read_and_given_to_nobody_is_read_again() -> Result<()> {
    let bed = Redis::start()?;
    let mut client = client(&bed).await?;
    let mut stage = Stage::new(Box::new(bed));
    let scene = stage.scene()?.with_prefetch(2);
    let (scheduler, producer) = (scene.scheduler()?, scene.outside("producer")?);
    publish(&producer, messages(&Channel::Jobs, 0..10)).await?;
    let mut got = receive(&scheduler, &Channel::Jobs, 2).await?;
    // The next ones are read ahead by now, or soon, and wait for somebody to ask for them.
    let killed: usize =
        redis::cmd("CLIENT").arg(&["KILL", "TYPE", "normal"]).query_async(&mut client).await?;
    ensure!(killed > 0, "nobody was connected");
    let own: u64 = redis::cmd("CLIENT").arg("ID").query_async(&mut client).await?;
    let began = Instant::now();
    loop {
        let list: String = redis::cmd("CLIENT").arg("LIST").query_async(&mut client).await?;
        if list.lines().any(|line| !line.starts_with(&format!("id={own} "))) {
            break;
        }
        ensure!(began.elapsed() < DEADLINE, "the reader does not come back");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    got.extend(receive(&scheduler, &Channel::Jobs, 8).await?);
    let mut seen = bodies(&got);
    seen.sort_unstable();
    ensure!(seen == numbers(0..10), "got {seen:?}");
    settle(&scheduler, got).await
}
