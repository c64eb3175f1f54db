//! What the server tells about itself and its streams.

use super::connection::Server;
use super::{Names, stream};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::report::{Report, Verdict};

/// A job of 1 MiB and what goes with it.
const PAYLOAD_BYTES_WANTED: usize = (1 << 20) + (64 << 10);

pub(super) async fn backlog(
    names: &Names,
    server: &Server,
    channel: &Channel,
) -> Result<u64, BrokerError> {
    let context = server.context().await?;
    let stream = stream::make(names, server, &context, channel).await?;
    match channel {
        Channel::Events => Ok(stream.cached_info().state.messages),
        Channel::Jobs | Channel::Replies | Channel::Dispatch(_) | Channel::Dead => {
            let consumer = stream::consumer(names, server, &stream, channel, 0).await?;
            let info = consumer.cached_info();
            Ok(info.num_pending + info.num_ack_pending as u64)
        }
    }
}

pub(super) async fn check(names: &Names, server: &Server) -> Report {
    let mut report = Report::of(server.name());
    let context = match server.context().await {
        Ok(context) => context,
        Err(error) => {
            report.failed("reachable", &error);
            return report;
        }
    };
    report.good("reachable", "connected and authenticated");
    let client = context.client();
    let version = client.server_info().version;
    if client.is_server_compatible(2, 9, 0) {
        report.good("version", version.clone());
    } else {
        report.add(
            "version",
            Verdict::Bad {
                reason: format!("{version} has another JetStream API"),
                way_out: "use NATS 2.9 or newer".to_owned(),
            },
        );
    }
    report.version = Some(version);
    if client.max_payload() < PAYLOAD_BYTES_WANTED {
        report.add(
            "max_payload",
            Verdict::Warning(format!(
                "{} bytes; jobs of 1 MiB need {PAYLOAD_BYTES_WANTED}: raise max_payload",
                client.max_payload()
            )),
        );
    }
    for channel in [Channel::Jobs, Channel::Replies, Channel::Events, Channel::Dead] {
        match backlog(names, server, &channel).await {
            Ok(count) => report.depth(channel.kind(), count),
            Err(error) => {
                report.failed(channel.kind(), &error);
                return report;
            }
        }
    }
    report
}
