//! What chat programs saved as memories: ChatGPT's messages to its tool, and what Claude remembers. Their conversations are not
//! imported.

use super::draft::Draft;
use super::entry::{EntryFields, each_of, named_texts, scalar, text};
use super::{ForeignReader, ReadResult, texts};
use crate::input::Invalid;

/// The tool with which ChatGPT stores memories: each message to it is a memory.
const MEMORY_TOOL: &str = "bio";
const PROJECTS_MAX: usize = 10_000;
/// Limit of a project's name.
const PROJECT_CHARS_MAX: usize = 80;

pub fn is_claude_memory(fields: &EntryFields<'_>) -> bool {
    fields.has("conversationsmemory") || fields.has("projectmemories")
}

pub fn is_claude_project(fields: &EntryFields<'_>) -> bool {
    fields.has("uuid") && fields.has("name") && (fields.has("prompttemplate") || fields.has("docs"))
}

impl ForeignReader<'_> {
    /// The memories of one conversation, oldest first.
    pub(super) fn read_chatgpt(
        &mut self,
        place: &str,
        conversation: &EntryFields<'_>,
    ) -> ReadResult {
        let mut saved = Vec::new();
        let mut odd = 0;
        let mapping = conversation.get("mapping").unwrap_or("{}");
        let is_read = each_of(mapping, |node| {
            let message = EntryFields::of(node)
                .and_then(|node| node.get("message").and_then(EntryFields::of));
            let Some(message) = message else {
                // The first node has no message; one that is no object may have been anything.
                odd += u64::from(!node.starts_with('{'));
                return;
            };
            if message.text("recipient").as_deref() == Some(MEMORY_TOOL) {
                let at = message.get("createtime").and_then(|at| at.parse::<f64>().ok());
                saved.push((at.unwrap_or_default(), message));
            }
        });
        if is_read.is_err() || !mapping.starts_with(['{', '[']) {
            let sentence = "`mapping` is not as ChatGPT writes it: the messages of a conversation.";
            return self.refuse(place, Invalid::new("mapping", "invalid_value", sentence));
        }
        if odd > 0 {
            let sentence = "A message of the conversation is not as ChatGPT writes it.";
            self.skip(place, sentence)?;
        }
        saved.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        for (_, message) in saved {
            let mut draft = Draft::new("chatgpt", text_of_message(&message));
            if let Some(at) = message.get("createtime") {
                draft.created("create_time", at);
            }
            self.draft(place, draft)?;
        }
        Ok(())
    }

    /// Paragraphs of what Claude remembers, as facts; of a project, what it remembers of its work.
    pub(super) fn read_claude_memory(
        &mut self,
        place: &str,
        fields: &EntryFields<'_>,
    ) -> ReadResult {
        match fields.get("conversationsmemory").map(text) {
            Some(Some(memory)) => self.read_claude_text(place, &memory, None)?,
            Some(None) => {
                let sentence = "`conversations_memory` is not a text: left out.";
                self.skip(place, sentence)?;
            }
            None => {}
        }
        if fields.get("memoryfiles").is_some_and(|files| files.len() > "[]".len()) {
            self.skip(place, "`memory_files` is not imported.")?;
        }
        let Some(memories) = fields.get("projectmemories") else {
            return Ok(());
        };
        let mut of_projects = Vec::new();
        named_texts(memories, |id, text| of_projects.push((id, text)));
        for (id, memory) in of_projects {
            let name = self.projects.get(&id).cloned();
            match memory {
                Some(memory) => self.read_claude_text(place, &memory, Some((&id, name)))?,
                None => self.skip(place, "A text of `project_memories` is none: left out.")?,
            }
        }
        Ok(())
    }

    fn read_claude_text(
        &mut self,
        place: &str,
        memory: &str,
        project: Option<(&str, Option<String>)>,
    ) -> ReadResult {
        for (heading, paragraph) in texts::paragraphs(memory) {
            let mut draft = Draft::new("claude", paragraph);
            if let Some(heading) = heading {
                draft.tag_all("heading", vec![Some(heading)]);
            }
            if let Some((id, name)) = &project {
                let short: String = id.chars().take(8).collect();
                let named = name.clone().unwrap_or_else(|| format!("Claude project {short}"));
                draft.project(&named);
            }
            self.draft(place, draft)?;
        }
        Ok(())
    }

    /// The names of projects, which come in a file of their own.
    pub(super) fn note_claude_project(&mut self, fields: &EntryFields<'_>) {
        let named = fields.get("uuid").and_then(scalar).zip(fields.text("name"));
        let name = named.filter(|(_, name)| name.chars().any(char::is_alphanumeric));
        if let Some((id, name)) = name.filter(|_| self.projects.len() < PROJECTS_MAX) {
            let name = name.chars().take(PROJECT_CHARS_MAX).collect();
            self.projects.insert(id.into_owned(), name);
        }
    }
}

/// The strings of its parts; some versions write one text.
fn text_of_message(message: &EntryFields<'_>) -> String {
    let content = message.get("content").and_then(EntryFields::of);
    let Some(content) = content else {
        return message.text("content").unwrap_or_default();
    };
    let mut whole = content.text("text").unwrap_or_default();
    each_of(content.get("parts").filter(|parts| parts.starts_with('[')).unwrap_or("[]"), |part| {
        let part = text(part).map(Into::into);
        if let Some(part) = part.filter(|part: &String| !part.trim().is_empty()) {
            if !whole.is_empty() {
                whole.push('\n');
            }
            whole.push_str(&part);
        }
    })
    .ok();
    whole
}
