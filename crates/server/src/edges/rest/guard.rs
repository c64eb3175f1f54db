//! What every request passes: the table of who may do what, and a limit of time.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bellwether_core::model::excerpt;

use super::intake::bug;
use super::{Problem, Rest, read};
use crate::edges::contain::Contained;
use crate::edges::security::access::{self, Access};
use crate::edges::security::authorize::Door;
use crate::edges::security::hosts::Hosts;

/// Those who stand at the door.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) door: Door,
    pub(crate) hosts: Hosts,
}

/// The table decides, not the routes: what is routed and not in it, nobody may do.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if let Err(problem) = check(&guard, &request) {
        return problem.into_response();
    }
    let what = format!("{} {}", request.method(), excerpt(request.uri().path()));
    match Contained::new(what, next.run(request)).await {
        Ok(response) => response,
        Err(panicked) => bug(panicked).into_response(),
    }
}

fn check(guard: &Guard, request: &Request) -> Result<(), Problem> {
    let Guard { door, hosts } = guard;
    hosts.check(request.method(), request.uri(), request.headers())?;
    let Some(path) = request.extensions().get::<MatchedPath>() else {
        // Whoever has no token is not told what exists.
        door.admit(Access::Holders, request.headers())?;
        return Err(Problem::unknown("unknown_path", "there is nothing at this path"));
    };
    let method = match request.method() {
        &Method::HEAD => &Method::GET,
        method => method,
    };
    let Some(access) = access::operation(method.as_str(), path.as_str()) else {
        let allowed = access::methods(path.as_str());
        let open =
            |method: &&str| access::operation(method, path.as_str()) == Some(Access::Everybody);
        if !allowed.iter().any(open) {
            door.admit(Access::Holders, request.headers())?;
        }
        return Err(Problem::method_not_allowed(&allowed));
    };
    door.admit(access, request.headers())?;
    if request.method().is_safe() { Ok(()) } else { read::check_type(request) }
}

pub(super) async fn limit_time(State(rest): State<Rest>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(rest.call_timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => {
            let detail = "it took longer than call_timeout";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "timed_out", detail).into_response()
        }
    }
}
