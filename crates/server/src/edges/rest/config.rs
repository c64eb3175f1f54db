//! The configuration, changed while the scheduler runs. Its version is its ETag, and whoever changes
//! it says which version they have seen, so that no change is lost.

use axum::Json;
use axum::extract::State;
use axum::http::header::{ETAG, IF_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bellwether_core::Rejection;
use bellwether_core::model::Config;
use bellwether_wire::json::LiveConfig;
use serde_json::{Map, Value};

use super::asked::Asked;
use super::read;
use super::{Problem, Rest};
use crate::edges::desk::Configured;

/// Read the configuration
#[utoipa::path(
    get, path = "/scheduler/config", tag = "config", operation_id = "get_config",
    responses((
        status = 200, body = LiveConfig,
        headers(("etag" = String, description = "The version, in quotes")),
    )),
)]
pub(super) async fn get(State(rest): State<Rest>) -> Result<Response, Problem> {
    show(&rest).await
}

/// Replace the configuration
///
/// The change is an event in the journal, and lasts until the file is changed.
#[utoipa::path(
    put, path = "/scheduler/config", tag = "config", operation_id = "replace_config",
    params(("If-Match" = String, Header, description = "The ETag that was read; * is any")),
    request_body = LiveConfig,
    responses(
        (
            status = 200, body = LiveConfig,
            headers(("etag" = String, description = "The version, in quotes")),
        ),
        (status = 412, description = "Another version holds by now"),
        (status = 422, description = "The scheduler could not keep its promises with it"),
        (status = 428, description = "There is no If-Match"),
    ),
)]
pub(super) async fn replace(
    Asked(rest): Asked,
    headers: HeaderMap,
    read::Json(given): read::Json<LiveConfig>,
) -> Result<Response, Problem> {
    let expected = Expected::of(&headers)?;
    let config = valid(given)?;
    let current = rest.desk.config().await?;
    configure(&rest, config, expected.version(current.version)?).await
}

/// Change some settings
///
/// A JSON merge patch (RFC 7396): what is not named stays as it is.
#[utoipa::path(
    patch, path = "/scheduler/config", tag = "config", operation_id = "change_config",
    params(("If-Match" = String, Header, description = "The ETag that was read; * is any")),
    request_body(content(
        (Map<String, Value> = "application/merge-patch+json"),
        (Map<String, Value> = "application/json"),
    )),
    responses(
        (
            status = 200, body = LiveConfig,
            headers(("etag" = String, description = "The version, in quotes")),
        ),
        (status = 412, description = "Another version holds by now"),
        (status = 422, description = "The scheduler could not keep its promises with it"),
        (status = 428, description = "There is no If-Match"),
    ),
)]
pub(super) async fn change(
    Asked(rest): Asked,
    headers: HeaderMap,
    read::Json(patch): read::Json<Map<String, Value>>,
) -> Result<Response, Problem> {
    let expected = Expected::of(&headers)?;
    let Configured { version, config } = rest.desk.config().await?;
    let mut changed = serde_json::to_value(LiveConfig::from(&config))
        .expect("texts and finite numbers have a JSON form");
    merge(&mut changed, Value::Object(patch));
    let changed: LiveConfig = serde_json::from_value(changed)
        .map_err(|why| Problem::malformed(format!("the settings could not be read: {why}")))?;
    let config = valid(changed)?;
    configure(&rest, config, expected.version(version)?).await
}

/// What could never hold is told before whether somebody else was quicker.
fn valid(given: LiveConfig) -> Result<Config, Problem> {
    let config = given.read().map_err(|why| Problem::from(&why))?;
    config.validate().map_err(|why| Problem::from(&Rejection::from(why)))?;
    Ok(config)
}

async fn configure(rest: &Rest, config: Config, version: u64) -> Result<Response, Problem> {
    rest.desk.configure(config, Some(version)).await?;
    show(rest).await
}

async fn show(rest: &Rest) -> Result<Response, Problem> {
    let Configured { version, config } = rest.desk.config().await?;
    let etag = HeaderValue::try_from(format!("\"{version}\"")).expect("digits are ASCII");
    Ok(([(ETAG, etag)], Json(LiveConfig::from(&config))).into_response())
}

/// RFC 7396: null removes, objects are merged, all else replaces.
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(patch) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(fields) = target else { return };
    for (key, value) in patch {
        if value.is_null() {
            fields.remove(&key);
        } else {
            merge(fields.entry(key).or_insert(Value::Null), value);
        }
    }
}

/// The versions that a change may follow on.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Any,
    OneOf(Vec<String>),
}

impl Expected {
    fn of(headers: &HeaderMap) -> Result<Expected, Problem> {
        let mut tags = Vec::new();
        for value in headers.get_all(IF_MATCH) {
            let text = value.to_str().map_err(|_| Problem::malformed("If-Match is not ASCII"))?;
            tags.extend(text.split(',').map(|tag| tag.trim().to_owned()));
        }
        if tags.is_empty() {
            let detail = "send the ETag of the configuration that you have seen as `If-Match`";
            return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, "no_if_match", detail));
        }
        Ok(if tags.iter().any(|tag| tag == "*") { Expected::Any } else { Expected::OneOf(tags) })
    }

    fn version(&self, current: u64) -> Result<u64, Problem> {
        let tag = format!("\"{current}\"");
        match self {
            Expected::OneOf(tags) if !tags.contains(&tag) => {
                let given = tags.join(", ");
                let detail =
                    format!("the configuration has version {tag}, not {given}; read it again");
                Err(Problem::new(StatusCode::PRECONDITION_FAILED, "config_changed", detail))
            }
            Expected::Any | Expected::OneOf(_) => Ok(current),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_merges_as_the_standard_says() {
        let mut target = json!({ "a": "b", "c": { "d": "e", "f": "g" } });
        merge(&mut target, json!({ "a": "z", "c": { "f": null } }));
        assert_eq!(target, json!({ "a": "z", "c": { "d": "e" } }));
    }
}
