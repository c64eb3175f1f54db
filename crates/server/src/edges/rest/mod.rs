//! REST under `/scheduler`: what gRPC offers to programs, for everybody with an HTTP client.
//!
//! Every operation parses, asks the desk and shows its answer; what goes wrong is a [`Problem`].
//! The operations describe themselves in the OpenAPI document, and `security::access` says who may
//! use them.
//!
//! Deliberately absent: answers of its own. What is shown here is what gRPC shows.

mod around;
mod asked;
mod attempts;
mod config;
mod document;
mod events;
mod explain;
mod graph;
mod guard;
mod intake;
mod jobs;
mod keys;
mod leader;
mod link;
mod logs;
mod operations;
mod page;
mod problem;
mod read;
mod runs;
mod sign_in;
mod status;
mod steer;
mod submit;
mod types;
mod view;
mod watch;
mod workers;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware;
use tokio::sync::Semaphore;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::config::Limits;
use crate::edges::desk::{Desk, Operations};
use crate::identity::Identity;
use crate::sinks::metrics::Metrics;

use crate::edges::room::Room;
pub(crate) use guard::{Guard, guard};
use intake::Intake;
pub(crate) use leader::redirect;
pub(crate) use problem::{LEADER_KEY, NotLeader, Problem};

/// What operations share.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    desk: Desk,
    /// The OpenAPI document, as JSON.
    document: Arc<str>,
    call_timeout: Duration,
    intake: Intake,
    identity: Identity,
    operations: Operations,
    metrics: Arc<Metrics>,
    /// Places for those who watch events, or what jobs print.
    watchers: Arc<Semaphore>,
}

pub(crate) fn router(
    desk: Desk,
    identity: Identity,
    limits: Limits,
    room: Room,
    metrics: Arc<Metrics>,
) -> Router {
    let (router, api) = operations().split_for_parts();
    let document = document::finish(api).into();
    let rest = Rest {
        desk,
        document,
        call_timeout: limits.call_timeout,
        intake: Intake::new(limits.message_bytes_max, room),
        identity,
        operations: Operations::default(),
        metrics,
        watchers: Arc::new(Semaphore::new(events::WATCHERS_MAX)),
    };
    router.layer(middleware::from_fn_with_state(rest.clone(), guard::limit_time)).with_state(rest)
}

fn operations() -> OpenApiRouter<Rest> {
    OpenApiRouter::new()
        .routes(routes!(status::status))
        .routes(routes!(watch::summary))
        .routes(routes!(watch::series))
        .routes(routes!(attempts::list))
        .routes(routes!(around::queues))
        .routes(routes!(around::members))
        .routes(routes!(around::types))
        .routes(routes!(sign_in::who_am_i))
        .routes(routes!(sign_in::make_link))
        .routes(routes!(sign_in::sign_in))
        .routes(routes!(document::openapi))
        .routes(routes!(submit::job))
        .routes(routes!(submit::run))
        .routes(routes!(submit::several))
        .routes(routes!(jobs::list))
        .routes(routes!(jobs::get))
        .routes(routes!(jobs::count))
        .routes(routes!(logs::watch))
        .routes(routes!(steer::cancel))
        .routes(routes!(steer::retry))
        .routes(routes!(steer::pin))
        .routes(routes!(explain::job))
        .routes(routes!(explain::decisions_of))
        .routes(routes!(operations::start))
        .routes(routes!(operations::list))
        .routes(routes!(operations::get))
        .routes(routes!(runs::list))
        .routes(routes!(runs::get))
        .routes(routes!(graph::get))
        .routes(routes!(workers::list))
        .routes(routes!(workers::get))
        .routes(routes!(workers::drain))
        .routes(routes!(workers::undrain))
        .routes(routes!(keys::approve))
        .routes(routes!(keys::invite))
        .routes(routes!(keys::revoke))
        .routes(routes!(keys::list))
        .routes(routes!(keys::identity))
        .routes(routes!(keys::hand_off))
        .routes(routes!(types::pause))
        .routes(routes!(types::resume))
        .routes(routes!(explain::decisions))
        .routes(routes!(explain::predictions))
        .routes(routes!(explain::shadow))
        .routes(routes!(config::get))
        .routes(routes!(config::replace))
        .routes(routes!(config::change))
        .routes(routes!(events::watch))
        .routes(routes!(page::docs))
}
