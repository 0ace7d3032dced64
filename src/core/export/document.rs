//! Parses exports of other products that are one JSON document: mem0's `get_all()` and ChatGPT's
//! `conversations.json`, distinguished by their shape. Of conversations, only what ChatGPT itself stored as
//! memories is imported.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
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
/// White space included. Parsed, metadata takes up to 32 times its length.
const METADATA_BYTES_MAX: usize = 1024 * 1024;

/// An entry of either kind of document. It is `Copy`, and so holds only slices of the document.
#[derive(Clone, Copy, Deserialize)]
struct ForeignEntry<'a> {
    // mem0
    #[serde(borrow)]
    memory: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    #[serde(borrow)]
    categories: Option<&'a RawValue>,
    #[serde(borrow)]
    agent_id: Option<&'a RawValue>,
    #[serde(borrow)]
    created_at: Option<&'a RawValue>,
    #[serde(borrow)]
    updated_at: Option<&'a RawValue>,
    // ChatGPT
    #[serde(borrow)]
    mapping: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Mem0Results<'a> {
    #[serde(borrow)]
    results: &'a RawValue,
}

#[derive(Deserialize)]
struct ChatGptNode<'a> {
    #[serde(borrow)]
    message: Option<ChatGptMessage<'a>>,
}

#[derive(Clone, Copy, Deserialize)]
struct ChatGptMessage<'a> {
    #[serde(borrow)]
    recipient: Option<&'a RawValue>,
    create_time: Option<f64>,
    #[serde(borrow)]
    content: Option<ChatGptContent<'a>>,
}

#[derive(Clone, Copy, Deserialize)]
struct ChatGptContent<'a> {
    #[serde(borrow)]
    parts: Option<&'a RawValue>,
}

/// Parses the members of a list, or the values of an object, one at a time.
fn each_of<'de, T: Deserialize<'de>>(
    json: &'de [u8],
    each: impl FnMut(T),
) -> Result<(), serde_json::Error> {
    let mut parser = serde_json::Deserializer::from_slice(json);
    parser.deserialize_any(Members(each, PhantomData))?;
    parser.end()
}

struct Members<T, F>(F, PhantomData<T>);

impl<'de, T: Deserialize<'de>, F: FnMut(T)> Visitor<'de> for Members<T, F> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a list or an object")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(member) = list.next_element()? {
            (self.0)(member);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<(), A::Error> {
        while let Some((IgnoredAny, value)) = object.next_entry()? {
            (self.0)(value);
        }
        Ok(())
    }
}

/// Passes on each memory of a document with the number of its entry, or why it cannot be imported, until
/// `each` returns false. Nothing is passed on before the whole document was checked.
///
/// # Errors
/// [`Invalid`] if the document's format is unknown.
pub fn parse_document(
    document: &[u8],
    mut each: impl FnMut(u64, Result<ItemRecord, Invalid>) -> bool,
) -> Result<(), Invalid> {
    let is_list = document.iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'[');
    let entries = if is_list {
        document
    } else {
        let whole: Mem0Results<'_> =
            serde_json::from_slice(document).map_err(|_| unknown_form())?;
        whole.results.get().as_bytes()
    };
    let (mut is_empty, mut is_known) = (true, false);
    let checked = each_of(entries, |entry: ForeignEntry<'_>| {
        is_empty = false;
        is_known |= entry.memory.is_some() || entry.mapping.is_some();
    });
    if checked.is_err() || !(is_empty || is_known) {
        return Err(unknown_form());
    }
    let (mut number, mut goes_on) = (0, true);
    let parsed = each_of(entries, |entry: ForeignEntry<'_>| {
        number += 1;
        goes_on = goes_on && each_memory(entry, |memory| each(number, memory));
    });
    parsed.map_err(|_| unknown_form())
}

/// Whether `each` wants more.
fn each_memory(
    entry: ForeignEntry<'_>,
    mut each: impl FnMut(Result<ItemRecord, Invalid>) -> bool,
) -> bool {
    let Some(mapping) = entry.mapping else {
        return each(of_mem0(entry));
    };
    let mut kept = Vec::new();
    let parsed = each_of(mapping.get().as_bytes(), |node: ChatGptNode<'_>| {
        let is_kept = |m: &ChatGptMessage<'_>| text(m.recipient).as_deref() == Some(MEMORY_TOOL);
        kept.extend(node.message.filter(is_kept));
    });
    if parsed.is_err() {
        let sentence = "`mapping` is not as ChatGPT writes it: the messages of a conversation.";
        return each(Err(Invalid::new("mapping", "invalid_value", sentence)));
    }
    kept.sort_by(|a, b| f64::total_cmp(&seconds(a), &seconds(b)));
    kept.into_iter().all(|message| each(of_chatgpt(message)))
}

/// The field, if it is a string.
fn text(field: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(field?.get()).ok()
}

fn unknown_form() -> Invalid {
    Invalid::new(
        "file",
        "unknown_form",
        "The file is in no form that is known here; give an export of Keepsake, mem0's get_all() as JSON, or the conversations.json of ChatGPT's export.",
    )
}

fn seconds(message: &ChatGptMessage<'_>) -> f64 {
    message.create_time.unwrap_or_default()
}

fn of_chatgpt(message: ChatGptMessage<'_>) -> Result<ItemRecord, Invalid> {
    let created_at = message
        .create_time
        .filter(|seconds| seconds.is_finite() && seconds.abs() < 1e12)
        .and_then(|seconds| {
            OffsetDateTime::from_unix_timestamp_nanos((seconds * 1e6) as i128 * 1_000).ok()
        });
    let parts = message.content.and_then(|content| content.parts);
    let mut content = String::new();
    each_text(parts, |part| {
        if !content.is_empty() {
            content.push('\n');
        }
        content.push_str(&part);
    });
    item(ItemLine {
        created_at: created_at.map(|at| date("create_time", at)).transpose()?,
        ..fact("chatgpt", content)
    })
}

fn of_mem0(entry: ForeignEntry<'_>) -> Result<ItemRecord, Invalid> {
    let Some(content) = text(entry.memory) else {
        return Err(Invalid::new(
            "memory",
            "required",
            "`memory` is missing; it is the text of the memory.",
        ));
    };
    let metadata = entry.metadata.map(metadata).transpose()?;
    item(ItemLine {
        tags: tags(entry.categories),
        attributes: metadata.map_or(Value::Null, |metadata| json!({ "mem0": metadata })),
        agent: text(entry.agent_id).filter(|name| AgentName::parse(name).is_ok()),
        created_at: moment("created_at", entry.created_at)?,
        updated_at: moment("updated_at", entry.updated_at)?,
        ..fact("mem0", content)
    })
}

fn metadata(raw: &RawValue) -> Result<Value, Invalid> {
    let raw = Some(raw.get()).filter(|raw| raw.len() <= METADATA_BYTES_MAX);
    let parsed = raw.and_then(|raw| serde_json::from_str(raw).ok());
    parsed.ok_or_else(|| {
        Invalid::new(
            "metadata",
            "invalid_value",
            format!(
                "`metadata` must be at most {METADATA_BYTES_MAX} bytes of JSON, not deeply nested."
            ),
        )
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

/// Passes on the strings of a list.
fn each_text(list: Option<&RawValue>, mut each: impl FnMut(String)) {
    if let Some(list) = list.filter(|list| list.get().starts_with('[')) {
        let checked = each_of(list.get().as_bytes(), |member| {
            text(Some(member)).into_iter().for_each(&mut each);
        });
        debug_assert!(checked.is_ok(), "it was checked with the document");
    }
}

/// Categories are short names; anything else is not a tag.
fn tags(categories: Option<&RawValue>) -> Vec<String> {
    let is_short =
        |c: &str| !c.trim().is_empty() && c.chars().count() <= TAG_CHARS_MAX && !c.contains('\0');
    let mut tags = Vec::new();
    each_text(categories, |category| {
        if tags.len() < TAGS_MAX && is_short(&category) {
            tags.push(category);
        }
    });
    tags
}

fn moment(field: &'static str, raw: Option<&RawValue>) -> Result<Option<OffsetDateTime>, Invalid> {
    let Some(text) = text(raw) else {
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
    use std::cell::Cell;

    use super::*;

    fn memories(document: &str) -> Result<Vec<Result<ItemRecord, Invalid>>, Invalid> {
        let mut memories = Vec::new();
        parse_document(document.as_bytes(), |_, memory| {
            memories.push(memory);
            true
        })?;
        Ok(memories)
    }

    thread_local! {
        static HELD: Cell<usize> = const { Cell::new(0) };
    }

    struct Counted;

    impl<'de> Deserialize<'de> for Counted {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            HELD.set(HELD.get() + 1);
            IgnoredAny::deserialize(from).map(|_| Self)
        }
    }

    impl Drop for Counted {
        fn drop(&mut self) {
            HELD.set(HELD.get() - 1);
        }
    }

    #[test]
    fn of_many_members_one_is_held_at_a_time() {
        for many in [
            format!("[{}0]", "{},".repeat(1_000)),
            format!("{{{}\"\":0}}", r#""":{},"#.repeat(1_000)),
        ] {
            let mut held = Vec::new();
            each_of(many.as_bytes(), |_: Counted| held.push(HELD.get())).expect("valid");
            assert_eq!(held, [1; 1_001]);
        }
        // An entry and a message of a conversation hold nothing of their own.
        fn is_copy<T: Copy>() {}
        is_copy::<ForeignEntry<'_>>();
        is_copy::<ChatGptMessage<'_>>();
    }

    #[test]
    fn no_more_is_parsed_than_is_wanted() {
        let bio = r#""":{"message":{"recipient":"bio"}},"#.repeat(9);
        for document in [
            format!("[{}{{\"memory\":\"x\"}}]", "{},".repeat(9)),
            format!("[{{\"mapping\":{{{bio}\"\":{{}}}}}}]"),
        ] {
            assert!(memories(&document).expect("known").len() > 8);
            let mut passed = 0;
            let stop_at_two = |_, _| {
                passed += 1;
                passed < 2
            };
            parse_document(document.as_bytes(), stop_at_two).expect("known");
            assert_eq!(passed, 2);
        }
    }

    #[test]
    fn a_bad_entry_does_not_affect_the_others() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let long = format!("[{}0]", "0,".repeat(METADATA_BYTES_MAX / 2));
        let document = format!(
            r#"[{{"memory":[{long}]}},{{"memory":"a","metadata":{long}}},{{"memory":"a","metadata":{deep}}},
                {{"mapping":[0]}},{{"memory":"a","categories":[1,"b",{deep},"c"],"agent_id":{deep},"created_at":3}}]"#
        );
        let read = memories(&document).expect("known");
        let fields = read[..4].iter().map(|m| m.as_ref().expect_err("bad").field.clone());
        let fields: Vec<_> = fields.collect();
        assert_eq!(fields, ["memory", "metadata", "metadata", "mapping"]);
        assert_eq!(read[4].as_ref().expect("valid").item.tags(), ["b", "c"]);
    }

    #[test]
    fn mem0_is_read_as_a_list_and_as_results() {
        let one = r#"{"id":"3c90c3cc","memory":"Loves tea","user_id":"anna","hash":"x","metadata":{"k":1},
            "categories":["food"],"created_at":"2025-02-13T01:12:04.123456-08:00","updated_at":null}"#;
        for document in [format!("[{one}]"), format!("{{\"results\": [{one}]}}")] {
            let read = memories(&document).expect("known");
            let item = read[0].as_ref().expect("valid");
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
            "c":{"message":{"author":{"role":"assistant"},"recipient":"bio","create_time":1715000000.5,"content":{"content_type":"text","parts":["User keeps bees.",{},"And likes them."]}}}}}]"#;
        let read = memories(document).expect("known");
        assert_eq!(read.len(), 1);
        let item = read[0].as_ref().expect("valid");
        assert_eq!(item.item.content(), "User keeps bees.\nAnd likes them.");
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
            r#"[{"memory":"x"},]"#,
            r#"[{"memory":"x"}] more"#,
        ] {
            assert!(memories(document).is_err(), "{document}");
        }
        assert!(memories("[]").expect("nothing to do").is_empty());
    }
}
