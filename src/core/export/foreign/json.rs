//! JSON documents and JSON lines: which of their lists hold entries, and what each entry is.

use std::collections::HashMap;

use super::entry::{EntryFields, each_of, scalar, text};
use super::memories::{FoundEntry, is_memory, memory_of};
use super::{ForeignReader, ReadResult, Stop, WHOLE_FILE, chats, graph, texts};
use crate::input::Invalid;

/// EntryFields of an object whose lists hold entries.
const LISTS: [&str; 16] = [
    "entities",
    "memories",
    "results",
    "result",
    "points",
    "items",
    "objects",
    "entries",
    "records",
    "rows",
    "matches",
    "facts",
    "data",
    "documents",
    "relations",
    "response",
];
/// So deep lists are looked for.
const DEPTH_MAX: usize = 3;
/// Lines that are looked at to tell JSON lines.
const LINES_LOOKED_AT: usize = 5;
/// Names of categories and apps.
const NAMES_MAX: usize = 10_000;
const USERS_MAX: usize = 2;

/// Where entries are.
enum EntryPart<'t> {
    Entry(&'t str),
    List(&'t str),
    /// Lists of the same length: texts, and what belongs to each.
    Columns {
        documents: Option<&'t str>,
        metadatas: Option<&'t str>,
    },
}

/// What a file is about besides its memories.
#[derive(Default)]
struct Context {
    /// Of categories and apps, by id.
    names: HashMap<String, String>,
    /// Conversations, of which only what was saved as memories is imported.
    conversations: u64,
    stopped: Option<Stop>,
}

/// Whether a text is meant as JSON: a list of links or dates in brackets is not.
pub fn is_json(text: &str) -> bool {
    let text = text.trim_start();
    let mut chars = text.chars();
    let first = chars.next();
    let next = chars.find(|c| !c.is_whitespace());
    match first {
        Some('{') => matches!(next, Some('"' | '}')),
        Some('[') => match next {
            Some('{' | '"' | ']') | None => true,
            Some(_) => serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok(),
        },
        _ => false,
    }
}

impl ForeignReader<'_> {
    /// Whether its form is known.
    pub(super) fn read_json(&mut self, text: &str) -> ReadResult<bool> {
        let text = text.trim();
        if serde_json::from_str::<&serde_json::value::RawValue>(text).is_err() {
            return Ok(self.read_json_lines(text)? || self.read_broken_json(text)?);
        }
        let parts = parts_of(text, 0);
        let is_among = self.is_among_others();
        let mut is_known = parts.iter().any(|part| match part {
            EntryPart::List(list) => is_empty(list) && !is_among || has_known(list, is_among),
            EntryPart::Entry(_) | EntryPart::Columns { .. } => true,
        });
        if let Some(fields) = EntryFields::of(text).filter(|_| parts.is_empty()) {
            is_known = !is_among && LISTS.iter().any(|name| fields.get(name) == Some("[]"));
        }
        if !is_known {
            return Ok(false);
        }
        let mut context = Context { names: names_of(text), ..Context::default() };
        let mut number = 0;
        for part in parts {
            match part {
                EntryPart::Entry(entry) => self.count_and_read(&mut number, entry, &mut context),
                EntryPart::List(list) => {
                    // It was checked with the document.
                    each_of(list, |entry| self.count_and_read(&mut number, entry, &mut context))
                        .ok();
                }
                EntryPart::Columns { documents, metadatas } => {
                    self.read_columns(documents, metadatas, &mut context);
                }
            }
        }
        self.end_json(context)
    }

    fn count_and_read(&mut self, number: &mut u64, entry: &str, context: &mut Context) {
        *number += 1;
        if context.stopped.is_none() {
            let place = format!("Entry {number}");
            context.stopped = self.read_entry(&place, entry, context).err();
        }
    }

    fn end_json(&mut self, context: Context) -> ReadResult<bool> {
        if let Some(stop) = context.stopped {
            return Err(stop);
        }
        if context.conversations > 0 {
            let sentence = format!(
                "Of conversations (it has {}) only what was saved as a memory is imported.",
                context.conversations
            );
            self.skip(WHOLE_FILE, sentence)?;
        }
        Ok(true)
    }

    fn read_json_lines(&mut self, text: &str) -> ReadResult<bool> {
        let is_among = self.is_among_others();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_known = |line: &str| {
            serde_json::from_str::<&serde_json::value::RawValue>(line)
                .is_ok_and(|entry| is_known(entry.get(), is_among))
        };
        if !lines.take(LINES_LOOKED_AT).any(is_known) {
            return Ok(false);
        }
        let mut context = Context::default();
        for (number, line) in (1u64..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let place = format!("Line {number}");
            match serde_json::from_str::<&serde_json::value::RawValue>(line) {
                Ok(entry) => self.read_entry(&place, entry.get(), &mut context)?,
                Err(_) => {
                    let sentence = "It is not a whole line of JSON.";
                    self.refuse(&place, Invalid::new("", "invalid_json", sentence))?;
                }
            }
        }
        self.end_json(context)
    }

    /// The entries before the place where a document stops to be JSON.
    fn read_broken_json(&mut self, text: &str) -> ReadResult<bool> {
        if self.is_among_others() {
            return Ok(false);
        }
        let list = match text.starts_with('[') {
            true => Some(text),
            false => LISTS.iter().find_map(|name| {
                let (_, rest) = text.split_once(&format!("\"{name}\""))?;
                let list = rest.trim_start().strip_prefix(':')?.trim_start();
                list.starts_with('[').then_some(list)
            }),
        };
        let (mut context, mut number) = (Context::default(), 0);
        // What follows the list is no part of it, so that an error is expected.
        each_of(list.unwrap_or("[]"), |entry| {
            self.count_and_read(&mut number, entry, &mut context)
        })
        .ok();
        self.end_json(context)?;
        let sentence =
            "It is not whole JSON: it was cut off, or changed. What comes before is imported.";
        self.refuse(WHOLE_FILE, Invalid::new("file", "invalid_json", sentence))?;
        Ok(true)
    }

    fn read_entry(&mut self, place: &str, json: &str, context: &mut Context) -> ReadResult {
        if let Some(text) = text(json) {
            return self.read_text_entry(place, &text);
        }
        let Some(fields) = EntryFields::of(json) else {
            return self.refuse(place, no_entry());
        };
        if fields.has("mapping") {
            context.conversations += 1;
            return self.read_chatgpt(place, &fields);
        }
        if fields.has("chatmessages") {
            context.conversations += 1;
            return Ok(());
        }
        if chats::is_claude_memory(&fields) {
            return self.read_claude_memory(place, &fields);
        }
        if chats::is_claude_project(&fields) {
            self.note_claude_project(&fields);
            return Ok(());
        }
        if graph::is_graph(&fields) {
            return self.read_graph(place, &fields);
        }
        let inner = fields.get("payload").and_then(EntryFields::of);
        let user = fields.get("userid").or_else(|| inner.and_then(|inner| inner.get("userid")));
        if let Some(user) = user.and_then(scalar)
            && self.users.len() < USERS_MAX
        {
            self.users.insert(user.into_owned());
        }
        match memory_of(&fields, &context.names) {
            FoundEntry::Memory(draft) => self.draft(place, *draft),
            FoundEntry::Left(why) => self.skip(place, why),
            FoundEntry::Nothing => self.refuse(place, no_text()),
        }
    }

    /// Each text with what is at the same place of the other list.
    fn read_columns(
        &mut self,
        documents: Option<&str>,
        metadatas: Option<&str>,
        context: &mut Context,
    ) {
        let [documents, metadatas] = [documents, metadatas].map(|list| {
            let mut members = Vec::new();
            each_of(list.unwrap_or("[]"), |member| members.push(member)).ok();
            members
        });
        for at in 0..documents.len().max(metadatas.len()) {
            let of = |list: &[&'_ str]| list.get(at).map_or("null", |json| json).to_owned();
            let entry = match (of(&documents).as_str(), of(&metadatas)) {
                ("null", about) => format!("{{\"payload\":{about}}}"),
                (text, about) => format!("{{\"document\":{text},\"metadata\":{about}}}"),
            };
            if context.stopped.is_none() {
                let place = format!("Entry {}", at + 1);
                context.stopped = self.read_entry(&place, &entry, context).err();
            }
        }
    }

    /// A text without anything around it; it may begin with its date in brackets.
    pub(super) fn read_text_entry(&mut self, place: &str, text: &str) -> ReadResult {
        let (date, text) = texts::dated(text);
        let mut draft = super::Draft::new("import", text.to_owned());
        draft.created_at(date);
        self.draft(place, draft)
    }
}

fn no_entry() -> Invalid {
    Invalid::new("", "invalid_value", "It is neither a text nor an object.")
}

fn no_text() -> Invalid {
    let sentence =
        "It has no text: `memory`, `content`, `text` or `data` is missing, or is not a string.";
    Invalid::new("memory", "required", sentence)
}

fn is_empty(list: &str) -> bool {
    let mut is_empty = true;
    each_of(list, |_| is_empty = false).is_ok() && is_empty
}

fn has_known(list: &str, is_among: bool) -> bool {
    let mut has_known = false;
    let checked = each_of(list, |entry| has_known = has_known || is_known(entry, is_among));
    checked.is_ok() && has_known
}

/// Whether this is an entry of any form. Among other files, a bare text is none: it may be any list of words.
fn is_known(json: &str, is_among: bool) -> bool {
    if json.starts_with('"') {
        return !is_among;
    }
    EntryFields::of(json)
        .is_some_and(|fields| is_entry(&fields) || chats::is_claude_project(&fields))
}

fn is_entry(fields: &EntryFields<'_>) -> bool {
    fields.has("mapping")
        || fields.has("chatmessages")
        || chats::is_claude_memory(fields)
        || graph::is_graph(fields)
        || is_memory(fields)
}

fn parts_of(json: &str, depth: usize) -> Vec<EntryPart<'_>> {
    if json.starts_with('[') {
        return vec![EntryPart::List(json)];
    }
    let Some(fields) = EntryFields::of(json) else {
        return Vec::new();
    };
    let (documents, metadatas) = (fields.get("documents"), fields.get("metadatas"));
    let is_column = |json: &str| json.starts_with('[');
    if fields.has("ids") && [documents, metadatas].into_iter().flatten().any(is_column) {
        let [documents, metadatas] =
            [documents, metadatas].map(|list| list.filter(|l| is_column(l)));
        return vec![EntryPart::Columns { documents, metadatas }];
    }
    if is_entry(&fields) {
        return vec![EntryPart::Entry(json)];
    }
    let mut parts = Vec::new();
    for name in LISTS {
        if let Some(inner) = fields.get(name).filter(|_| depth < DEPTH_MAX) {
            parts.extend(parts_of(inner, depth + 1));
        }
    }
    // The values of an object that lists its entries by id.
    if parts.is_empty() && depth > 0 && has_known(json, true) {
        parts.push(EntryPart::List(json));
    }
    parts
}

/// Of categories and apps, which entries name by id.
fn names_of(text: &str) -> HashMap<String, String> {
    let mut names = HashMap::new();
    let Some(fields) = EntryFields::of(text).filter(|fields| fields.has("memories")) else {
        return names;
    };
    for list in ["categories", "apps"].into_iter().filter_map(|name| fields.get(name)) {
        each_of(list, |one| {
            let one = EntryFields::of(one);
            let named = one.and_then(|one| Some((one.text("id")?, one.text("name")?)));
            names.extend(named.filter(|_| names.len() < NAMES_MAX));
        })
        .ok();
    }
    names
}
