//! What only the leader can answer is answered by where it is.

use axum::extract::{Request, State};
use axum::http::header::LOCATION;
use axum::http::{StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;

use super::NotLeader;
use crate::cluster::Members;

/// Sends whoever needs the leader there, with the same method and body.
pub(crate) async fn redirect(
    State(members): State<Members>,
    request: Request,
    next: Next,
) -> Response {
    let uri = request.uri().clone();
    let mut response = next.run(request).await;
    if response.extensions().get::<NotLeader>().is_some()
        && let Some(location) = location(&members, &uri)
        && let Ok(location) = location.parse()
    {
        *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
        response.headers_mut().insert(LOCATION, location);
    }
    response
}

fn location(members: &Members, uri: &Uri) -> Option<String> {
    let leader = members.leader()?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let scheme = if leader.http.contains("://") { "" } else { members.scheme() };
    Some(format!("{scheme}{}{path}", leader.http))
}
