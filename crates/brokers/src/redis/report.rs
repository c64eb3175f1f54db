//! What the server tells about itself and its streams.

use std::collections::HashMap;

use redis::aio::MultiplexedConnection;
use redis::{FromRedisValue, RedisError, Value};

use super::connection::{Link, Server};
use super::{GROUP, Names, group};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::report::{Report, Verdict};

/// One consumer group of a stream.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) name: String,
    pub(super) pending: u64,
    pub(super) last_delivered: (u64, u64),
    /// Entries it has not read yet; servers before Redis 7 do not tell.
    lag: Option<u64>,
}

/// The groups of a stream.
pub(super) async fn groups(
    connection: &mut MultiplexedConnection,
    key: &str,
) -> Result<Vec<Group>, RedisError> {
    let groups: Vec<HashMap<String, Value>> =
        redis::cmd("XINFO").arg("GROUPS").arg(key).query_async(connection).await?;
    groups.into_iter().map(read_group).collect()
}

fn read_group(mut fields: HashMap<String, Value>) -> Result<Group, RedisError> {
    let mut field = |name: &str| fields.remove(name).unwrap_or(Value::Nil);
    let id = String::from_redis_value(field("last-delivered-id"))?;
    Ok(Group {
        name: String::from_redis_value(field("name"))?,
        pending: u64::from_redis_value(field("pending"))?,
        last_delivered: number(&id),
        lag: Option::<u64>::from_redis_value(field("lag"))?,
    })
}

/// The id of an entry as the two numbers that order it.
pub(super) fn number(id: &str) -> (u64, u64) {
    let (time, sequence) = id.split_once('-').unwrap_or((id, "0"));
    (time.parse().unwrap_or(0), sequence.parse().unwrap_or(0))
}

/// How much waits in a stream.
pub(super) async fn backlog(
    names: &Names,
    link: &Link,
    channel: &Channel,
) -> Result<u64, BrokerError> {
    let mut connection = link.connection().await?;
    let key = names.key(channel);
    let result = match channel {
        Channel::Jobs | Channel::Replies => waiting(&mut connection, &key).await,
        Channel::Dispatch(_) | Channel::Events | Channel::Dead => {
            redis::cmd("XLEN").arg(&key).query_async(&mut connection).await
        }
    };
    match result {
        Ok(count) => Ok(count),
        Err(error) => Err(link.failed(&error).await),
    }
}

async fn waiting(connection: &mut MultiplexedConnection, key: &str) -> Result<u64, RedisError> {
    let length: u64 = redis::cmd("XLEN").arg(key).query_async(connection).await?;
    let exists: bool = redis::cmd("EXISTS").arg(key).query_async(connection).await?;
    if !exists {
        return Ok(0);
    }
    let ours = groups(connection, key).await?.into_iter().find(|group| group.name == GROUP);
    let counted = ours.and_then(|group| group.lag.map(|lag| lag + group.pending));
    Ok(counted.unwrap_or(length))
}

pub(super) async fn check(names: &Names, server: &Server, link: &Link) -> Report {
    let mut report = Report::of(server.name());
    let mut connection = match server.connect().await {
        Ok(connection) => connection,
        Err(error) => {
            report.failed("reachable", &error);
            return report;
        }
    };
    report.good("reachable", "connected and authenticated");
    match redis::cmd("INFO").arg("server").query_async::<String>(&mut connection).await {
        Ok(info) => version(&mut report, &info),
        Err(error) => {
            let reason = format!("the server does not tell its version: {error}");
            report.add("version", Verdict::Warning(reason));
        }
    }
    match redis::cmd("INFO").arg("persistence").query_async::<String>(&mut connection).await {
        Ok(info) if info.contains("aof_enabled:1") => {
            report.good("durable", "appendonly is on");
        }
        Ok(_) | Err(_) => report.add(
            "durable",
            Verdict::Warning(
                "appendonly is off: a crash of the server loses messages; set appendonly yes"
                    .to_owned(),
            ),
        ),
    }
    for channel in [Channel::Jobs, Channel::Replies, Channel::Dead] {
        let made = group::make_group(&mut connection, &names.key(&channel)).await;
        match made {
            Ok(()) => match backlog(names, link, &channel).await {
                Ok(count) => report.depth(channel.kind(), count),
                Err(error) => report.failed(channel.kind(), &error),
            },
            Err(error) => report.failed(channel.kind(), &server.failure(&error)),
        }
    }
    let mut command = redis::cmd("XADD");
    let key = names.key(&Channel::Events);
    // Asks for the permission without adding anything: the stream of this id can't grow.
    command.arg(&key).arg("NOMKSTREAM").arg("MAXLEN").arg("~").arg(names.events_max);
    command.arg("0-0").arg("body").arg("");
    match command.query_async::<Value>(&mut connection).await {
        Err(error) if !is_about_the_id(&error) => {
            report.failed("events", &server.failure(&error));
        }
        Ok(_) | Err(_) => report.good("events", "can be added"),
    }
    report
}

fn is_about_the_id(error: &RedisError) -> bool {
    error.detail().is_some_and(|detail| detail.contains("must be greater than 0-0"))
}

fn version(report: &mut Report, info: &str) {
    let line = info.lines().find_map(|line| line.strip_prefix("redis_version:"));
    let Some(version) = line.map(str::trim) else { return };
    report.version = Some(version.to_owned());
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    let (major, minor) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if (major, minor) >= (6, 2) {
        report.good("version", version);
    } else {
        report.add(
            "version",
            Verdict::Bad {
                reason: format!("{version} can't claim what a dead consumer left"),
                way_out: "use Redis 6.2 or newer".to_owned(),
            },
        );
    }
}
