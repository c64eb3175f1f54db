//! What the server tells about itself and its queues.

use super::connection::Server;
use super::{Names, handshake, topology};
use crate::channel::Channel;
use crate::error::BrokerError;
use crate::report::{Report, Verdict};

pub(super) async fn backlog(
    names: &Names,
    server: &Server,
    channel: &Channel,
) -> Result<u64, BrokerError> {
    let link = server.link().await?;
    let queue = names.queue(channel);
    let counting = topology::count(server, &link, &queue);
    Ok(server.within(counting).await?.unwrap_or(0).into())
}

pub(super) async fn check(names: &Names, server: &Server) -> Report {
    let mut report = Report::of(server.name());
    let link = match server.link().await {
        Ok(link) => link,
        Err(error) => {
            report.failed("reachable", &error);
            return report;
        }
    };
    report.good("reachable", "connected and authenticated");
    let plain = server.settings.tls.is_none();
    report.version = match plain {
        true => handshake::version(&server.settings.address, server.timeout()).await,
        false => None,
    };
    match report.version.clone() {
        Some(version) if is_old(&version) => report.add(
            "version",
            Verdict::Bad {
                reason: format!("{version} has no streams for the events"),
                way_out: "use RabbitMQ 3.10 or newer".to_owned(),
            },
        ),
        Some(version) => report.good("version", version),
        None => {
            report.add("version", Verdict::Warning("the server does not tell it".to_owned()));
        }
    }
    for channel in [Channel::Dead, Channel::Jobs, Channel::Replies, Channel::Events] {
        let made = server.within(topology::make(names, server, &link, &channel)).await;
        let counted = match made {
            Ok(_) => backlog(names, server, &channel).await,
            Err(error) => Err(error),
        };
        match counted {
            Ok(count) => report.depth(channel.kind(), count),
            Err(error) => report.failed(channel.kind(), &error),
        }
    }
    report
}

fn is_old(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < (3, 10)
}
