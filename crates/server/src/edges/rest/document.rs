//! The OpenAPI document: what the operations say of themselves, and what holds for all of them.

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use bellwether_wire::json::form;
use serde_json::{Map, Value, json};
use utoipa::PartialSchema as _;
use utoipa::openapi::{OpenApi, RefOr, Schema};

use super::Rest;
use super::problem::{PROBLEM_JSON, ProblemView};
use crate::edges::security::access::{self, Access};

const DESCRIPTION: &str = "Jobs in, decisions explained, settings changed while it runs. Errors are \
    problem details (RFC 9457) with a stable `code`. Spans are seconds, times are RFC 3339.";

/// The OpenAPI document
#[utoipa::path(
    get, path = "/scheduler/openapi.json", tag = "scheduler", operation_id = "openapi",
    responses((status = 200, description = "This document", body = Value)),
)]
pub(super) async fn openapi(State(rest): State<Rest>) -> Response {
    ([(CONTENT_TYPE, "application/json")], rest.document.to_string()).into_response()
}

/// Adds what is the same for all operations: who may use them, and how they fail.
pub(super) fn finish(api: OpenApi) -> String {
    let mut document = serde_json::to_value(api).expect("the document has a JSON form");
    form::unwrap(&mut document);
    document["info"] = json!({
        "title": "Bellwether",
        "description": DESCRIPTION,
        "version": env!("CARGO_PKG_VERSION"),
        "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
    });
    let components = &mut document["components"];
    components["securitySchemes"] = json!({ "token": { "type": "http", "scheme": "bearer" } });
    components["schemas"]["Problem"] = problem_schema();
    let paths = document["paths"].as_object_mut().expect("there are operations");
    for (path, methods) in paths {
        let methods = methods.as_object_mut().expect("a path has methods");
        for (method, operation) in methods {
            let access = access::operation(&method.to_uppercase(), path);
            describe(operation, method, access.unwrap_or(Access::Roles(&[])));
        }
    }
    document.to_string()
}

fn problem_schema() -> Value {
    let schema: RefOr<Schema> = ProblemView::schema();
    serde_json::to_value(schema).expect("a schema has a JSON form")
}

fn describe(operation: &mut Value, method: &str, access: Access) {
    let roles: Vec<&str> = match access {
        Access::Everybody => Vec::new(),
        Access::Holders => vec!["any"],
        Access::Roles(roles) => roles.iter().map(|role| role.as_str()).collect(),
    };
    let has_body = operation.get("requestBody").is_some();
    let has_input = has_body || operation.get("parameters").is_some();
    let responses = operation["responses"].as_object_mut().expect("an operation has responses");
    for (status, response) in responses.iter_mut() {
        if status.starts_with(['4', '5']) {
            response["content"] = problem_content();
        }
    }
    if access != Access::Everybody {
        add(responses, "401", "There is no token, or it is not known");
        add(responses, "403", "Whoever asks may not do this");
        add(responses, "429", "There is too much to do; come back after `retry_after`");
        add(responses, "500", "What is on the disk could not be read");
        add(responses, "503", "Nothing is taken for now; come back after `retry_after`");
    }
    add(responses, "421", "The host is none of the names of this server");
    if has_input {
        add(responses, "400", "It could not be read");
    }
    if has_body {
        add(responses, "413", "It is too large");
    }
    if method != "get" {
        add(responses, "415", "It is not JSON");
    }
    operation["x-roles"] = json!(roles);
    if access == Access::Everybody {
        operation["security"] = json!([]);
    } else {
        operation["security"] = json!([{ "token": [] }]);
    }
}

fn add(responses: &mut Map<String, Value>, status: &str, description: &str) {
    let response = json!({ "description": description, "content": problem_content() });
    responses.entry(status).or_insert(response);
}

fn problem_content() -> Value {
    json!({ PROBLEM_JSON: { "schema": { "$ref": "#/components/schemas/Problem" } } })
}
