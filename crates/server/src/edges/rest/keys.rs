//! The keys of workers, and handoffs between them.

use axum::Json;
use axum::extract::State;
use bellwether_core::Command;
use bellwether_core::model::{KeyTerms, NAMESPACE_DEFAULT};
use bellwether_wire::json::handoff::{self, HandoffForm};
use bellwether_wire::json::unit::Moment;
use bellwether_wire::{key, v1};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::asked::Asked;
use super::read::{self, OptionalJson, Path};
use super::steer::command;
use super::view::Done;
use super::{Problem, Rest};
use crate::edges::registrar::{invitation, key_from_hex};

/// This scheduler.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SchedulerIdentity {
    /// What is signed for it names it so.
    scheduler: String,
    /// The reign that it is in.
    epoch: u64,
    /// What its checkpoints are signed with: Ed25519, in hexadecimal.
    key: String,
}

/// Who the scheduler is
///
/// What workers sign names it, so that it means nothing to another.
#[utoipa::path(
    get, path = "/scheduler/identity", tag = "scheduler", operation_id = "identity",
    responses((status = 200, body = SchedulerIdentity)),
)]
pub(super) async fn identity(State(rest): State<Rest>) -> Json<SchedulerIdentity> {
    let v1::Introduction { scheduler, epoch } = rest.desk.registrar.introduction();
    let key = rest.desk.registrar.key.to_string();
    Json(SchedulerIdentity { scheduler, epoch, key })
}

/// Which key speaks for a worker.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BoundKey {
    worker: String,
    /// Ed25519, in hexadecimal.
    key: String,
    /// first_use, approved or revoked.
    standing: &'static str,
    /// Those that the worker may claim; any if there are none.
    roles: Vec<String>,
    /// The same.
    types: Vec<String>,
    /// Where the key may be used.
    namespace: String,
    since: Moment,
}

#[derive(Debug, Serialize, ToSchema)]
pub(super) struct BoundKeys {
    keys: Vec<BoundKey>,
}

/// List the keys of workers
#[utoipa::path(
    get, path = "/scheduler/keys", tag = "workers", operation_id = "list_keys",
    responses((status = 200, body = BoundKeys)),
)]
pub(super) async fn list(State(rest): State<Rest>) -> Result<Json<BoundKeys>, Problem> {
    let keys = rest.desk.keys().await?.into_iter().map(|bound| {
        let standing = bound.standing().as_str();
        let v1::KeyTerms { roles, types, namespace } = bound.terms.unwrap_or_default();
        let namespace = if namespace.is_empty() { NAMESPACE_DEFAULT.to_owned() } else { namespace };
        let key = bellwether_wire::json::hex(&bound.key);
        let since = Moment(bellwether_core::model::Timestamp(bound.at));
        BoundKey { worker: bound.worker, key, standing, roles, types, namespace, since }
    });
    Ok(Json(BoundKeys { keys: keys.collect() }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Approve {
    /// Ed25519, 64 hexadecimal digits.
    key: String,
    /// Those that the worker may claim; any if there are none.
    #[serde(default)]
    #[schema(required = false)]
    roles: Vec<String>,
    /// The same.
    #[serde(default)]
    #[schema(required = false)]
    types: Vec<String>,
    /// Where the key may be used; `default` if it is not given. There is no other yet.
    #[serde(default)]
    #[schema(required = false)]
    namespace: String,
}

/// Approve the key of a worker
///
/// It speaks for the worker from now on, and no other does.
#[utoipa::path(
    post, path = "/scheduler/workers/{id}/approve", tag = "workers", operation_id = "approve_key",
    params(("id" = String, Path, description = "Its id")),
    request_body = Approve,
    responses((status = 200, body = Done)),
)]
pub(super) async fn approve(
    Asked(rest): Asked,
    id: Path,
    read::Json(Approve { key, roles, types, namespace }): read::Json<Approve>,
) -> Result<Json<Done>, Problem> {
    let key = key_from_hex("key", &key).map_err(|why| Problem::from(&why))?;
    let terms = terms(roles, types, namespace)?;
    command(&rest, Command::ApproveKey { worker: id.name("id")?, key, terms }).await
}

#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Invite {
    /// Those that the worker may claim; any if there are none.
    #[serde(default)]
    #[schema(required = false)]
    roles: Vec<String>,
    /// The same.
    #[serde(default)]
    #[schema(required = false)]
    types: Vec<String>,
    /// Where the key may be used; `default` if it is not given. There is no other yet.
    #[serde(default)]
    #[schema(required = false)]
    namespace: String,
}

/// A token that is used once.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Invited {
    /// Shown this once.
    join_token: String,
    position: u64,
}

/// Invite a worker
///
/// Whoever brings the token within the hour is this worker from then on.
#[utoipa::path(
    post, path = "/scheduler/workers/{id}/invite", tag = "workers", operation_id = "invite_worker",
    params(("id" = String, Path, description = "Its id")),
    request_body = Option<Invite>,
    responses((status = 200, body = Invited)),
)]
pub(super) async fn invite(
    Asked(rest): Asked,
    id: Path,
    OptionalJson(Invite { roles, types, namespace }): OptionalJson<Invite>,
) -> Result<Json<Invited>, Problem> {
    let (join_token, wish) = invitation(id.name("id")?, terms(roles, types, namespace)?, 0);
    let position = rest.desk.command(wish).await?.0;
    Ok(Json(Invited { join_token, position }))
}

/// Revoke the key of a worker
///
/// Nobody speaks for it any more, and what it holds is placed anew.
#[utoipa::path(
    post, path = "/scheduler/workers/{id}/revoke", tag = "workers", operation_id = "revoke_key",
    params(("id" = String, Path, description = "Its id")),
    responses((status = 200, body = Done), (status = 404, description = "It has no key")),
)]
pub(super) async fn revoke(Asked(rest): Asked, id: Path) -> Result<Json<Done>, Problem> {
    command(&rest, Command::RevokeKey { worker: id.name("id")? }).await
}

/// Hand a job to another worker
///
/// The worker that holds it has signed that; who sends it does not matter. See docs/handoff.md.
#[utoipa::path(
    post, path = "/scheduler/handoffs", tag = "jobs", operation_id = "hand_off",
    request_body = HandoffForm,
    responses(
        (status = 200, body = Done),
        (status = 403, description = "It was signed by or for something else"),
        (status = 404, description = "The job is not known"),
        (status = 409, description = "The attempt is not held any more"),
    ),
)]
pub(super) async fn hand_off(
    Asked(rest): Asked,
    read::Json(form): read::Json<HandoffForm>,
) -> Result<Json<Done>, Problem> {
    let wire = handoff::to_wire(form).map_err(|why| Problem::from(&why))?;
    let position = rest.desk.hand_off(wire).await?.0;
    Ok(Json(Done { position }))
}

fn terms(roles: Vec<String>, types: Vec<String>, namespace: String) -> Result<KeyTerms, Problem> {
    let terms = v1::KeyTerms { roles, types, namespace };
    key::terms_from_wire(Some(terms)).map_err(|why| Problem::from(&why))
}
