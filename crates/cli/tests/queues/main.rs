//! Queues in front of the real binary: real servers, jobs in, workers, events out, and what is left
//! when one of them dies.

/// One test per backend, of the same name.
macro_rules! for_every_backend {
    ($($test:ident),+ $(,)?) => {
        crate::for_every_backend!(@backend redis, Redis, $($test),+);
        crate::for_every_backend!(@backend rabbitmq, RabbitMq, $($test),+);
        crate::for_every_backend!(@backend nats, Nats, $($test),+);
        crate::for_every_backend!(@backend zeromq, ZeroMq, $($test),+);
        crate::for_every_backend!(@backend sqlite, Sqlite, $($test),+);
    };
    (@backend $module:ident, $kind:ident, $($test:ident),+) => {
        mod $module {
            $(#[tokio::test]
            async fn $test() -> anyhow::Result<()> {
                super::$test(bellwether_bench::broker_server::Kind::$kind).await
            })+
        }
    };
}
use for_every_backend;

mod check;
mod checkpoints;
mod claims;
mod crashes;
mod flow;
mod forged;
mod hand;
mod listener;
mod schema;
mod site;
mod workers;
