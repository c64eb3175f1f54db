//! What an operation that changes something is given: all that operations share, for whoever asks.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use bellwether_core::model::Actor;

use super::Rest;

/// The events of its commands name whoever asked.
pub(super) struct Asked(pub(super) Rest);

impl FromRequestParts<Rest> for Asked {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, rest: &Rest) -> Result<Asked, Infallible> {
        let actor = parts.extensions.get::<Actor>().cloned();
        Ok(Asked(Rest { desk: rest.desk.acting(actor), ..rest.clone() }))
    }
}
