//! Parses exports of other products that are one JSON document: mem0's `get_all()` and ChatGPT's
//! `conversations.json`, distinguished by their shape. Of conversations, only what ChatGPT itself stored as
//! memories is imported.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::fields::date;
use super::lines::ItemLine;
use super::read::{ItemRecord, item};
use crate::accounts::AgentName;
use crate::input::Invalid;
use crate::memories::ItemType;
use crate::memories::model::{TAG_CHARS_MAX, TAGS_MAX};

/// The tool with which ChatGPT stores memories: each message to it is a memory.
const MEMORY_TOOL: &str = "bio";

/// An entry of either kind of document.
#[derive(Deserialize)]
struct ForeignEntry {
    // mem0
    memory: Option<Value>,
    metadata: Option<Value>,
    categories: Option<Value>,
    agent_id: Option<Value>,
    created_at: Option<Value>,
    updated_at: Option<Value>,
    // ChatGPT
    mapping: Option<BTreeMap<String, ChatGptNode>>,
}

#[derive(Deserialize)]
struct Mem0Results {
    results: Vec<ForeignEntry>,
}

#[derive(Deserialize)]
struct ChatGptNode {
    message: Option<ChatGptMessage>,
}

#[derive(Deserialize)]
struct ChatGptMessage {
    recipient: Option<String>,
    create_time: Option<f64>,
    content: Option<ChatGptContent>,
}

#[derive(Deserialize)]
struct ChatGptContent {
    parts: Option<Vec<Value>>,
}

/// The number of an entry, and its memory or why it cannot be imported.
pub type NumberedItem = (u64, Result<ItemRecord, Invalid>);

/// The memories of a document, each with the number of its entry, or why it cannot be imported.
///
/// # Errors
/// [`Invalid`] if the document's format is unknown.
pub fn parse_document(document: &[u8]) -> Result<Vec<NumberedItem>, Invalid> {
    let is_list = document.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
    let entries = if is_list {
        serde_json::from_slice::<Vec<ForeignEntry>>(document)
    } else {
        serde_json::from_slice::<Mem0Results>(document).map(|document| document.results)
    };
    let entries = entries.map_err(|_| unknown_form())?;
    let is_known = |entry: &ForeignEntry| entry.memory.is_some() || entry.mapping.is_some();
    if !entries.is_empty() && !entries.iter().any(is_known) {
        return Err(unknown_form());
    }
    let mut memories = Vec::new();
    for (n, entry) in (1..).zip(entries) {
        match entry.mapping {
            Some(mapping) => {
                let mut kept: Vec<ChatGptMessage> = mapping
                    .into_values()
                    .filter_map(|node| node.message)
                    .filter(|message| message.recipient.as_deref() == Some(MEMORY_TOOL))
                    .collect();
                kept.sort_by(|a, b| f64::total_cmp(&seconds(a), &seconds(b)));
                memories.extend(kept.into_iter().map(|message| (n, of_chatgpt(message))));
            }
            None => memories.push((n, of_mem0(entry))),
        }
    }
    Ok(memories)
}

fn unknown_form() -> Invalid {
    Invalid::new(
        "file",
        "unknown_form",
        "The file is in no form that is known here; give an export of Keepsake, mem0's get_all() as JSON, or the conversations.json of ChatGPT's export.",
    )
}

fn seconds(message: &ChatGptMessage) -> f64 {
    message.create_time.unwrap_or_default()
}

fn of_chatgpt(message: ChatGptMessage) -> Result<ItemRecord, Invalid> {
    let created_at = message
        .create_time
        .filter(|seconds| seconds.is_finite() && seconds.abs() < 1e12)
        .and_then(|seconds| {
            OffsetDateTime::from_unix_timestamp_nanos((seconds * 1e6) as i128 * 1_000).ok()
        });
    let parts = message.content.and_then(|content| content.parts);
    let texts: Vec<String> = parts
        .unwrap_or_default()
        .into_iter()
        .filter_map(|part| match part {
            Value::String(text) => Some(text),
            _ => None,
        })
        .collect();
    item(ItemLine {
        created_at: created_at.map(|at| date("create_time", at)).transpose()?,
        ..fact("chatgpt", texts.join("\n"))
    })
}

fn of_mem0(entry: ForeignEntry) -> Result<ItemRecord, Invalid> {
    let Some(Value::String(content)) = entry.memory else {
        return Err(Invalid::new(
            "memory",
            "required",
            "`memory` is missing; it is the text of the memory.",
        ));
    };
    let agent = entry.agent_id.as_ref().and_then(Value::as_str);
    let agent = agent.filter(|name| AgentName::parse(name).is_ok());
    let metadata = entry.metadata.filter(|metadata| !metadata.is_null());
    item(ItemLine {
        tags: tags(entry.categories),
        attributes: metadata.map_or(Value::Null, |metadata| json!({ "mem0": metadata })),
        agent: agent.map(str::to_owned),
        created_at: moment("created_at", entry.created_at)?,
        updated_at: moment("updated_at", entry.updated_at)?,
        ..fact("mem0", content)
    })
}

fn fact(source: &str, content: String) -> ItemLine {
    ItemLine {
        r#type: ItemType::Fact.as_str().to_owned(),
        source: Some(source.to_owned()),
        content,
        ..ItemLine::default()
    }
}

/// Categories are short names; anything else is not a tag.
fn tags(categories: Option<Value>) -> Vec<String> {
    let Some(Value::Array(categories)) = categories else {
        return Vec::new();
    };
    categories
        .iter()
        .filter_map(Value::as_str)
        .filter(|c| !c.trim().is_empty() && c.chars().count() <= TAG_CHARS_MAX && !c.contains('\0'))
        .map(str::to_owned)
        .take(TAGS_MAX)
        .collect()
}

fn moment(field: &'static str, value: Option<Value>) -> Result<Option<OffsetDateTime>, Invalid> {
    let Some(Value::String(text)) = value else {
        return Ok(None);
    };
    let at = OffsetDateTime::parse(&text, &Rfc3339).map_err(|_| {
        Invalid::new(
            field,
            "invalid_value",
            format!("`{field}` is no date; it is written as 2026-11-21T15:04:05Z."),
        )
    })?;
    date(field, at).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mem0_is_read_as_a_list_and_as_results() {
        let one = r#"{"id":"3c90c3cc","memory":"Loves tea","user_id":"anna","hash":"x","metadata":{"k":1},
            "categories":["food"],"created_at":"2025-02-13T01:12:04.123456-08:00","updated_at":null}"#;
        for document in [format!("[{one}]"), format!("{{\"results\": [{one}]}}")] {
            let read = parse_document(document.as_bytes()).expect("known");
            let item = read[0].1.as_ref().expect("valid");
            assert_eq!(item.item.content(), "Loves tea");
            assert_eq!(item.item.tags(), ["food"]);
            assert_eq!(item.attributes, json!({ "mem0": { "k": 1 } }));
            assert!(item.created_at.is_some() && item.source == "mem0");
        }
    }

    #[test]
    fn of_chatgpt_only_what_it_kept_as_memories_is_read() {
        let document = r#"[{"title":"x","mapping":{
            "a":{"message":null},
            "b":{"message":{"author":{"role":"user"},"recipient":"all","create_time":1.0,"content":{"content_type":"text","parts":["hello"]}}},
            "c":{"message":{"author":{"role":"assistant"},"recipient":"bio","create_time":1715000000.5,"content":{"content_type":"text","parts":["User keeps bees."]}}}}}]"#;
        let read = parse_document(document.as_bytes()).expect("known");
        assert_eq!(read.len(), 1);
        let item = read[0].1.as_ref().expect("valid");
        assert_eq!(item.item.content(), "User keeps bees.");
        assert_eq!(item.source, "chatgpt");
    }

    #[test]
    fn other_documents_are_refused_whatever_they_hold() {
        for document in [
            "",
            "[",
            "{}",
            "[1]",
            r#"[{"title":"x"}]"#,
            "\u{0}",
            "nonsense",
        ] {
            assert!(parse_document(document.as_bytes()).is_err(), "{document}");
        }
        assert!(parse_document(b"[]").expect("nothing to do").is_empty());
    }
}
