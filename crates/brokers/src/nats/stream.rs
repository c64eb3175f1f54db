//! Streams and their consumers, made where they are missing.

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{AckPolicy, Consumer, DeliverPolicy, pull};
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamByNameErrorKind};
use async_nats::jetstream::stream::{Config, ConsumerErrorKind, RetentionPolicy, Stream};

use super::Names;
use super::connection::Server;
use crate::channel::Channel;
use crate::error::BrokerError;

/// More unsettled messages than this are never held; the server stops delivering.
const UNSETTLED_MAX: i64 = 100_000;

/// Offers to a worker that does not come back have long expired by then.
const DISPATCH_AGE_MAX: Duration = Duration::from_secs(24 * 3600);

/// The stream that keeps the messages of a channel, made if there is none.
pub(super) async fn make(
    names: &Names,
    server: &Server,
    context: &Context,
    channel: &Channel,
) -> Result<Stream, BrokerError> {
    let _turn = server.turn_to_make().await;
    let name = match context.stream_by_subject(names.subject(channel)).await {
        Ok(name) => name,
        Err(error) => match error.kind() {
            GetStreamByNameErrorKind::NotFound => create(names, server, context, channel).await?,
            GetStreamByNameErrorKind::JetStream(_) => {
                return Err(server.refused(error, "let this user use the JetStream API"));
            }
            GetStreamByNameErrorKind::Request | GetStreamByNameErrorKind::InvalidSubject => {
                return Err(request_failed(server, &error));
            }
        },
    };
    context.get_stream(&name).await.map_err(|error| server.lost(error))
}

async fn create(
    names: &Names,
    server: &Server,
    context: &Context,
    channel: &Channel,
) -> Result<String, BrokerError> {
    let (subjects, retention) = match channel {
        Channel::Dispatch(_) => {
            (format!("{}.dispatch.*", names.prefix), RetentionPolicy::WorkQueue)
        }
        Channel::Jobs | Channel::Replies | Channel::Dead => {
            (names.subject(channel), RetentionPolicy::WorkQueue)
        }
        Channel::Events => (names.subject(channel), RetentionPolicy::Limits),
    };
    let config = Config {
        name: names.stream(channel),
        subjects: vec![subjects],
        retention,
        max_messages: match channel {
            Channel::Events => i64::try_from(names.events_max).unwrap_or(i64::MAX),
            Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Dead => -1,
        },
        max_age: match channel {
            Channel::Dispatch(_) => DISPATCH_AGE_MAX,
            Channel::Jobs | Channel::Replies | Channel::Events | Channel::Dead => Duration::ZERO,
        },
        ..Config::default()
    };
    match context.create_stream(config).await {
        Ok(stream) => Ok(stream.cached_info().config.name.clone()),
        Err(error) => Err(match error.kind() {
            CreateStreamErrorKind::TimedOut | CreateStreamErrorKind::Response => server.lost(error),
            CreateStreamErrorKind::JetStreamUnavailable => {
                server.refused(error, "start the server with JetStream (-js)")
            }
            _ => server.refused(
                error,
                "let this user make streams, or make one that keeps the subjects of the prefix",
            ),
        }),
    }
}

fn request_failed(server: &Server, error: &impl std::error::Error) -> BrokerError {
    // The reason is in the causes, and without JetStream nobody answers at all.
    let mut reason = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        reason = format!("{reason}: {error}");
        cause = error.source();
    }
    if reason.contains("no responders") || reason.contains("not enabled") {
        return server.refused(reason, "start the server with JetStream (-js)");
    }
    server.lost(reason)
}

/// The consumer of a channel: durable, or for the log of events one that goes with us.
pub(super) async fn consumer(
    names: &Names,
    server: &Server,
    stream: &Stream,
    channel: &Channel,
    events_after: u64,
) -> Result<Consumer<pull::Config>, BrokerError> {
    let common = pull::Config {
        filter_subject: names.subject(channel),
        max_ack_pending: UNSETTLED_MAX,
        ..pull::Config::default()
    };
    let config = match channel {
        Channel::Events => pull::Config {
            ack_policy: AckPolicy::None,
            max_ack_pending: 0,
            deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: events_after + 1 },
            ..common
        },
        Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Dead => pull::Config {
            durable_name: Some(names.consumer(channel)),
            ack_policy: AckPolicy::Explicit,
            ack_wait: names.redeliver_after,
            ..common
        },
    };
    let _turn = server.turn_to_make().await;
    stream.create_consumer(config).await.map_err(|error| match error.kind() {
        ConsumerErrorKind::JetStream(_) | ConsumerErrorKind::InvalidConsumerType => server.refused(
            error,
            "let this user make consumers; a stream with a work queue takes one per subject",
        ),
        _ => server.lost(error),
    })
}
