//! What others see of a scheduler: the real Prometheus, ClickHouse and an OpenTelemetry collector
//! beside a real server.

mod child;
mod clickhouse;
#[expect(dead_code, reason = "shared with the tests of the server, which use more of it")]
#[path = "../server/fixture.rs"]
mod fixture;
mod prometheus;
mod tracing;
mod web;
mod work;
