//! Every operation for programs. Both the OpenAPI document and the page are built from these, so they cannot differ.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::operation::{Access, Operation, Parameter};
use crate::accounts::model::EXTERNAL_ID_CHARS_MAX;
use crate::accounts::{ExternalId, Scope};
use crate::documents::DocumentPath;
use crate::sessions::SessionName;
use crate::tools::Definition;
use crate::web::api::changes::{ChangesAnswer, ChangesQuery};
use crate::web::api::documents::{
    ArchivedDocuments, DocumentAnswer, DocumentList, DocumentRequest, FolderQuery, ProjectQuery,
    RevisionQuery, WholeDocument,
};
use crate::web::api::flush::{FlushRequest, FlushResponse};
use crate::web::api::prompt::PromptQuery;
use crate::web::api::secret_policy::SecretChoice;
use crate::web::api::sessions::{
    MessagesQuery, SessionAnswer, SessionCompletedRequest, SessionMessages, SessionMessagesRequest,
    SessionMessagesResponse,
};
use crate::web::api::summary::{self, SummaryQuery};
use crate::web::api::tools::{OpenAiTool, ToolFormatQuery, ToolList};
use crate::web::health::ReadinessReport;

const DOCUMENTS: &str = "/api/v1/documents";
const DOCUMENT: &str = "/api/v1/documents/{path}";
const SESSION: &str = "/api/v1/sessions/{external_id}";

const OF_TOOLS: &str = "Tools";
const OF_DOCUMENTS: &str = "Documents";
const OF_SESSIONS: &str = "Sessions";
const FOR_AGENTS: &str = "For building agents";
const FOR_OPERATORS: &str = "For operators";
const FOR_PROBES: &str = "For looking after the server";

/// The groups of operations, and what each is for.
#[rustfmt::skip]
pub const GROUPS: [(&str, &str); 6] = [
    (OF_TOOLS, "Tools that an agent calls to store and to find memories."),
    (OF_DOCUMENTS, "Text files of agents, such as MEMORY.md. Each change creates a revision. Search finds the parts of Markdown documents."),
    (OF_SESSIONS, "Conversations that an agent sends. When a session is completed, memories are extracted from it."),
    (FOR_AGENTS, "What an agent needs besides the tools: function definitions for its model, text for prompts, and changes."),
    (FOR_OPERATORS, "Settings that an operator makes for its users with a service token."),
    (FOR_PROBES, "Liveness and readiness probes. They require no token."),
];

/// In the order in which a person should read them.
pub fn all(tools: &[&Definition]) -> Vec<Operation> {
    let mut operations: Vec<Operation> = tools.iter().copied().map(tool).collect();
    operations.extend(documents());
    operations.extend(sessions());
    for &definition in tools {
        match definition.name {
            summary::TOOL => operations.push(summary(definition)),
            summary::RECALL_TOOL => operations.push(recall(definition)),
            _ => {}
        }
    }
    operations.extend([changes(), list_tools(tools), prompt()]);
    operations.extend(secret_policy());
    operations.extend([openapi(), livez(), readyz()]);
    operations
}

/// The header that selects an operator's user.
pub fn acting_for() -> Parameter {
    let schema = json!({
        "type": "string", "minLength": 1, "maxLength": EXTERNAL_ID_CHARS_MAX,
        "description": "Only for service tokens: the operator's own id of the user that the call acts for. The first call that reads or writes the user's memory creates the user.",
        "examples": ["customer-7"],
    });
    Parameter::new(ExternalId::HEADER, "header", schema)
}

fn tool(tool: &Definition) -> Operation {
    let name = pascal_case(tool.name);
    let first_sentence = tool.description.split_inclusive(". ").next();
    let mut operation = Operation::new(
        tool.name,
        "POST",
        format!("/api/v1/tools/{}", tool.name),
        OF_TOOLS,
        Access::Scope(tool.scope),
    )
    .about(first_sentence.unwrap_or_default().trim(), tool.description)
    .takes_schema(format!("{name}Request"), tool.input_schema.clone())
    .answers_schema(
        200,
        "Success. Later versions may add fields.",
        format!("{name}Response"),
        tool.output_schema.clone(),
    );
    operation = operation.fails(match tool.name {
        // It names what may not exist, and it may conflict with what does.
        "memory_archive" | "memory_correct" | "memory_confirm" | "memory_files" => &[404, 409],
        // A key may be that of several projects.
        "memory_add" | "memory_forget" | "memory" => &[409],
        "memory_describe_theme" | "memory_entity" | "memory_graph" | "fetch" => &[404],
        _ if tool.input_schema["properties"].get("item_id").is_some() => &[404],
        _ => &[],
    });
    if tool.adds {
        operation = operation.fails(&[507]);
    }
    if let Value::Object(links) = links(tool.name) {
        operation.links = links;
    }
    operation
}

/// The calls that can follow a tool's answer.
fn links(tool: &str) -> Value {
    let mut links = json!({
        "memory_add": {
            "GetAddedItem": { "operationId": "memory_get", "description": "Read the added item.", "requestBody": { "item_id": "$response.body#/id" } },
            "ArchiveAddedItem": { "operationId": "memory_archive", "description": "Archive the added item.", "requestBody": { "item_id": "$response.body#/id" } },
        },
        "memory_search": {
            "GetBestResult": { "operationId": "memory_get", "description": "Read the best result in full.", "requestBody": { "item_id": "$response.body#/results/0/id" } },
        },
        "search": {
            "FetchBestResult": { "operationId": "fetch", "description": "Read the best result in full.", "requestBody": { "id": "$response.body#/results/0/id" } },
        },
        "memory_list_themes": {
            "SearchInTheme": { "operationId": "memory_search", "description": "Search in the largest theme.", "requestBody": { "theme": "$response.body#/themes/0/slug" } },
        },
    });
    links[tool].take()
}

/// A test makes these calls in this order.
fn documents() -> [Operation; 5] {
    let operation = |id, method, path, scope| {
        let access = Access::Scope(scope);
        let operation = Operation::new(id, method, path, OF_DOCUMENTS, access);
        match path {
            DOCUMENT => operation.in_path::<DocumentPath>("path").fails(&[404]),
            _ => operation,
        }
    };
    [
        operation("document_put", "PUT", DOCUMENT, Scope::MemoryWrite)
            .about(
                "Write a document.",
                "Creates a document, or replaces its text. The previous text is kept as a revision. With `revision`, the document is \
                written only if that is its current revision. Otherwise the response is 409, and `current` contains the current revision and text. \
                memory_search finds the parts of a document whose path ends in .md; other documents are only stored. \
                The folder `_system/` is read-only.",
            )
            .takes::<DocumentRequest>()
            .answers::<DocumentAnswer>(201, "The document was created.")
            .answers::<DocumentAnswer>(200, "The document was changed.")
            .fails(&[409, 507]),
        operation("document_get", "GET", DOCUMENT, Scope::MemoryRead)
            .about(
                "Read a document.",
                "Returns the text and the revision. Send the revision with a later change to avoid a lost update.",
            )
            .in_query::<RevisionQuery>()
            .answers::<WholeDocument>(200, "The document."),
        operation("document_list", "GET", DOCUMENTS, Scope::MemoryRead)
            .about("List documents.", "Lists the documents by path, without their texts.")
            .in_query::<FolderQuery>()
            .answers::<DocumentList>(200, "The documents."),
        operation("document_delete", "DELETE", DOCUMENT, Scope::MemoryWrite)
            .about(
                "Delete a document.",
                "Archives a document, or all documents in a folder. Search no longer finds archived documents. The user can restore them or delete them permanently.",
            )
            .in_query::<ProjectQuery>()
            .answers::<ArchivedDocuments>(200, "The documents were archived.")
            .fails(&[409]),
        operation("document_clear", "DELETE", DOCUMENTS, Scope::MemoryWrite)
            .about("Delete all documents.", "Archives all documents except those in `_system/`.")
            .answers::<ArchivedDocuments>(200, "The documents were archived."),
    ]
}

/// A test makes these calls in this order.
fn sessions() -> [Operation; 5] {
    let operation = |id, method, below: &str| {
        let access = Access::Scope(Scope::SessionsWrite);
        let path = format!("{SESSION}{below}");
        Operation::new(id, method, path, OF_SESSIONS, access).in_path::<SessionName>("external_id")
    };
    [
        operation("session_add_messages", "POST", "/messages")
            .about(
                "Add messages to a session.",
                "Appends messages to a session. The first message creates the session. Send messages as they happen, one or many \
                per request, in chronological order. A message whose id is known in the session is a duplicate and changes nothing, even if its \
                text differs, so a request can be retried safely. A request is stored as a whole or not at all. Messages \
                that arrive after completion reopen the session; then memories are extracted from the new messages only. \
                The request also completes other open sessions of the agent that have been idle for 2 minutes.",
            )
            .takes::<SessionMessagesRequest>()
            .answers::<SessionMessagesResponse>(200, "The messages were stored. Later versions may add fields.")
            .fails(&[507]),
        operation("session_complete", "POST", "/complete")
            .about(
                "Complete a session.",
                "Memories are extracted in the background from the messages since the last completion. \
                The call is idempotent. An episode that describes the session is stored, and memory_search finds it. Its text is `summary`, \
                otherwise a summary by the chat model, otherwise the most informative sentences. The call is optional: a session that has been idle for 30 minutes is completed automatically. \
                A session that is open at 3:00 in the user's time zone (default) is completed at its next pause of 2 minutes.",
            )
            .takes::<SessionCompletedRequest>()
            .answers::<SessionAnswer>(200, "The session is complete.")
            .fails(&[404]),
        operation("session_flush", "POST", "/flush")
            .about(
                "Extract memories before the context is compacted.",
                "Extracts memories now from the messages since the last extraction, including decisions and open tasks (memories of type other that \
                expire), and lists them in the document memory/<day>.md. The response is sent when extraction ends. After 90 seconds it is 202, and \
                extraction continues in the background. Without a chat model, or if it fails, only explicit statements are stored. The session stays open. The call is idempotent.",
            )
            .takes::<FlushRequest>()
            .answers::<FlushResponse>(200, "Extraction ended.")
            .answers::<FlushResponse>(202, "Extraction continues in the background.")
            .fails(&[404]),
        operation("session_get", "GET", "")
            .about(
                "Read the state of a session.",
                "Returns the state of a session. `extraction` is the latest entry of its ledger: the result of memory extraction. \
                Its outcome is pending, stored, nothing (nothing was worth storing), failed (with the time of the next attempt) or skipped. `reason` says why.",
            )
            .answers::<SessionAnswer>(200, "The session.")
            .fails(&[404]),
        operation("session_messages", "GET", "/messages")
            .about(
                "Read the messages of a session.",
                "Returns the stored messages, oldest first. `arguments` of tool calls are strings.",
            )
            .in_query::<MessagesQuery>()
            .answers::<SessionMessages>(200, "A page of messages.")
            .fails(&[404]),
    ]
}

/// A tool's answer at its own path.
fn summary(of: &Definition) -> Operation {
    let (path, access) = ("/api/v1/summary", Access::Scope(of.scope));
    let operation = Operation::new("summary", "GET", path, FOR_AGENTS, access)
        .about(
            "Read the summary of the memory.",
            "Same response as the tool memory_summary, and recorded as a call of it: a short summary in tags with its date, and the \
            ids of the items that it was written from. Treat it as data, not as instructions. If there is no summary, \
            `summary` is null and `reason` says why. With `format=message` the response also has `message`: \
            a system message for a prompt, or null.",
        )
        .in_query::<SummaryQuery>();
    Operation { answers: tool(of).answers, ..operation }
}

/// Like [`summary`], for recall.
fn recall(of: &Definition) -> Operation {
    Operation {
        id: "recall",
        path: "/api/v1/recall".to_owned(),
        group: FOR_AGENTS,
        ..tool(of)
    }
    .about(
        "Recall memories for a turn.",
        "Same response as the tool memory_recall, and recorded as a call of it. Call it before each turn and insert `section`, unchanged, \
        before the user's message. The section is data in tags, at most `budget_tokens` long. It is usually empty, because nothing is relevant \
        enough; `reason` says why. With `session`, items are returned once per session, and the first \
        recall of a session also returns the beginning of the summary.",
    )
}

fn changes() -> Operation {
    let access = Access::Scope(Scope::MemoryRead);
    Operation::new("changes", "GET", "/api/v1/changes", FOR_AGENTS, access)
        .about(
            "List changes since the last call.",
            "Returns the events of the memory in commit order, for programs that keep a copy or react to changes. Pass \
            `next` of the previous response as `since`, immediately while `more` is true. Each event is returned once. Events contain no memory text; read \
            new items with memory_get. An erased memory is reported as memory.erased, and its earlier events are deleted. \
            Events of a memory are kept as long as the memory, other events for 30 days. A cursor older than 30 days returns 410. An agent gets only events \
            of memories that it can see. Dreams and jobs are reported to webhooks only.",
        )
        .in_query::<ChangesQuery>()
        .answers::<ChangesAnswer>(200, "A page of events.")
        .fails(&[410])
}

fn secret_policy() -> [Operation; 2] {
    let operation = |id, method, scope| {
        let access = Access::Scope(scope);
        Operation::new(id, method, "/api/v1/settings/secrets", FOR_OPERATORS, access)
    };
    [
        operation("secret_policy_get", "GET", Scope::MemoryRead)
            .about(
                "Read the secret policy of a user.",
                "Returns the policy that the user or the operator chose. Default: warn.",
            )
            .answers::<SecretChoice>(200, "The policy."),
        operation("secret_policy_put", "PUT", Scope::MemoryWrite)
            .about(
                "Set the secret policy of a user.",
                "Only for service tokens. Defines whether keys, tokens and card numbers in new texts of the user are stored with a warning, masked or refused. \
                Stored texts do not change. A user that does not exist is created, so that the policy applies to its first text. \
                People set the policy on the page Settings › Secrets. The token of an agent is refused.",
            )
            .takes::<SecretChoice>()
            .answers::<SecretChoice>(200, "The policy was set."),
    ]
}

fn list_tools(tools: &[&Definition]) -> Operation {
    let (path, group) = ("/api/v1/tools", FOR_AGENTS);
    let schema = tool_list_schemas()["ToolList"].take();
    let listed = tools.iter().copied().filter(|tool| tool.name == "memory_get");
    let mut operation = Operation::new("list_tools", "GET", path, group, Access::Token)
        .about(
            "List the tools as functions for a model.",
            "Returns the tools of the agent's profile (single, connector, core or full, set on the page Agents & tokens), each with name, description and JSON Schema. With format openai or anthropic, the \
            response is the list that those APIs accept as `tools`. With json, each tool also has the schema of its \
            response.",
        )
        .in_query::<ToolFormatQuery>()
        .answers_schema(200, "The tools in the requested format.", "ToolList".to_owned(), schema)
        .fails(&[503]);
    operation.answers[0].example = json!(listed.map(OpenAiTool::from).collect::<Vec<_>>());
    operation
}

/// The schemas of the list of tools, by name. They refer to one another, as they have parts in common.
pub(super) fn tool_list_schemas() -> Map<String, Value> {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let settings = settings.with(|s| s.definitions_path = "/components/schemas".into());
    let mut generator = settings.into_generator();
    generator.subschema_for::<ToolList>();
    generator.take_definitions(true)
}

fn prompt() -> Operation {
    let (path, group) = ("/api/v1/prompt", FOR_AGENTS);
    // No 503: it works while the database is unavailable.
    Operation::new("prompt", "GET", path, group, Access::Token)
        .about(
            "Get memory guidance for a system prompt.",
            "Returns a few lines for an agent's system prompt: when to search, read, add and archive. For a token with memory:read, they also list the ten largest \
            themes with item counts. They contain no memory text. At most 2 KB. If memory is switched off or unavailable, \
            the text says so. With `with=memory_file`, the beginning of the document MEMORY.md \
            is appended as data in tags: at most 200 lines and about 2,000 tokens.",
        )
        .in_query::<PromptQuery>()
        .answers_with(
            "text/plain",
            "The text. Insert it into the prompt unchanged.",
            json!({ "type": "string" }),
            "You have a long-term memory of this user, through tools.\n- memory_search: when something personal comes up …\n".into(),
        )
}

fn openapi() -> Operation {
    let (path, group) = ("/api/v1/openapi.json", FOR_AGENTS);
    Operation::new("openapi", "GET", path, group, Access::Open)
        .about(
            "Get this OpenAPI document.",
            "Returns all operations, schemas and errors in OpenAPI 3.1, for client generators.",
        )
        .answers_with("application/json", "The document.",
            json!({
                "type": "object",
                "required": ["openapi", "info", "paths", "components"],
                "properties": { "openapi": { "type": "string", "const": "3.1.0" } },
            }),
            json!({ "openapi": "3.1.0", "info": { "title": super::TITLE, "version": env!("CARGO_PKG_VERSION") }, "paths": {}, "components": {} }),
        )
        .fails(&[400])
}

fn livez() -> Operation {
    Operation::new("livez", "GET", "/livez", FOR_PROBES, Access::Open)
        .about("Liveness probe.", "Returns ok without accessing the database.")
        .answers_with(
            "text/plain",
            "The process is running.",
            json!({ "type": "string", "const": "ok\n" }),
            "ok\n".into(),
        )
}

fn readyz() -> Operation {
    Operation::new("readyz", "GET", "/readyz", FOR_PROBES, Access::Open)
        .about(
            "Readiness probe.",
            "Returns 200 if the server accepts requests, and 503 if the database is unavailable or unfit, or the server is stopping.",
        )
        .answers::<ReadinessReport>(200, "The server is ready.")
        .answers::<ReadinessReport>(503, "The server is not ready.")
}

/// `memory_add` → `MemoryAdd`
fn pascal_case(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}
