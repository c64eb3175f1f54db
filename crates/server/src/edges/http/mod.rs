//! HTTP: is it alive, is it ready, how is it.

mod patience;
mod serve;
mod ui;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;

use crate::cluster::Members;
use crate::edges::rest::{self, Guard};
use crate::event_loop::Handle;
use crate::sinks::metrics::{CONTENT_TYPE, Metrics};
pub(crate) use serve::serve;

#[derive(Clone)]
pub(crate) struct HttpState {
    pub(crate) handle: Handle,
    /// None if telemetry is switched off.
    pub(crate) metrics: Option<Arc<Metrics>>,
    pub(crate) guard: Guard,
    pub(crate) members: Members,
}

/// `rest` is what lies under `/scheduler`.
pub(crate) fn router(state: HttpState, rest: Router) -> Router {
    let (guard, members) = (state.guard.clone(), state.members.clone());
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .merge(ui::routes())
        .with_state(state)
        .merge(rest)
        .fallback(|| async { StatusCode::NOT_FOUND })
        .layer(middleware::from_fn_with_state(members, rest::redirect))
        .layer(middleware::from_fn_with_state(guard, rest::guard))
}

/// Ready while the loop answers and takes work.
async fn ready(State(state): State<HttpState>) -> Response {
    match state.handle.ask(|view| view.disk_full).await {
        Ok(false) => "ready\n".into_response(),
        Ok(true) => (StatusCode::SERVICE_UNAVAILABLE, "the disk is full\n").into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}

async fn metrics(State(state): State<HttpState>) -> Response {
    let Some(metrics) = state.metrics else {
        return (StatusCode::NOT_FOUND, "telemetry is switched off\n").into_response();
    };
    match metrics.render(&state.handle, &state.members).await {
        Ok(text) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(why) => (StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")).into_response(),
    }
}
