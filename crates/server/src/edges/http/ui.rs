//! The dashboard's files. What the page shows comes from REST, with the token of whoever looks.

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use bellwether_dashboard::Asset;

/// Where the page lies.
const HOME: &str = "/ui/";
/// Files lie below this; whatever else lies below [`HOME`] is a view of the one page.
const FILES: &str = "assets/";
const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let home = || async { Redirect::temporary(HOME) };
    Router::new()
        .route("/", get(home))
        .route("/ui", get(home))
        .route(HOME, get(page))
        .route("/ui/{*path}", get(file_or_page))
}

async fn page(headers: HeaderMap) -> Response {
    answer(bellwether_dashboard::page(), &headers)
}

async fn file_or_page(Path(path): Path<String>, headers: HeaderMap) -> Response {
    let Some(file) = path.strip_prefix(FILES) else { return page(headers).await };
    if let Some((kind, bytes)) = bellwether_dashboard::draft(file) {
        let told = [(CONTENT_TYPE, kind), (CACHE_CONTROL, "no-store")];
        return (told, Body::from(bytes.into_owned())).into_response();
    }
    match bellwether_dashboard::asset(file) {
        Some(asset) => answer(asset, &headers),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

fn answer(asset: &'static Asset, headers: &HeaderMap) -> Response {
    // Asked for again each time: a scheduler of another version may serve here by then.
    let told = [
        (ETAG, asset.etag),
        (CACHE_CONTROL, "no-cache"),
        (CONTENT_SECURITY_POLICY, bellwether_dashboard::policy()),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CROSS_ORIGIN_OPENER_POLICY, "same-origin"),
        (CROSS_ORIGIN_RESOURCE_POLICY, "same-origin"),
        (VARY, "accept-encoding"),
    ];
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
    if text(IF_NONE_MATCH).is_some_and(|known| known.split(',').any(|tag| tag.trim() == asset.etag))
    {
        return (StatusCode::NOT_MODIFIED, told).into_response();
    }
    let kind = [(CONTENT_TYPE, asset.content_type())];
    if text(ACCEPT_ENCODING).is_some_and(|accepted| accepted.contains("gzip")) {
        (told, kind, [(CONTENT_ENCODING, "gzip")], asset.gzip).into_response()
    } else {
        (told, kind, asset.plain()).into_response()
    }
}
