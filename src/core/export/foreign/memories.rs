//! Memories of mem0, OpenMemory, vector stores and plain lists: an object with a text, or around one.

use std::borrow::Cow;
use std::collections::HashMap;

use super::draft::Draft;
use super::entry::{EntryFields, scalar, text};

/// EntryFields that may hold the text, the surest first.
pub const TEXTS: [&str; 9] =
    ["memory", "content", "data", "text", "pagecontent", "fact", "observation", "document", "note"];
/// EntryFields that may hold an object with the text, or its JSON.
const AROUND: [&str; 5] = ["payload", "properties", "metadata", "node", "value"];
const CREATED: [&str; 5] = ["createdat", "created", "createtime", "timestamp", "date"];
const UPDATED: [&str; 4] = ["updatedat", "updated", "modified", "lastmodified"];
/// What a vector store's entry has besides that is of no use here.
#[rustfmt::skip]
const LEFT_OUT: &[&str] = &[
    "memory", "content", "data", "text", "pagecontent", "fact", "observation", "document", "note", "createdat",
    "created", "createtime", "timestamp", "date", "updatedat", "updated", "categories", "tags", "agentid",
    "userid", "hash", "textlemmatized", "metadata", "expirationdate",
];

/// What an entry came to.
pub enum FoundEntry {
    Memory(Box<Draft>),
    /// Why it is not imported.
    Left(&'static str),
    /// It has no text.
    Nothing,
}

/// Whether an object is a memory of any of these forms.
pub fn is_memory(fields: &EntryFields<'_>) -> bool {
    has_text(fields) || around(fields, has_text).unwrap_or(false)
}

fn has_text(fields: &EntryFields<'_>) -> bool {
    TEXTS.iter().any(|name| fields.get(name).is_some_and(|json| json.starts_with('"')))
}

/// Reads the object around which the entry is, if there is one.
fn around<T>(fields: &EntryFields<'_>, read: impl Fn(&EntryFields<'_>) -> T) -> Option<T> {
    for name in AROUND {
        let Some(json) = fields.get(name) else {
            continue;
        };
        let json = match text(json) {
            Some(inner) => inner,
            None => Cow::Borrowed(json),
        };
        if let Some(inner) = EntryFields::of(json.trim()).filter(has_text) {
            return Some(read(&inner));
        }
    }
    None
}

/// `names`: of categories and apps, by the ids that entries give.
pub fn memory_of(fields: &EntryFields<'_>, names: &HashMap<String, String>) -> FoundEntry {
    if has_text(fields) {
        let source = match () {
            () if fields.get("memory").is_some_and(|json| json.starts_with('"')) => "mem0",
            () if fields.has("state")
                && ["app", "appid", "appname", "categoryids"].iter().any(|f| fields.has(f)) =>
            {
                "openmemory"
            }
            () if fields.has("document") || fields.has("pagecontent") => "vector_store",
            () => "import",
        };
        let about = fields.get("metadata").and_then(EntryFields::of);
        return with_metadata(read(fields, about.as_ref(), source, names), fields);
    }
    around(fields, |inner| {
        let found = read(inner, Some(fields), "vector_store", names);
        let json = fields.first(&["payload", "properties", "metadata", "node", "value"]);
        match (found, json) {
            (FoundEntry::Memory(mut draft), Some((name, json))) => {
                let whole = text(json).unwrap_or(Cow::Borrowed(json));
                draft.attributes(name, &whole, LEFT_OUT);
                FoundEntry::Memory(draft)
            }
            (found, _) => found,
        }
    })
    .unwrap_or(FoundEntry::Nothing)
}

fn with_metadata(found: FoundEntry, fields: &EntryFields<'_>) -> FoundEntry {
    match (found, fields.get("metadata")) {
        (FoundEntry::Memory(mut draft), Some(json)) => {
            draft.attributes("metadata", json, &[]);
            FoundEntry::Memory(draft)
        }
        (found, _) => found,
    }
}

fn read(
    fields: &EntryFields<'_>,
    outer: Option<&EntryFields<'_>>,
    source: &str,
    names: &HashMap<String, String>,
) -> FoundEntry {
    let find =
        |of: &[&'static str]| fields.first(of).or_else(|| outer.and_then(|outer| outer.first(of)));
    let state = fields.text("state").unwrap_or_default();
    if state == "deleted" || fields.has("deletedat") {
        return FoundEntry::Left("It was deleted there.");
    }
    let content = TEXTS.iter().find_map(|name| fields.text(name));
    let Some(content) = content else {
        return FoundEntry::Nothing;
    };
    let mut draft = Draft::new(source, content);
    if let Some((name, json)) = find(&CREATED) {
        draft.created(shown(name), json);
    }
    if let Some((name, json)) = find(&UPDATED) {
        draft.updated(shown(name), json);
    }
    if let Some((name, json)) = find(&["expirationdate", "expiresat"]) {
        draft.expires(shown(name), json);
    }
    for name in ["categories", "tags", "category"] {
        if let Some((name, json)) = find(&[name]) {
            draft.tags(name, json);
        }
    }
    if let Some(json) = fields.get("categoryids") {
        let mut tags = Vec::new();
        let known = super::entry::each_of(json, |id| {
            tags.extend(text(id).and_then(|id| names.get(id.as_ref()).cloned()).map(Some));
        });
        if known.is_ok() {
            draft.tag_all("category_ids", tags);
        }
    }
    let app = fields.get("appid").and_then(scalar).and_then(|id| names.get(id.as_ref()));
    let app = app.map(|name| serde_json::Value::from(name.as_str()).to_string());
    let agent = find(&["agentid", "app", "appname"]);
    if let Some((name, json)) = agent.or(app.as_deref().map(|json| ("app", json))) {
        draft.agent(shown(name), json);
    }
    if let Some(json) = fields.get("type") {
        draft.item_type(json);
    }
    if ["archived", "paused"].contains(&state.as_str()) {
        draft.archive();
    }
    if state == "paused" {
        draft.change("It was paused there: it is archived.".to_owned());
    }
    FoundEntry::Memory(Box::new(draft))
}

/// As the programs write it.
fn shown(name: &'static str) -> &'static str {
    match name {
        "createdat" => "created_at",
        "createtime" => "create_time",
        "updatedat" => "updated_at",
        "lastmodified" => "last_modified",
        "expirationdate" => "expiration_date",
        "expiresat" => "expires_at",
        "agentid" => "agent_id",
        "appname" => "app_name",
        other => other,
    }
}
