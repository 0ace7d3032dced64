//! `GET /api/v1/openapi.json`: every path that a program can call, in OpenAPI 3.1, built once. Schemas come from the
//! types with which the handlers parse and answer. utoipa and aide would require a second definition of each tool, as
//! they know one operation a route. The page `/docs` shows the same [`Operation`]s. The document must match the
//! server: a snapshot test guards it, and schemathesis tests the server against it.

mod errors;
mod operation;
mod operations;
mod pages;

use crate::config::PublicUrl;
use crate::tools::{Registry, schema_of};
use crate::web::error::ProblemDocument;
use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

pub use errors::ErrorAnswer;
pub use operation::{Access, Operation};
use operation::{Parameter, SuccessAnswer};
pub use operations::GROUPS;
pub use pages::page;

const TITLE: &str = "Keepsake";
const ABOUT: &str = "A long-term memory server for AI agents. Agents store what they learn about a user and find it \
    with semantic and keyword search. Errors are problem documents (RFC 9457) with a stable `code` and one sentence \
    that says what is accepted. Schemas are strict. Tools also accept common deviations of models (a string for a number, one value for \
    an array) and ignore unknown fields; `note` in the response names them.";
const TOKEN_ABOUT: &str = "An agent's token, `ks_…`, created on the page Agents & tokens or with `keepsake token create`. \
    Each token has scopes: memory:read, memory:write, sessions:write. A service token may also have pool:write, to write to the global pool.";

/// The API description: for programs, and for people.
pub struct Published {
    pub operations: Vec<Operation>,
    pub errors: Vec<ErrorAnswer>,
    document: Bytes,
}

impl Published {
    pub fn new(registry: &Registry, public_url: &PublicUrl) -> Self {
        let tools: Vec<_> = registry.definitions().collect();
        let operations = operations::all(&tools);
        let errors = errors::all(public_url.as_str());
        let document = document_of(&operations, &errors, public_url.as_str());
        Self { document: Bytes::from(format!("{document:#}\n")), operations, errors }
    }

    pub fn answer(&self) -> impl IntoResponse + use<> {
        ([(header::CONTENT_TYPE, "application/json")], self.document.clone())
    }
}

fn document_of(operations: &[Operation], errors: &[ErrorAnswer], server: &str) -> Value {
    let mut paths = Map::new();
    let problem = schema_of::<ProblemDocument>(SchemaSettings::draft2020_12().for_serialize());
    let mut schemas = Map::from_iter([("Problem".to_owned(), problem)]);
    schemas.extend(operations::tool_list_schemas());
    for operation in operations {
        schemas.extend(operation.schemas());
        let path = paths.entry(&operation.path).or_insert_with(|| json!({}));
        path[operation.method.to_lowercase()] = operation_object(operation, errors);
    }
    let responses = errors.iter().map(|error| (error.name.to_owned(), error.response()));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": TITLE,
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "MIT or Apache 2.0", "identifier": env!("CARGO_PKG_LICENSE") },
        },
        "servers": [{ "url": server }],
        "externalDocs": { "url": format!("{server}/docs"), "description": "The same documentation for people" },
        "tags": GROUPS.map(|(name, about)| json!({ "name": name, "description": about })),
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "bearerFormat": "ks_…", "description": TOKEN_ABOUT },
            },
            "parameters": { "KeepsakeUser": operations::acting_for().object() },
            "responses": Map::from_iter(responses),
            "schemas": schemas,
        },
    })
}

fn operation_object(operation: &Operation, errors: &[ErrorAnswer]) -> Value {
    let mut object = json!({
        "operationId": operation.id,
        "tags": [operation.group],
        "summary": operation.summary,
        "description": operation.description,
        "responses": responses(operation, errors),
    });
    let mut parameters: Vec<Value> = operation.parameters.iter().map(Parameter::object).collect();
    match operation.access {
        Access::Open => object["security"] = json!([]),
        Access::Token => {}
        Access::Scope(scope) => object["security"] = json!([{ "token": [scope.as_str()] }]),
    }
    if operation.access != Access::Open {
        parameters.push(json!({ "$ref": "#/components/parameters/KeepsakeUser" }));
    }
    if !parameters.is_empty() {
        object["parameters"] = parameters.into();
    }
    if let Some(body) = &operation.body {
        let example = json!({ "summary": operation.summary, "value": body.example });
        object["requestBody"] = json!({
            // Without a body, the empty object is taken.
            "required": body.schema.get("required").is_some(),
            "content": {
                "application/json": {
                    "schema": reference("schemas", &body.name),
                    "examples": { "example": example },
                },
            },
        });
    }
    object
}

fn responses(operation: &Operation, errors: &[ErrorAnswer]) -> Value {
    let mut responses = Map::new();
    for answer in &operation.answers {
        let mut object = json!({
            "description": answer.description,
            "content": { answer.media_type: content(answer) },
        });
        if !operation.links.is_empty() {
            object["links"] = operation.links.clone().into();
        }
        responses.insert(answer.status.to_string(), object);
    }
    for error in errors {
        if operation.errors.contains(&error.status) {
            let response = reference("responses", error.name);
            responses.insert(error.status.to_string(), response);
        }
    }
    responses.into()
}

fn content(answer: &SuccessAnswer) -> Value {
    let schema = match &answer.name {
        Some(name) => reference("schemas", name),
        None => answer.schema.clone(),
    };
    json!({ "schema": schema, "examples": { "example": { "value": answer.example } } })
}

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}
