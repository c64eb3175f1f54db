//! The page that shows the document to people.

use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::response::{IntoResponse as _, Response};

/// It loads nothing but the document of the same server.
const POLICY: &str = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The API page
#[utoipa::path(
    get, path = "/scheduler/docs", tag = "scheduler", operation_id = "docs",
    responses((status = 200, body = String, content_type = "text/html")),
)]
pub(super) async fn docs() -> Response {
    let headers = [(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, POLICY)];
    (headers, include_str!("page.html")).into_response()
}
