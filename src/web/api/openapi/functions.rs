//! `GET /api/v1/tools` in the document: one path, three formats of the same tools.

use serde_json::{Map, Value, json};

use super::operations::{Access, Answer, Group, Operation, Parameter};
use super::reference;
use crate::tools::Definition;
use crate::web::api::tools::as_openai_takes_it;

/// The tool in the example.
const SHOWN: &str = "memory_get";

pub fn list_tools(tools: &[&Definition]) -> Operation {
    let shown = tools.iter().filter(|tool| tool.name == SHOWN);
    Operation {
        id: "list_tools",
        method: "GET",
        path: "/api/v1/tools".to_owned(),
        group: Group::Agents,
        summary: "The tools as functions for a model.".to_owned(),
        description: "The tools of the agent's profile (single, core or full, chosen on the page Agents & tokens), each with its name, its description and its JSON Schema. With format openai or anthropic the \
            answer is the very list that those APIs take as `tools`; with json each tool comes with the schema of its \
            answer, too."
            .to_owned(),
        access: Access::Token,
        parameters: vec![Parameter {
            name: "format",
            place: "query",
            description: "For whom the list is.",
            schema: json!({ "type": "string", "enum": ["openai", "anthropic", "json"], "default": "json" }),
            example: "openai",
        }],
        body: None,
        answers: vec![Answer {
            status: 200,
            description: "The tools, in the form asked for.",
            media_type: "application/json",
            name: Some("ToolList".to_owned()),
            schema: json!({
                "anyOf": [reference("schemas", "Tools"), reference("schemas", "OpenAiTools"), reference("schemas", "AnthropicTools")],
            }),
            example: shown.map(|tool| as_openai_takes_it(tool)).collect(),
        }],
        errors: vec![400, 401, 405, 422, 429, 503],
        links: Map::new(),
    }
}

/// The schemas of the three formats, by name.
pub fn schemas() -> Map<String, Value> {
    let text = || json!({ "type": "string" });
    let json_schema = || reference("schemas", "JsonSchema");
    let object = |fields: Value| {
        let names: Vec<String> = fields
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.clone())
            .collect();
        json!({ "type": "object", "required": names, "properties": fields })
    };
    let list = |name: &str, about: &str| json!({ "type": "array", "minItems": 1, "items": reference("schemas", name), "description": about });
    let schemas = [
        (
            "JsonSchema",
            json!({ "type": "object", "additionalProperties": true, "description": "A JSON Schema (2020-12) of an object, without references." }),
        ),
        (
            "Tool",
            object(json!({
                "name": text(), "description": text(), "read_only": { "type": "boolean" },
                "input_schema": json_schema(), "output_schema": json_schema(),
            })),
        ),
        (
            "Tools",
            object(json!({ "tools": list("Tool", "In the order an agent should read them.") })),
        ),
        (
            "OpenAiFunction",
            object(json!({ "name": text(), "description": text(), "parameters": json_schema() })),
        ),
        (
            "OpenAiTool",
            object(
                json!({ "type": { "type": "string", "const": "function" }, "function": reference("schemas", "OpenAiFunction") }),
            ),
        ),
        (
            "OpenAiTools",
            list("OpenAiTool", "`tools` of OpenAI's chat completions."),
        ),
        (
            "AnthropicTool",
            object(json!({ "name": text(), "description": text(), "input_schema": json_schema() })),
        ),
        (
            "AnthropicTools",
            list("AnthropicTool", "`tools` of Anthropic's messages."),
        ),
    ];
    schemas
        .into_iter()
        .map(|(name, schema)| (name.to_owned(), schema))
        .collect()
}
