//! Who somebody is, and how they sign in to the dashboard.

use std::time::Instant;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::read;
use super::{Problem, Rest};
use crate::edges::security::authorize::Visitor;
use crate::edges::security::sign_in::link;

/// Who asks.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WhoAmI {
    /// As events name them.
    name: String,
    /// What they may do: submitter, worker, operator, viewer.
    roles: Vec<&'static str>,
    namespace: String,
    /// When the token expires; absent if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<String>,
    /// False where nobody is asked for a token.
    authenticated: bool,
}

/// Who am I
///
/// Whose token it is that was sent, and what it allows.
#[utoipa::path(
    get, path = "/scheduler/whoami", tag = "scheduler", operation_id = "who_am_i",
    responses((status = 200, body = WhoAmI)),
)]
pub(super) async fn who_am_i(Extension(visitor): Extension<Visitor>) -> Json<WhoAmI> {
    Json(match visitor.0 {
        Some(holder) => WhoAmI {
            name: holder.name.clone(),
            roles: holder.roles.iter().map(|role| role.as_str()).collect(),
            namespace: holder.namespace.clone(),
            expires_at: holder.expires.map(|time| time.to_string()),
            authenticated: true,
        },
        None => WhoAmI {
            name: "anybody".to_owned(),
            roles: vec!["submitter", "worker", "operator", "viewer"],
            namespace: bellwether_core::model::NAMESPACE_DEFAULT.to_owned(),
            expires_at: None,
            authenticated: false,
        },
    })
}

/// A way in for a browser.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SignInLink {
    /// Good once, within ten minutes.
    link: String,
}

/// Make a link that signs in
///
/// Whoever opens it first in a browser is whoever asked for it.
#[utoipa::path(
    post, path = "/scheduler/sign-in-links", tag = "scheduler", operation_id = "make_sign_in_link",
    responses((status = 201, body = SignInLink)),
)]
pub(super) async fn make_link(
    State(rest): State<Rest>,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<SignInLink>), Problem> {
    let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let link = rest.desk.sign_in_link(token.and_then(|value| value.strip_prefix("Bearer ")))?;
    Ok((StatusCode::CREATED, Json(SignInLink { link })))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Ticket {
    /// What is behind `#ticket=` in the link.
    ticket: String,
}

/// What a ticket was good for.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SignedIn {
    token: String,
}

/// Sign in with a link
///
/// A ticket is good once, and for ten minutes.
#[utoipa::path(
    post, path = "/scheduler/sign-in", tag = "scheduler", operation_id = "sign_in",
    request_body = Ticket,
    responses(
        (status = 200, body = SignedIn),
        (status = 410, description = "The ticket was used, or is too old"),
    ),
)]
pub(super) async fn sign_in(
    State(rest): State<Rest>,
    read::Json(Ticket { ticket }): read::Json<Ticket>,
) -> Result<Json<SignedIn>, Problem> {
    let token = rest.desk.sign_ins.redeem(&ticket, Instant::now()).ok_or_else(|| {
        let detail = "this link was used before or is too old; `bellwether open` makes a new one";
        Problem::new(StatusCode::GONE, "ticket_used", detail)
    })?;
    Ok(Json(SignedIn { token }))
}

impl crate::edges::desk::Desk {
    /// To the page of this scheduler; with the token of whoever asks for it, if there is one.
    pub(crate) fn sign_in_link(&self, token: Option<&str>) -> std::io::Result<String> {
        let ticket = token.map(|token| self.sign_ins.issue(token, Instant::now())).transpose()?;
        Ok(link(self.members.scheme(), &self.members.here().http, ticket.as_deref()))
    }
}
