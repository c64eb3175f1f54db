//! Streams that are there already.

use anyhow::{Result, ensure};
use async_nats::jetstream;
use bellwether_brokers::Channel;

use crate::servers::nats::Nats;
use crate::stage::{Stage, bodies, receive, settle};

#[tokio::test]
async fn stream_of_the_team_is_read_where_it_is() -> Result<()> {
    let bed = Nats::start()?;
    let client = bed.client().await?;
    let mut stage = Stage::new(Box::new(bed));
    let scheduler = stage.scene()?.scheduler()?;
    let context = jetstream::new(client);
    let theirs = jetstream::stream::Config {
        name: "ORDERS".to_owned(),
        subjects: vec!["kai-job-1.*".to_owned()],
        ..Default::default()
    };
    context.create_stream(theirs).await?;
    context.publish("kai-job-1.jobs", "theirs".into()).await?.await?;
    let got = receive(&scheduler, &Channel::Jobs, 1).await?;
    ensure!(bodies(&got) == ["theirs"], "got {:?}", bodies(&got));
    settle(&scheduler, got).await?;
    ensure!(context.get_stream("kai-job-1-jobs").await.is_err(), "a second stream was made");
    Ok(())
}
