//! What every request passes: the table of who may do what, and a limit of time.

use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bellwether_core::model::excerpt;

use super::intake::bug;
use super::{Problem, Rest, read};
use crate::edges::contain::Contained;
use crate::edges::listener::Caller;
use crate::edges::security::access::{self, Access};
use crate::edges::security::authorize::{Denied, Door, Guest};
use crate::edges::security::denials::{self, Cause};
use crate::edges::security::hosts::{Foreign, Hosts};
use crate::edges::security::leave::WhileLetIn;

/// Those who stand at the door.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) door: Door,
    pub(crate) hosts: Hosts,
}

/// The table decides, not the routes: what is routed and not in it, nobody may do.
pub(crate) async fn guard(
    State(guard): State<Guard>,
    mut request: Request,
    next: Next,
) -> Response {
    let what = format!("{} {}", request.method(), excerpt(request.uri().path()));
    let caller = request.extensions().get::<Caller>().cloned();
    let guest = match check(&guard, &request) {
        Ok(guest) => guest,
        Err(outside) => {
            outside.note(&what, caller.as_ref());
            return Problem::from(outside).into_response();
        }
    };
    if let Some(caller) = &caller {
        guard.door.recognize(&guest, caller);
    }
    request.extensions_mut().insert(guest.visitor());
    if let Some(actor) = guest.actor(caller.as_ref()) {
        request.extensions_mut().insert(actor);
    }
    match Contained::new(what, next.run(request)).await {
        Ok(response) => {
            let pass = guest.into_pass();
            response.map(|body| Body::new(WhileLetIn::new(body, pass)))
        }
        Err(panicked) => bug(panicked).into_response(),
    }
}

/// Why a request goes no further.
enum Outside {
    Denied(Denied),
    Foreign(Foreign),
    Problem(Problem),
}

impl Outside {
    fn note(&self, what: &str, caller: Option<&Caller>) {
        match self {
            Outside::Denied(denied) => denied.note(what, caller),
            Outside::Foreign(foreign) => {
                let cause = match foreign {
                    Foreign::NoHost | Foreign::Host { .. } => Cause::Host,
                    Foreign::Origin { .. } => Cause::Origin,
                };
                let peer = caller.map(Caller::address).unwrap_or_default();
                denials::note(cause, what, &peer, foreign);
            }
            Outside::Problem(_) => {}
        }
    }
}

impl From<Denied> for Outside {
    fn from(denied: Denied) -> Outside {
        Outside::Denied(denied)
    }
}

impl From<Foreign> for Outside {
    fn from(foreign: Foreign) -> Outside {
        Outside::Foreign(foreign)
    }
}

impl From<Problem> for Outside {
    fn from(problem: Problem) -> Outside {
        Outside::Problem(problem)
    }
}

impl From<Outside> for Problem {
    fn from(outside: Outside) -> Problem {
        match outside {
            Outside::Denied(denied) => denied.into(),
            Outside::Foreign(foreign) => foreign.into(),
            Outside::Problem(problem) => problem,
        }
    }
}

fn check(guard: &Guard, request: &Request) -> Result<Guest, Outside> {
    let Guard { door, hosts } = guard;
    hosts.check(request.method(), request.uri(), request.headers())?;
    let Some(path) = request.extensions().get::<MatchedPath>() else {
        // Whoever has no token is not told what exists.
        door.admit(Access::Holders, request.headers())?;
        return Err(Problem::unknown("unknown_path", "there is nothing at this path").into());
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
        return Err(Problem::method_not_allowed(&allowed).into());
    };
    let guest = door.admit(access, request.headers())?;
    if !request.method().is_safe() {
        read::check_type(request)?;
    }
    Ok(guest)
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
