//! What every request passes: the table of who may do what, and a limit of time.

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};

use super::{Problem, Rest};
use crate::edges::security::access::{self, Access};
use crate::edges::security::authorize::Door;

/// The table decides, not the routes: what is routed and not in it, nobody may do.
pub(crate) async fn guard(State(door): State<Door>, request: Request, next: Next) -> Response {
    match check(&door, &request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check(door: &Door, request: &Request) -> Result<(), Problem> {
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
    Ok(door.admit(access, request.headers())?)
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
