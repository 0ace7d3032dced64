//! What items, entities and tools are called, in the order in which filters list them, and their shapes in a box of 12
//! by 12.

use crate::memories::Trust;

const MAGNIFIER: &str =
    "M5 1a4 4 0 0 1 3.2 6.4l3 3-.8.8-3-3A4 4 0 1 1 5 1zM5 2.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5z";
const PAGE: &str = "M2 1h8v10H2zM3.7 3.2v1.2h4.6V3.2zM3.7 5.6v1.2h4.6V5.6z";
const PLUS: &str = "M5.1 1h1.8v4.1H11v1.8H6.9V11H5.1V6.9H1V5.1h4.1z";
const BOX: &str = "M1 1.5h10v3H1zM2 5.5h8v5H2zM4.5 6.5v1.2h3V6.5z";
const ARROW: &str = "M1 5.2h6.2L4.6 2.6l1.1-1.1L10.2 6l-4.5 4.5-1.1-1.1 2.6-2.6H1z";
const TICK: &str = "M4.6 10 1 6.4l1.3-1.3 2.3 2.3L9.7 2 11 3.3z";
const BARS: &str = "M1.5 6.5h2.2v4H1.5zM4.9 1.5h2.2v9H4.9zM8.3 4h2.2v6.5H8.3z";
const LINES: &str = "M1.5 2h9v1.7h-9zM1.5 5.2h9v1.7h-9zM1.5 8.4h5.5v1.7H1.5z";
const GRAPH: &str = "M2.5 1.5a1.5 1.5 0 0 1 1.4 2l1.6 2h1.8a1.5 1.5 0 1 1 0 1.2H5.5l-1.6 2a1.5 1.5 0 1 1-.9-.8L4.6 6 3 4a1.5 1.5 0 1 1-.5-2.5z";
const CROSS: &str = "M2.3 1 6 4.7 9.7 1 11 2.3 7.3 6 11 9.7 9.7 11 6 7.3 2.3 11 1 9.7 4.7 6 1 2.3z";

/// The types of items, as slugs, in the order in which filters list them.
pub const ITEM_TYPES: [&str; 9] = [
    "preference",
    "fact",
    "instruction",
    "summary",
    "other",
    "reflection",
    "turn",
    "episode",
    "document",
];

/// The types of entities, as slugs, in the order in which filters list them.
pub const ENTITY_TYPES: [&str; 9] =
    ["person", "project", "organization", "location", "product", "other", "date", "email", "url"];

const FILE: &str = "M2 1h5.2L10 3.8V11H2zM3.7 5.2v1.2h4.6V5.2zM3.7 7.6v1.2h4.6V7.6z";
const PERSON: &str =
    "M6 1a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM1.5 11c0-2.6 2-4.2 4.5-4.2s4.5 1.6 4.5 4.2z";

/// Each type's shape in a box of 12 by 12.
pub fn shape_of(item_type: &str) -> &'static str {
    match item_type {
        // a heart, a disc, an arrow, lines of text, a speech bubble, a diamond
        "preference" => "M6 10.5 1.6 6.1a2.7 2.7 0 0 1 3.8-3.8L6 2.9l.6-.6a2.7 2.7 0 0 1 3.8 3.8z",
        "fact" => "M6 1.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4z",
        "instruction" => "M2.5 1.5 10.5 6l-8 4.5z",
        "summary" => "M1.5 2h9v1.7h-9zM1.5 5.2h9v1.7h-9zM1.5 8.4h5.5v1.7H1.5z",
        // a crescent
        "reflection" => "M7.6 1.2a5 5 0 1 0 3.4 7.2A4.6 4.6 0 0 1 7.6 1.2z",
        "turn" => "M1.5 1.5h9v6.3H6L3.2 10.7V7.8H1.5z",
        // an hourglass
        "episode" => "M2 1h8v1.4L7.2 6 10 9.6V11H2V9.6L4.8 6 2 2.4z",
        // a page with lines and a folded corner
        "document" => FILE,
        // head and shoulders, a folder, a house with windows, a pin, a box, a calendar, an envelope, a link
        "person" => PERSON,
        "project" => "M1 2.2h3.6L6 3.6h5v6.9H1z",
        "organization" => {
            "M2 1h8v10H7V8.5H5V11H2zM3.7 2.8v1.4h1.4V2.8zM6.9 2.8v1.4h1.4V2.8zM3.7 5.6V7h1.4V5.6zM6.9 5.6V7h1.4V5.6z"
        }
        "location" => {
            "M6 .8a3.9 3.9 0 0 1 3.9 3.9C9.9 7.5 6 11.4 6 11.4S2.1 7.5 2.1 4.7A3.9 3.9 0 0 1 6 .8zM6 3.2a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3z"
        }
        "product" => "M6 .8 11 3.4v5.2L6 11.2 1 8.6V3.4zM6 2.3 3.3 3.7 6 5.1l2.7-1.4z",
        "date" => "M1.5 2H3V.8h1.4V2h3.2V.8H9V2h1.5v9h-9zM2.9 4.7v4.9h6.2V4.7z",
        "email" => "M1 2.5h10L6 6.4zM1 3.9 6 7.8l5-3.9v5.6H1z",
        "url" => {
            "M4 3.2h2v1.5H4a1.3 1.3 0 0 0 0 2.6h2v1.5H4a2.8 2.8 0 0 1 0-5.6zM6 3.2h2a2.8 2.8 0 0 1 0 5.6H6V7.3h2a1.3 1.3 0 0 0 0-2.6H6zM4.2 5.3h3.6v1.4H4.2z"
        }
        _ => "M6 1 11 6 6 11 1 6z",
    }
}

/// The tools in the order in which filters list them: name, what its caller did, and its shape in a box of 12 by 12. The
/// last six are what only a person does.
pub const TOOLS: [(&str, &str, &str); 27] = [
    ("memory_search", "searched", MAGNIFIER),
    ("memory_get", "read", PAGE),
    ("memory_add", "added", PLUS),
    ("memory_archive", "archived", BOX),
    ("memory_list_themes", "listed themes", LINES),
    ("memory_correct", "corrected", ARROW),
    ("memory_confirm", "confirmed", TICK),
    ("memory_forget", "forgot", BOX),
    ("memory_describe_theme", "described a theme", LINES),
    ("memory_stats", "read the counts", BARS),
    ("memory_summary", "read the summary", PAGE),
    ("memory_entity", "looked up an entity", PERSON),
    ("memory_graph", "read the graph", GRAPH),
    ("memory_files", "used files", FILE),
    ("memory_recall", "recalled", MAGNIFIER),
    ("memory", "used memory", PAGE),
    ("search", "searched as a connector", MAGNIFIER),
    ("fetch", "read as a connector", PAGE),
    ("memory_restore", "restored", ARROW),
    ("memory_unconfirm", "removed a confirmation", CROSS),
    ("memory_share", "shared with all agents", ARROW),
    ("memory_own", "restricted to its agent", BOX),
    ("memory_half_life", "set the half-life", BARS),
    ("memory_undo", "undid", CROSS),
    ("memory_undo_agent", "undid an agent's changes", CROSS),
    ("memory_disown", "disowned", CROSS),
    ("memory_accept", "accepted proposals", TICK),
];

/// What a tool's caller did: "searched". In a filter it is what to look for.
pub fn did(tool: &str) -> &'static str {
    of_tool(tool).map_or("unknown tool", |(_, did, _)| did)
}

pub fn shape_of_tool(tool: &str) -> &'static str {
    of_tool(tool).map_or(CROSS, |(.., shape)| shape)
}

fn of_tool(tool: &str) -> Option<(&'static str, &'static str, &'static str)> {
    TOOLS.into_iter().find(|(name, ..)| *name == tool)
}

/// The source of an item, a column's value, in words for people.
pub fn source_in_words(source: String, trust: Trust) -> String {
    let words = match source.as_str() {
        "user_explicit" if trust != Trust::User => "an agent reports your words",
        "agent" => "an agent added it",
        "conversation" => "a conversation",
        "tool_call" => "a tool's result",
        "auto_discovery" => "found by the agent",
        "user_explicit" => "you said so",
        "web" => "the web",
        "guess" => "a guess",
        "derived" => "derived from other memories",
        "import" => "an import",
        "user" => "said by you",
        "assistant" => "said by the assistant",
        _ => return source,
    };
    words.to_owned()
}

/// An event of an item's history in words.
pub fn event_in_words(event: String) -> String {
    let words = match event.as_str() {
        "superseded" => "replaced by another memory",
        "merged" => "merged into another memory, which says the same",
        "put_aside" => "archived, because it contradicts another memory",
        "read_again" => "archived: a guess, and a chat model has read its conversation since",
        "unconfirmed" => "confirmation removed",
        "shared" => "shared with all agents",
        "owned" => "restricted to its agent",
        "named" => "given its key",
        "began" => "begins to hold",
        "ended" => "no longer holds",
        _ => return event,
    };
    words.to_owned()
}

/// The source of a memory in words.
pub fn whose(trust: Trust) -> &'static str {
    match trust {
        Trust::User => "stated by you",
        Trust::Agent => "stated by an agent",
        Trust::Tool => "from a tool",
        Trust::External => "from outside",
    }
}
