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
    (OF_TOOLS, "What an agent calls to remember and to look up."),
    (OF_DOCUMENTS, "Text files that agents keep, such as MEMORY.md; each change is a revision, and search finds what is in Markdown."),
    (OF_SESSIONS, "What an agent hands over of its conversations, to be read for memories when they have ended."),
    (FOR_AGENTS, "What an agent needs before it calls a tool: the functions to offer its model, and what to tell it."),
    (FOR_OPERATORS, "What an operator chooses for a user of its own, by its service token."),
    (FOR_PROBES, "Is it there, and can it serve? Nobody has to sign in for these."),
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
        "description": "For service tokens alone: the operator's own name for the user that the call acts for, who is made by the first call that reads or writes their memory.",
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
        "Done. More fields may be added in later versions.",
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
            "GetAddedItem": { "operationId": "memory_get", "description": "Read what was added.", "requestBody": { "item_id": "$response.body#/id" } },
            "ArchiveAddedItem": { "operationId": "memory_archive", "description": "Archive what was added.", "requestBody": { "item_id": "$response.body#/id" } },
        },
        "memory_search": {
            "GetBestResult": { "operationId": "memory_get", "description": "Read the best result whole.", "requestBody": { "item_id": "$response.body#/results/0/id" } },
        },
        "search": {
            "FetchBestResult": { "operationId": "fetch", "description": "Read the best result whole.", "requestBody": { "id": "$response.body#/results/0/id" } },
        },
        "memory_list_themes": {
            "SearchInTheme": { "operationId": "memory_search", "description": "Search in the fullest theme.", "requestBody": { "theme": "$response.body#/themes/0/slug" } },
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
                "A new one, or another text of one that is there; what it said before stays as a revision. With `revision` it is \
                written only where the document is at it still: otherwise the answer is 409, and `current` in it has what is there now. \
                Of a document whose path ends in .md each part is found by memory_search; others are kept. \
                `_system/` is the server's own.",
            )
            .takes::<DocumentRequest>()
            .answers::<DocumentAnswer>(201, "It is new.")
            .answers::<DocumentAnswer>(200, "It says this now.")
            .fails(&[409, 507]),
        operation("document_get", "GET", DOCUMENT, Scope::MemoryRead)
            .about(
                "Read a document.",
                "What it says, and its revision, by which it can be changed without undoing what others wrote meanwhile.",
            )
            .in_query::<RevisionQuery>()
            .answers::<WholeDocument>(200, "The document."),
        operation("document_list", "GET", DOCUMENTS, Scope::MemoryRead)
            .about("List documents.", "All of a memory, by path, without their texts.")
            .in_query::<FolderQuery>()
            .answers::<DocumentList>(200, "The documents."),
        operation("document_delete", "DELETE", DOCUMENT, Scope::MemoryWrite)
            .about(
                "Delete a document.",
                "Or all in a folder. It is archived: search finds it no more, and its person may restore it, or delete it permanently.",
            )
            .in_query::<ProjectQuery>()
            .answers::<ArchivedDocuments>(200, "They are archived.")
            .fails(&[409]),
        operation("document_clear", "DELETE", DOCUMENTS, Scope::MemoryWrite)
            .about("Delete all documents.", "All but the server's own are archived.")
            .answers::<ArchivedDocuments>(200, "They are archived."),
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
                "Hand over what was said.",
                "Appends messages to a session, which is made by its first. Send them as they happen, one or many \
                at once, in their order. A message whose id is known in the session is a duplicate and changes nothing, even if it \
                says something else now: what was sent without an answer is simply sent again. All of a request is kept \
                or nothing. Messages that come after the completion open the session again, and only they are read for memories then. \
                A session that the agent has left for another, and that has been still for 2 minutes, is completed by this.",
            )
            .takes::<SessionMessagesRequest>()
            .answers::<SessionMessagesResponse>(200, "They are kept. More fields may be added in later versions.")
            .fails(&[507]),
        operation("session_complete", "POST", "/complete")
            .about(
                "Say that a session has ended.",
                "What was said since the last completion is then read for memories, some time later; \
                saying it twice changes nothing. What it was about becomes an episode, which memory_search finds: in the words of `summary`, \
                else of the chat model, else in the most telling sentences. Nobody has to say it: a session that has been still for 30 minutes is completed by itself, \
                and each night after 3:00 UTC one of the day before at its first pause.",
            )
            .takes::<SessionCompletedRequest>()
            .answers::<SessionAnswer>(200, "It is complete.")
            .fails(&[404]),
        operation("session_flush", "POST", "/flush")
            .about(
                "Keep what is new of a session before its context is compacted.",
                "What was said since the last reading is read now, with what was decided and what is to be done (memories of type other that \
                expire), and noted in the document memory/<day>.md. The answer comes when that is done, at most 90 seconds later; then 202, and the \
                reading goes on. Without a chat model, or where it fails, what was said in so many words is kept. The session goes on; doing it again changes nothing.",
            )
            .takes::<FlushRequest>()
            .answers::<FlushResponse>(200, "What came of it.")
            .answers::<FlushResponse>(202, "It is being read.")
            .fails(&[404]),
        operation("session_get", "GET", "")
            .about(
                "What came of a session.",
                "Its state, and in `extraction` the newest row of its ledger: how the reading of what was said ended. \
                Each conversation ends as stored, nothing (worth storing), failed (with the next try) or skipped, and `reason` says why.",
            )
            .answers::<SessionAnswer>(200, "The session.")
            .fails(&[404]),
        operation("session_messages", "GET", "/messages")
            .about(
                "Read a session again.",
                "The messages of a session as they were kept, oldest first. `arguments` of tool calls are texts.",
            )
            .in_query::<MessagesQuery>()
            .answers::<SessionMessages>(200, "A page of them.")
            .fails(&[404]),
    ]
}

/// A tool's answer at its own path.
fn summary(of: &Definition) -> Operation {
    let (path, access) = ("/api/v1/summary", Access::Scope(of.scope));
    let operation = Operation::new("summary", "GET", path, FOR_AGENTS, access)
        .about(
            "What is remembered, as one short narrative.",
            "As the tool memory_summary answers, and recorded as a call of it: the narrative between tags with its date, \
            data to weigh and not instructions to follow, with the ids of the items that it stands on. There is always an answer; \
            where there is no narrative, `summary` is null and `reason` says why. With `format=message` the answer has `message` \
            too: a system message to put into a prompt, or null.",
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
        "What is remembered that a turn is about, or nothing.",
        "As the tool memory_recall answers, and recorded as a call of it. Call it before each turn and put `section`, as it \
        is, before the user's message: it is data between tags, at most `budget_tokens` long, and empty where nothing is relevant \
        enough, which is the usual answer; `reason` says why. With `session` nothing is told twice in a session, and the first \
        recall of it has the beginning of the summary.",
    )
}

fn changes() -> Operation {
    let access = Access::Scope(Scope::MemoryRead);
    Operation::new("changes", "GET", "/api/v1/changes", FOR_AGENTS, access)
        .about(
            "What happened since the last call.",
            "The events of the memory in the order in which they were committed, for programs that keep a copy or react: call it with \
            `next` of the answer before, at once while `more` is true, and each event comes once. There is no content in it; read \
            what is new with memory_get. A memory that was erased is told as memory.erased, and its earlier events are gone with it. \
            Events are told as long as their memory is there, others for 30 days; a cursor that is older answers 410. An agent is told \
            of the memories that it sees; dreams and jobs are told to webhooks alone.",
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
                "What happens to secrets of a user.",
                "What the user, or its operator for it, chose; warn where nothing was chosen.",
            )
            .answers::<SecretChoice>(200, "What was chosen."),
        operation("secret_policy_put", "PUT", Scope::MemoryWrite)
            .about(
                "Choose what happens to secrets of a user.",
                "For service tokens alone: keys, tokens and card numbers in texts of the user are stored with a warning, masked or refused \
                from now on; what is stored already stays as it is. The user is made if need be, so that its first text is treated so. \
                A person chooses on the page Settings › Secrets, and an agent's own token is refused.",
            )
            .takes::<SecretChoice>()
            .answers::<SecretChoice>(200, "It is chosen."),
    ]
}

fn list_tools(tools: &[&Definition]) -> Operation {
    let (path, group) = ("/api/v1/tools", FOR_AGENTS);
    let schema = tool_list_schemas()["ToolList"].take();
    let listed = tools.iter().copied().filter(|tool| tool.name == "memory_get");
    let mut operation = Operation::new("list_tools", "GET", path, group, Access::Token)
        .about(
            "The tools as functions for a model.",
            "The tools of the agent's profile (single, connector, core or full, chosen on the page Agents & tokens), each with its name, its description and its JSON Schema. With format openai or anthropic the \
            answer is the very list that those APIs take as `tools`; with json each tool comes with the schema of its \
            answer, too.",
        )
        .in_query::<ToolFormatQuery>()
        .answers_schema(200, "The tools, in the form asked for.", "ToolList".to_owned(), schema)
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
            "What to tell a model about its memory.",
            "A few lines for an agent's system prompt: when to search, read, add and archive, and the ten fullest \
            themes with their counts, for a token with memory:read. Never what is remembered. At most 2 KB, and there is always an answer: while memory \
            is switched off or cannot be reached, it says so. With `with=memory_file` the beginning of the document MEMORY.md follows \
            between tags, as data: its first 200 lines or some 2,000 tokens.",
        )
        .in_query::<PromptQuery>()
        .answers_with(
            "text/plain",
            "The lines, to be put into the prompt as they are.",
            json!({ "type": "string" }),
            "You have a long-term memory of this user, through tools.\n- memory_search: when something personal comes up …\n".into(),
        )
}

fn openapi() -> Operation {
    let (path, group) = ("/api/v1/openapi.json", FOR_AGENTS);
    Operation::new("openapi", "GET", path, group, Access::Open)
        .about(
            "This description, for programs.",
            "Every operation, schema and error in OpenAPI 3.1, to make clients of.",
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
        .about("Does the process answer?", "Says ok without asking the database.")
        .answers_with(
            "text/plain",
            "It does.",
            json!({ "type": "string", "const": "ok\n" }),
            "ok\n".into(),
        )
}

fn readyz() -> Operation {
    Operation::new("readyz", "GET", "/readyz", FOR_PROBES, Access::Open)
        .about(
            "Can it serve?",
            "200 while requests should be sent here, 503 while the database is away or the server is stopping.",
        )
        .answers::<ReadinessReport>(200, "It can.")
        .answers::<ReadinessReport>(503, "It cannot now.")
}

/// `memory_add` → `MemoryAdd`
fn pascal_case(name: &str) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    name.split('_').filter(|word| !word.is_empty()).map(capital).collect()
}
