//! A SQLite file as a queue.

use anyhow::Result;
use bellwether_brokers::{Backend, Channel, Outgoing, Settings, Settlement, SqliteSettings, open};

#[tokio::test]
async fn what_was_published_arrives_until_it_is_settled() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("queue.db");
    let settings = Settings::new(Backend::Sqlite(SqliteSettings { path }));
    let broker = open(settings.clone())?;
    println!("{}", broker.check().await);
    let jobs = |range: std::ops::Range<u32>| {
        range.map(|n| Outgoing::new(Channel::Jobs, n.to_string())).collect::<Vec<_>>()
    };
    broker.publish(jobs(0..10)).await?;
    let mut first = broker.receive(&Channel::Jobs, 4).await?;
    assert_eq!(first.len(), 4);
    let rest = first.split_off(2);
    broker.settle(first.into_iter().map(|d| Settlement::Done(d.receipt)).collect()).await?;
    drop((broker, rest));
    let broker = open(settings)?;
    let again = broker.receive(&Channel::Jobs, 100).await?;
    let bodies: Vec<&[u8]> = again.iter().map(|delivery| &delivery.body[..]).collect();
    assert_eq!(bodies, [b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9"]);
    let (next, _) =
        tokio::try_join!(broker.receive(&Channel::Jobs, 9), broker.publish(jobs(10..11)))?;
    assert_eq!(&next[0].body[..], b"10");
    Ok(())
}
