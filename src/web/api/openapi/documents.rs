//! The operations of documents in the OpenAPI document. A test makes these calls in this order.

use serde_json::{Map, Value, json};

use super::operations::{Access, Answer, Body, Group, Operation, Parameter};
use crate::accounts::Scope;
use crate::documents::{CONTENT_BYTES_MAX, PATH_CHARS_MAX};

const MOMENT: &str = "2026-11-21T08:15:06.789012Z";
const PATH: &str = "/api/v1/documents/{path}";

pub fn all() -> [Operation; 5] {
    [put(), show(), list(), delete(), clear()]
}

fn operation(id: &'static str, method: &'static str, path: &str, scope: Scope) -> Operation {
    let of_path = Parameter {
        name: "path",
        place: "path",
        description: "Of the document: names of folders and of a file, joined by slashes, which stand as they are. \
            memory_files knows it as /memories/{path}.",
        schema: json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX }),
        example: "MEMORY.md",
    };
    Operation {
        id,
        method,
        path: path.to_owned(),
        group: Group::Documents,
        summary: String::new(),
        description: String::new(),
        access: Access::Scope(scope),
        parameters: if path == PATH { vec![of_path] } else { vec![] },
        body: None,
        answers: vec![],
        errors: vec![400, 401, 403, 404, 405, 422, 429, 503],
        links: Map::new(),
    }
}

fn put() -> Operation {
    let answer = |status, description| Answer {
        status,
        description,
        media_type: "application/json",
        name: Some("Document".to_owned()),
        schema: document_schema(),
        example: example(),
    };
    Operation {
        summary: "Write a document.".to_owned(),
        description: "A new one, or another text of one that is there; what it said before stays as a revision. With `revision` it is \
            written only where the document is at it still: otherwise the answer is 409, and `current` in it has what is there now. \
            Of a document whose path ends in .md each part is found by memory_search; others are kept. \
            `_system/` is the server's own."
            .to_owned(),
        body: Some(Body {
            name: "DocumentRequest".to_owned(),
            schema: json!({
                "type": "object",
                "required": ["content"],
                "additionalProperties": false,
                "properties": {
                    "content": { "type": "string", "maxLength": CONTENT_BYTES_MAX, "description": "Of 1 MiB at most." },
                    "revision": { "type": ["integer", "null"], "minimum": 0, "maximum": i32::MAX,
                                  "description": "The one that was read; 0: there is no such document." },
                },
            }),
            is_required: true,
            example: json!({ "content": "# Anna\n\nLikes green tea.\n" }),
        }),
        answers: vec![answer(201, "It is new."), answer(200, "It says this now.")],
        errors: vec![400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 503],
        ..operation("document_put", "PUT", PATH, Scope::MemoryWrite)
    }
}

fn show() -> Operation {
    let mut whole = document_schema();
    whole["properties"]["content"] = json!({ "type": "string" });
    let mut told = example();
    told["content"] = "# Anna\n\nLikes green tea.\n".into();
    let mut show = operation("document_get", "GET", PATH, Scope::MemoryRead);
    show.parameters.push(Parameter {
        name: "revision",
        place: "query",
        description: "As it was then; the newest when left out.",
        schema: json!({ "type": "integer", "minimum": 1, "maximum": i32::MAX }),
        example: "1",
    });
    Operation {
        summary: "Read a document.".to_owned(),
        description: "What it says, and its revision, by which it can be changed without undoing what others wrote meanwhile.".to_owned(),
        answers: vec![Answer {
            status: 200,
            description: "The document.",
            media_type: "application/json",
            name: Some("WholeDocument".to_owned()),
            schema: whole,
            example: told,
        }],
        ..show
    }
}

fn list() -> Operation {
    let mut list = operation(
        "document_list",
        "GET",
        "/api/v1/documents",
        Scope::MemoryRead,
    );
    list.parameters.push(Parameter {
        name: "folder",
        place: "query",
        description: "Only what is in it, and below.",
        schema: json!({ "type": "string", "minLength": 1, "maxLength": PATH_CHARS_MAX }),
        example: "memory",
    });
    Operation {
        summary: "List documents.".to_owned(),
        description: "All of a memory, by path, without their texts.".to_owned(),
        answers: vec![Answer {
            status: 200,
            description: "The documents.",
            media_type: "application/json",
            name: Some("Documents".to_owned()),
            schema: json!({
                "type": "object",
                "required": ["documents"],
                "properties": { "documents": { "type": "array", "items": document_schema() } },
            }),
            example: json!({ "documents": [example()] }),
        }],
        errors: vec![400, 401, 403, 405, 422, 429, 503],
        ..list
    }
}

fn delete() -> Operation {
    Operation {
        summary: "Delete a document.".to_owned(),
        description: "Or all in a folder. It is archived: search finds it no more, and its person may restore it, or delete it permanently.".to_owned(),
        answers: vec![archived()],
        errors: vec![400, 401, 403, 404, 405, 409, 422, 429, 503],
        ..operation("document_delete", "DELETE", PATH, Scope::MemoryWrite)
    }
}

fn clear() -> Operation {
    Operation {
        summary: "Delete all documents.".to_owned(),
        description: "All but the server's own are archived.".to_owned(),
        answers: vec![archived()],
        errors: vec![400, 401, 403, 405, 422, 429, 503],
        ..operation(
            "document_clear",
            "DELETE",
            "/api/v1/documents",
            Scope::MemoryWrite,
        )
    }
}

fn archived() -> Answer {
    Answer {
        status: 200,
        description: "They are archived.",
        media_type: "application/json",
        name: Some("ArchivedDocuments".to_owned()),
        schema: json!({
            "type": "object",
            "required": ["archived"],
            "properties": { "archived": { "type": "integer", "minimum": 0, "description": "How many." } },
        }),
        example: json!({ "archived": 1 }),
    }
}

fn document_schema() -> Value {
    let count = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let moment = || json!({ "type": "string", "format": "date-time" });
    json!({
        "type": "object",
        "required": ["id", "path", "revision", "bytes", "trust", "created_at", "updated_at"],
        "properties": {
            "id": { "type": "integer" },
            "path": { "type": "string" },
            "revision": count("1, 2, … each change is one."),
            "bytes": count("Of its text."),
            "trust": { "type": "string", "enum": ["user", "agent", "tool", "external"], "description": "Whose word it is." },
            "created_at": moment(),
            "updated_at": moment(),
            "memory_of": { "type": "string", "description": "The leader of the agent's team, or the global pool, that lends it: it is read and not changed. Left out: it is the user's own." },
        },
    })
}

fn example() -> Value {
    json!({
        "id": 42, "path": "MEMORY.md", "revision": 1, "bytes": 25, "trust": "agent", "created_at": MOMENT, "updated_at": MOMENT,
    })
}
