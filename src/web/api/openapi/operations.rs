//! Every operation for programs, as plain data. Both the OpenAPI document and the page are built from these,
//! so they cannot differ.

use serde_json::{Map, Value, json};

use super::{documents, examples, functions, sessions};
use crate::accounts::model::EXTERNAL_ID_CHARS_MAX;
use crate::accounts::{ExternalId, Scope};
use crate::tools::Definition;

/// Tools that name something which may not exist (404).
const NAMES_WHAT_MAY_BE_MISSING: [&str; 4] = [
    "memory_describe_theme",
    "memory_entity",
    "memory_graph",
    "memory_files",
];
/// Tools whose input may conflict with existing data (409).
const MEETS_OTHERS: [&str; 4] = [
    "memory_add",
    "memory_correct",
    "memory_confirm",
    "memory_files",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    Tools,
    Sessions,
    Documents,
    Agents,
    Probes,
}

impl Group {
    pub const ALL: [Self; 5] = [
        Self::Tools,
        Self::Documents,
        Self::Sessions,
        Self::Agents,
        Self::Probes,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tools => "Tools",
            Self::Documents => "Documents",
            Self::Sessions => "Sessions",
            Self::Agents => "For building agents",
            Self::Probes => "For looking after the server",
        }
    }

    pub fn about(self) -> &'static str {
        match self {
            Self::Tools => "What an agent calls to remember and to look up.",
            Self::Sessions => {
                "What an agent hands over of its conversations, to be read for memories when they have ended."
            }
            Self::Documents => {
                "Text files that agents keep, such as MEMORY.md; each change is a revision, and search finds what is in Markdown."
            }
            Self::Agents => {
                "What an agent needs before it calls a tool: the functions to offer its model, and what to tell it."
            }
            Self::Probes => "Is it there, and can it serve? Nobody has to sign in for these.",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Open,
    /// Any valid token.
    Token,
    Scope(Scope),
}

pub struct Parameter {
    pub name: &'static str,
    pub place: &'static str,
    pub description: &'static str,
    pub schema: Value,
    pub example: &'static str,
}

impl Parameter {
    pub(super) fn object(&self) -> Value {
        json!({
            "name": self.name,
            "in": self.place,
            "required": self.place == "path",
            "description": self.description,
            "schema": self.schema,
            "example": self.example,
        })
    }
}

pub struct Body {
    /// The component's name of its schema.
    pub name: String,
    pub schema: Value,
    pub is_required: bool,
    pub example: Value,
}

pub struct Answer {
    pub status: u16,
    pub description: &'static str,
    pub media_type: &'static str,
    /// The component's name of its schema; `None` for plain text.
    pub name: Option<String>,
    pub schema: Value,
    pub example: Value,
}

impl Answer {
    pub(super) fn content(&self) -> Value {
        let schema = match &self.name {
            Some(name) => super::reference("schemas", name),
            None => self.schema.clone(),
        };
        json!({ "schema": schema, "examples": { "example": { "value": self.example } } })
    }
}

pub struct Operation {
    pub id: &'static str,
    pub method: &'static str,
    pub path: String,
    pub group: Group,
    pub summary: String,
    pub description: String,
    pub access: Access,
    pub parameters: Vec<Parameter>,
    pub body: Option<Body>,
    pub answers: Vec<Answer>,
    /// Statuses, in ascending order.
    pub errors: Vec<u16>,
    pub(super) links: Map<String, Value>,
}

impl Operation {
    /// The schemas that this operation adds, by name.
    pub(super) fn schemas(&self) -> Vec<(String, Value)> {
        let answers = self.answers.iter();
        let mut named: Vec<_> = answers
            .filter_map(|a| Some((a.name.clone()?, a.schema.clone())))
            .collect();
        named.extend(self.body.iter().map(|b| (b.name.clone(), b.schema.clone())));
        named
    }
}

/// In the order in which a person should read them.
pub fn all(tools: &[&Definition]) -> Vec<Operation> {
    let mut operations: Vec<Operation> = tools.iter().copied().map(tool).collect();
    let functions = functions::list_tools(tools);
    operations.extend(documents::all());
    operations.extend(sessions::all());
    operations.extend(tools.iter().copied().filter_map(summary));
    operations.extend(tools.iter().copied().filter_map(recall));
    operations.extend([functions, prompt(), openapi(), livez(), readyz()]);
    operations
}

/// The header that selects an operator's user.
pub fn acting_for() -> Parameter {
    Parameter {
        name: ExternalId::HEADER,
        place: "header",
        description: "For service tokens alone: the operator's own name for the user that the call acts for, who is made by the first tool that runs for them.",
        schema: json!({ "type": "string", "minLength": 1, "maxLength": EXTERNAL_ID_CHARS_MAX }),
        example: "customer-7",
    }
}

fn tool(tool: &Definition) -> Operation {
    let example = examples::of(tool.name);
    let name = pascal_case(tool.name);
    let first_sentence = tool.description.split_inclusive(". ").next();
    let mut errors = vec![400, 401, 403, 405, 413, 415, 422, 429, 503];
    let names_an_item = tool.input_schema["properties"].get("item_id").is_some();
    if names_an_item || NAMES_WHAT_MAY_BE_MISSING.contains(&tool.name) {
        errors.push(404);
    }
    if MEETS_OTHERS.contains(&tool.name) {
        errors.push(409);
    }
    errors.sort_unstable();
    Operation {
        id: tool.name,
        method: "POST",
        path: format!("/api/v1/tools/{}", tool.name),
        group: Group::Tools,
        summary: first_sentence.unwrap_or_default().trim().to_owned(),
        description: tool.description.to_owned(),
        access: Access::Scope(tool.scope),
        parameters: vec![],
        body: Some(Body {
            name: format!("{name}Request"),
            // A tool without a body gets the empty object.
            is_required: tool.input_schema.get("required").is_some(),
            schema: with_choices_apart(&tool.input_schema),
            example: example.input,
        }),
        answers: vec![Answer {
            status: 200,
            description: "Done. More fields may be added in later versions.",
            media_type: "application/json",
            name: Some(format!("{name}Response")),
            schema: tool.output_schema.clone(),
            example: example.output,
        }],
        errors,
        links: links(tool.name),
    }
}

/// Turns a nullable enum into a choice of enum or null: client generators make one type of it, but several of
/// an enum that contains `null`.
fn with_choices_apart(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let properties = schema["properties"].as_object_mut();
    for property in properties.into_iter().flat_map(|p| p.values_mut()) {
        let Some(choices) = property["enum"].as_array().cloned() else {
            continue;
        };
        if choices.contains(&Value::Null) {
            let texts: Vec<Value> = choices.into_iter().filter(|c| !c.is_null()).collect();
            let choice = json!({ "type": "string", "enum": texts });
            let description = property["description"].take();
            *property =
                json!({ "description": description, "anyOf": [choice, { "type": "null" }] });
        }
    }
    schema
}

/// The calls that can follow a tool's answer.
fn links(tool: &str) -> Map<String, Value> {
    let link = |operation: &str, about: &str, body: Value| json!({ "operationId": operation, "description": about, "requestBody": body });
    let links = match tool {
        "memory_add" => vec![
            (
                "GetAddedItem",
                link(
                    "memory_get",
                    "Read what was added.",
                    json!({ "item_id": "$response.body#/id" }),
                ),
            ),
            (
                "ArchiveAddedItem",
                link(
                    "memory_archive",
                    "Archive what was added.",
                    json!({ "item_id": "$response.body#/id" }),
                ),
            ),
        ],
        "memory_search" => vec![(
            "GetBestResult",
            link(
                "memory_get",
                "Read the best result whole.",
                json!({ "item_id": "$response.body#/results/0/id" }),
            ),
        )],
        "memory_list_themes" => vec![(
            "SearchInTheme",
            link(
                "memory_search",
                "Search in the fullest theme.",
                json!({ "theme": "$response.body#/themes/0/slug" }),
            ),
        )],
        _ => vec![],
    };
    links
        .into_iter()
        .map(|(name, link)| (name.to_owned(), link))
        .collect()
}

/// A tool's answer at its own path.
fn summary(of: &Definition) -> Option<Operation> {
    if of.name != crate::web::api::summary::TOOL {
        return None;
    }
    Some(Operation {
        id: "summary",
        method: "GET",
        path: "/api/v1/summary".to_owned(),
        group: Group::Agents,
        summary: "What is remembered, as one short narrative.".to_owned(),
        description: "As the tool memory_summary answers, and recorded as a call of it: the narrative between tags with its date, \
            data to weigh and not instructions to follow, with the ids of the items that it stands on. There is always an answer; \
            where there is no narrative, `summary` is null and `reason` says why. With `format=message` the answer has `message` \
            too: a system message to put into a prompt, or null.".to_owned(),
        parameters: vec![Parameter {
            name: "format",
            place: "query",
            description: "As a message for a prompt.",
            schema: json!({ "type": "string", "enum": ["message"] }),
            example: "message",
        }],
        body: None,
        errors: vec![400, 401, 403, 405, 422, 429, 503],
        ..tool(of)
    })
}

/// Like [`summary`], for recall.
fn recall(of: &Definition) -> Option<Operation> {
    if of.name != crate::web::api::summary::RECALL_TOOL {
        return None;
    }
    Some(Operation {
        id: "recall",
        path: "/api/v1/recall".to_owned(),
        group: Group::Agents,
        summary: "What is remembered that a turn is about, or nothing.".to_owned(),
        description: "As the tool memory_recall answers, and recorded as a call of it. Call it before each turn and put `section`, as it \
            is, before the user's message: it is data between tags, at most `budget_tokens` long, and empty where nothing is relevant \
            enough, which is the usual answer; `reason` says why. With `session` nothing is told twice in a session, and the first \
            recall of it has the beginning of the summary.".to_owned(),
        ..tool(of)
    })
}

fn prompt() -> Operation {
    Operation {
        id: "prompt",
        method: "GET",
        path: "/api/v1/prompt".to_owned(),
        group: Group::Agents,
        summary: "What to tell a model about its memory.".to_owned(),
        description: "A few lines for an agent's system prompt: when to search, read, add and archive, and the ten fullest \
            themes with their counts, for a token with memory:read. Never what is remembered. At most 2 KB, and there is always an answer: while memory \
            is switched off or cannot be reached, it says so. With `with=memory_file` the beginning of the document MEMORY.md follows \
            between tags, as data: its first 200 lines or some 2,000 tokens.".to_owned(),
        access: Access::Token,
        parameters: vec![Parameter {
            name: "with",
            place: "query",
            description: "What is to follow the lines.",
            schema: json!({ "type": "string", "enum": ["memory_file"] }),
            example: "memory_file",
        }],
        body: None,
        answers: vec![text_answer(
            "The lines, to be put into the prompt as they are.",
            json!({ "type": "string" }),
            "You have a long-term memory of this user, through tools.\n- memory_search: when something personal comes up …\n",
        )],
        // No 503: it works while the database is unavailable.
        errors: vec![400, 401, 405, 422, 429],
        links: Map::new(),
    }
}

fn openapi() -> Operation {
    Operation {
        id: "openapi",
        method: "GET",
        path: "/api/v1/openapi.json".to_owned(),
        group: Group::Agents,
        summary: "This description, for programs.".to_owned(),
        description: "Every operation, schema and error in OpenAPI 3.1, to make clients of."
            .to_owned(),
        access: Access::Open,
        parameters: vec![],
        body: None,
        answers: vec![Answer {
            status: 200,
            description: "The document.",
            media_type: "application/json",
            name: None,
            schema: json!({
                "type": "object",
                "required": ["openapi", "info", "paths", "components"],
                "properties": { "openapi": { "type": "string", "const": "3.1.0" } },
            }),
            example: json!({ "openapi": "3.1.0", "info": { "title": super::TITLE, "version": env!("CARGO_PKG_VERSION") }, "paths": {}, "components": {} }),
        }],
        errors: vec![400, 405],
        links: Map::new(),
    }
}

fn livez() -> Operation {
    Operation {
        id: "livez",
        method: "GET",
        path: "/livez".to_owned(),
        group: Group::Probes,
        summary: "Does the process answer?".to_owned(),
        description: "Says ok without asking the database.".to_owned(),
        access: Access::Open,
        parameters: vec![],
        body: None,
        answers: vec![text_answer(
            "It does.",
            json!({ "type": "string", "const": "ok\n" }),
            "ok\n",
        )],
        errors: vec![405],
        links: Map::new(),
    }
}

fn readyz() -> Operation {
    let state = |states: &[&str], description: &str| json!({ "type": "string", "enum": states, "description": description });
    let unasked = "unknown while the database is away";
    let schema = json!({
        "type": "object",
        "required": ["ready", "degraded", "server", "database", "not_ready", "warnings"],
        "properties": {
            "ready": { "type": "boolean", "description": "No part is in `not_ready`." },
            "degraded": { "type": "boolean", "description": "There are warnings." },
            "server": state(&["ready", "draining"], "draining: it is about to stop."),
            "database": state(&["ready", "unavailable"], "unavailable: it did not answer in time."),
            "schema": state(&["ready", "missing", "behind", "ahead", "unknown"], "ahead: of a newer version."),
            "vector_extension": state(&["ready", "missing", "unknown"], unasked),
            "worker": state(&["here", "elsewhere", "starting", "silent", "none", "unknown"], "Who works off jobs."),
            "builtin_model": state(&["loaded", "present", "missing", "off", "unknown"], unasked),
            "system_provider": state(&["ready", "failing", "none", "unknown"], unasked),
            "disk": state(&["ready", "low", "unknown"], "Of the data folder."),
            "not_ready": { "type": "array", "items": { "type": "string" }, "description": "The parts that keep it from serving." },
            "warnings": { "type": "array", "items": { "type": "string" }, "description": "What works, but not as well as it could." },
        },
    });
    let answer = |status, description, is_ready: bool| Answer {
        status,
        description,
        media_type: "application/json",
        name: Some("Readiness".to_owned()),
        schema: schema.clone(),
        example: json!({
            "ready": is_ready,
            "degraded": false,
            "server": "ready",
            "database": if is_ready { "ready" } else { "unavailable" },
            "schema": if is_ready { "ready" } else { "unknown" },
            "vector_extension": if is_ready { "ready" } else { "unknown" },
            "worker": if is_ready { "here" } else { "unknown" },
            "builtin_model": if is_ready { "loaded" } else { "unknown" },
            "system_provider": if is_ready { "none" } else { "unknown" },
            "disk": "ready",
            "not_ready": if is_ready { json!([]) } else { json!(["database"]) },
            "warnings": [],
        }),
    };
    Operation {
        id: "readyz",
        method: "GET",
        path: "/readyz".to_owned(),
        group: Group::Probes,
        summary: "Can it serve?".to_owned(),
        description: "200 while requests should be sent here, 503 while the database is away or the server is stopping."
            .to_owned(),
        access: Access::Open,
        parameters: vec![],
        body: None,
        answers: vec![answer(200, "It can.", true), answer(503, "It cannot now.", false)],
        errors: vec![405],
        links: Map::new(),
    }
}

fn text_answer(description: &'static str, schema: Value, example: &str) -> Answer {
    Answer {
        status: 200,
        description,
        media_type: "text/plain",
        name: None,
        schema,
        example: example.into(),
    }
}

/// `memory_add` → `MemoryAdd`
fn pascal_case(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_')
        .filter(|word| !word.is_empty())
        .map(capital)
        .collect()
}
