//! A memory of a foreign file on its way in. What of it cannot be kept is left out and told, field by field; only its text
//! decides whether it is imported.

use serde_json::{Value, json};
use time::OffsetDateTime;

use super::dates::read_date;
use super::entry::{each_of, folded, scalar, text};
use crate::accounts::AgentName;
use crate::export::fields::attributes;
use crate::export::lines::ItemLine;
use crate::export::read::{ItemRecord, item};
use crate::input::Invalid;
use crate::memories::ItemType;
use crate::memories::model::{CONTENT_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX};

/// White space included. Parsed, attributes take up to 32 times their length.
const ATTRIBUTES_READ_MAX: usize = 1024 * 1024;
/// What is left out of one entry is told in so many sentences.
const CHANGES_MAX: usize = 8;

pub struct Draft {
    line: ItemLine,
    changes: Vec<String>,
}

impl Draft {
    /// A fact. `source`: the program, as provenance names it.
    pub fn new(source: &str, content: String) -> Self {
        let line = ItemLine {
            r#type: ItemType::Fact.as_str().to_owned(),
            source: Some(source.to_owned()),
            ..ItemLine::default()
        };
        let mut draft = Self { line, changes: Vec::new() };
        draft.line.content = draft.fit(content);
        draft
    }

    fn fit(&mut self, content: String) -> String {
        let kept = content.replace('\0', "");
        if kept.len() < content.len() {
            self.change("Its text had NUL characters: left out.".to_owned());
        }
        if kept.contains('\u{fffd}') {
            self.change("Its text has characters that could not be read.".to_owned());
        }
        let kept = kept.trim();
        let chars = kept.chars().count();
        if chars <= CONTENT_CHARS_MAX {
            return kept.to_owned();
        }
        self.change(format!(
            "Its text has {chars} characters: cut after {CONTENT_CHARS_MAX}, the most a memory has."
        ));
        kept.chars().take(CONTENT_CHARS_MAX).collect()
    }

    pub fn change(&mut self, sentence: String) {
        if self.changes.len() < CHANGES_MAX {
            self.changes.push(sentence);
        }
    }

    fn date(&mut self, field: &str, json: &str) -> Option<OffsetDateTime> {
        let read = scalar(json).and_then(|text| read_date(&text));
        let is_blank = text(json).is_some_and(|text| text.trim().is_empty());
        if read.is_none() && !is_blank {
            self.change(format!("`{field}` could not be read as a date: left out."));
        }
        read
    }

    pub fn created(&mut self, field: &str, json: &str) {
        self.line.created_at = self.date(field, json);
    }

    pub fn updated(&mut self, field: &str, json: &str) {
        self.line.updated_at = self.date(field, json);
    }

    pub fn expires(&mut self, field: &str, json: &str) {
        self.line.expires_at = self.date(field, json);
    }

    pub fn created_at(&mut self, at: Option<OffsetDateTime>) {
        self.line.created_at = at;
    }

    /// Names in a list, in objects with a `name`, or in one text between commas.
    pub fn tags(&mut self, field: &str, json: &str) {
        let mut names = Vec::new();
        match text(json) {
            Some(text) => names.extend(text.split([',', ';']).map(|name| Some(name.to_owned()))),
            None => {
                let mut each = |member: &str| {
                    if names.len() <= TAGS_MAX {
                        let named = super::entry::EntryFields::of(member);
                        let name = named.and_then(|fields| fields.text("name"));
                        names.push(name.or_else(|| text(member).map(Into::into)));
                    }
                };
                if !json.starts_with('[') || each_of(json, &mut each).is_err() {
                    names.push(None);
                }
            }
        }
        self.tag_all(field, names);
    }

    pub fn tag_all(&mut self, field: &str, names: Vec<Option<String>>) {
        let mut is_whole = true;
        for name in names {
            let name = name.map(|name| name.trim().trim_start_matches('#').trim().to_owned());
            match name {
                Some(name) if name.is_empty() => {}
                Some(name)
                    if name.chars().count() <= TAG_CHARS_MAX
                        && !name.contains('\0')
                        && self.line.tags.len() < TAGS_MAX =>
                {
                    if !self.line.tags.contains(&name) {
                        self.line.tags.push(name);
                    }
                }
                _ => is_whole = false,
            }
        }
        if !is_whole {
            self.change(format!(
                "Of `{field}`, what is no tag is left out: a tag has at most {TAG_CHARS_MAX} characters, a memory {TAGS_MAX} tags."
            ));
        }
    }

    pub fn agent(&mut self, field: &str, json: &str) {
        match scalar(json).filter(|name| AgentName::parse(name).is_ok()) {
            Some(name) => self.line.agent = Some(name.into_owned()),
            None => self.change(format!("`{field}` is no name for an agent: left out.")),
        }
    }

    /// The type, if it is one of ours.
    pub fn item_type(&mut self, json: &str) {
        let named = text(json).filter(|name| ItemType::parse_memory("type", name).is_ok());
        if let Some(name) = named {
            self.line.r#type = name.into_owned();
        }
    }

    pub fn archive(&mut self) {
        self.line.status = Some("archived".to_owned());
    }

    pub fn project(&mut self, name: &str) {
        self.line.project = Some(name.to_owned());
    }

    /// Under the source's name. Of an object, `left_out` (folded) are left out: they came in as fields.
    pub fn attributes(&mut self, field: &str, json: &str, left_out: &[&str]) {
        let read = Some(json).filter(|json| json.len() <= ATTRIBUTES_READ_MAX);
        let mut read: Option<Value> = read.and_then(|json| serde_json::from_str(json).ok());
        if let Some(Value::Object(object)) = &mut read {
            object.retain(|name, value| {
                !value.is_null() && !left_out.contains(&folded(name).as_str())
            });
            if object.is_empty() {
                return;
            }
        }
        let source = self.line.source.clone().unwrap_or_default();
        let kept = read.map(|value| attributes(json!({ source: value })));
        match kept {
            Some(Ok(value)) => self.line.attributes = value,
            _ => self.change(format!(
                "`{field}` is left out: it is not JSON of at most 64 KiB, without NUL characters."
            )),
        }
    }

    /// What was changed, and the memory.
    ///
    /// # Errors
    /// [`Invalid`] for its text.
    pub fn done(self) -> (Vec<String>, Result<ItemRecord, Invalid>) {
        (self.changes, item(self.line))
    }
}
