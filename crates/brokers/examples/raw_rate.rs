//! How fast a queue is by itself:
//! `cargo run --release -p bellwether-brokers --example raw_rate -- redis 127.0.0.1:6379`
//!
//! Backends: redis, rabbitmq, nats and zeromq with HOST:PORT, sqlite with a path; then, if wanted, the
//! number of messages and of messages in a batch.

#![expect(clippy::print_stdout, reason = "the figures are what it is for")]

use anyhow::{Context, Result, bail};
use bellwether_brokers::{
    Address, Backend, DispatchBy, Load, NatsSettings, QueueKind, RabbitMqSettings, RedisSettings,
    Settings, SqliteSettings, ZeroMqSettings, raw_rate,
};

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (name, place) = (
        arguments.next().context("which backend?")?,
        arguments.next().context("HOST:PORT, or the path of the file?")?,
    );
    let mut load = Load::default();
    if let Some(messages) = arguments.next() {
        load.messages = messages.parse()?;
    }
    if let Some(batch) = arguments.next() {
        load.batch = batch.parse()?;
    }
    let mut settings = Settings::new(backend(&name, &place)?);
    settings.stream_prefix = "raw-rate".to_owned();
    let rates = raw_rate(&settings, load).await?;
    println!(
        "{name:9} published {:9.0}/s  consumed {:9.0}/s  through {:9.0}/s  \
         latency p50 {:6.3} ms  p99 {:6.3} ms",
        rates.published_per_second,
        rates.consumed_per_second,
        rates.through_per_second,
        rates.latency_p50.as_secs_f64() * 1000.0,
        rates.latency_p99.as_secs_f64() * 1000.0,
    );
    Ok(())
}

fn backend(name: &str, place: &str) -> Result<Backend> {
    let (credentials, tls) = (None, None);
    Ok(match name {
        "redis" => Backend::Redis(RedisSettings {
            address: address(place)?,
            db: 0,
            credentials,
            tls,
            dispatch_by: DispatchBy::Stream,
            trim: true,
        }),
        "rabbitmq" => Backend::RabbitMq(RabbitMqSettings {
            address: address(place)?,
            virtual_host: "/".to_owned(),
            credentials,
            tls,
            queues: QueueKind::Quorum,
        }),
        "nats" => Backend::Nats(NatsSettings { address: address(place)?, credentials, tls }),
        "zeromq" => Backend::ZeroMq(ZeroMqSettings { address: address(place)? }),
        "sqlite" => Backend::Sqlite(SqliteSettings { path: place.into() }),
        other => bail!("no backend is called {other}"),
    })
}

fn address(place: &str) -> Result<Address> {
    let (host, port) = place.rsplit_once(':').context("HOST:PORT")?;
    Ok(Address { host: host.to_owned(), port: port.parse()? })
}
