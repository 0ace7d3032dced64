//! One true-to-life call of each tool. A test makes these calls, and compares
//! what comes back with what is said here.

use serde_json::{Value, json};

pub struct Example {
    pub input: Value,
    pub output: Value,
}

/// Nothing for a tool that has no example yet; a test asks for one.
pub fn of(tool: &str) -> Example {
    let (input, output) = match tool {
        "memory_search" => (
            json!({ "query": "what to drink in the morning", "limit": 5 }),
            json!({
                "results": [{
                    "id": 42,
                    "theme": "food",
                    "type": "preference",
                    "content_snippet": "Prefers tea over coffee.",
                    "created_at": "2026-11-21T08:15:06.789012Z",
                    "score": 1.0,
                    "signals": { "fts": false, "semantic": true },
                    "source": "claude-code",
                    "status": "active",
                    "tags": ["drinks"],
                }],
                "mode": "hybrid",
                "degraded": null,
                "cursor": null,
            }),
        ),
        "memory_add" => (
            json!({ "type": "preference", "content": "Prefers tea over coffee.", "theme": "food", "tags": ["drinks"] }),
            json!({ "id": 42, "status": "active", "embedding": "pending", "duplicate": false }),
        ),
        "memory_get" => (
            json!({ "item_id": 42 }),
            json!({
                "id": 42,
                "theme": "food",
                "type": "preference",
                "key": null,
                "content": "Prefers tea over coffee.",
                "tags": ["drinks"],
                "status": "active",
                "source": "claude-code",
                "source_context": null,
                "confidence": 100,
                "protected": false,
                "expires_at": null,
                "superseded_by": null,
                "created_at": "2026-11-21T08:15:06.789012Z",
                "updated_at": "2026-11-21T08:15:06.789012Z",
                "embedding": {
                    "state": "ready",
                    "error": null,
                    "provider_type": "builtin",
                    "model": "all-MiniLM-L6-v2",
                    "dimensions": 384,
                    "truncated": false,
                },
            }),
        ),
        "memory_archive" => (
            json!({ "item_id": 42 }),
            json!({ "id": 42, "status": "archived" }),
        ),
        "memory_list_themes" => (
            json!({}),
            json!({ "themes": [{ "slug": "food", "display_name": "Food", "active_count": 7 }] }),
        ),
        _ => (json!({}), json!({})),
    };
    Example { input, output }
}
