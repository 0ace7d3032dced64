//! Markdown notes: each becomes a document, as it is. Of its front matter only what the document needs is read.

use time::OffsetDateTime;

use super::front_matter::FrontMatter;
use super::links::NoteLinks;
use super::{EntryPlace, ForeignReader, ReadResult, WHOLE_FILE, encoding};
use crate::documents::{DocumentPath, check_content};
use crate::export::documents::NoteRecord;
use crate::export::read::ImportRecord;
use crate::input::Invalid;
use crate::memories::Trust;

/// Of a note without a name.
const NAMELESS: &str = "imported.md";
impl ForeignReader<'_> {
    /// Whether it is a text.
    pub(super) fn read_note_file(
        &mut self,
        path: &str,
        bytes: Vec<u8>,
        modified: Option<OffsetDateTime>,
    ) -> ReadResult<bool> {
        let Some(decoded) = encoding::decode(bytes) else {
            return Ok(false);
        };
        if decoded.text.trim().is_empty() {
            self.skip(WHOLE_FILE, "It is empty.")?;
            return Ok(true);
        }
        if let Some(was) = decoded.was {
            self.adapt_at(self.place(WHOLE_FILE), format!("It was {was}, and is read as such."))?;
        }
        self.read_note(Some(path), &decoded.text, modified)
    }

    pub(super) fn read_note(
        &mut self,
        path: Option<&str>,
        text: &str,
        modified: Option<OffsetDateTime>,
    ) -> ReadResult<bool> {
        let mut place = EntryPlace::of(match path {
            Some(path) => super::collection::shown_path(path),
            None => self.place(WHOLE_FILE),
        });
        let front = FrontMatter::of(text);
        if front.has_bad_date {
            place.changes.push("Its date of creation could not be read: left out.".to_owned());
        }
        let content = text.replace('\0', "");
        if content.len() < text.len() {
            place.changes.push("Its text had NUL characters: left out.".to_owned());
        }
        let path = DocumentPath::parse("path", path.unwrap_or(NAMELESS)).and_then(|path| {
            check_content("content", &content)?;
            match path.is_of_system() {
                false => Ok(path),
                true => Err(Invalid::new(
                    "path",
                    "invalid_path",
                    "The folder _system is the server's own.",
                )),
            }
        });
        let path = match path {
            Ok(path) => path,
            Err(invalid) => {
                self.emit(place, Err(invalid))?;
                return Ok(true);
            }
        };
        let created_at = front.created.or(modified).unwrap_or(self.now).min(self.now);
        self.links.gather(NoteLinks::of(path.as_str(), &front, &content), created_at);
        let note = NoteRecord { path, content, created_at, trust: Trust::Agent };
        self.notes += 1;
        self.pass_on_at(place, ImportRecord::Note(Box::new(note)))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_front_matter_names_and_the_date_are_read_whatever_else_is_in_it() {
        let text = "---\r\ntitle: \"Größe: Köln\"\r\ntype: person\r\npermalink: people/anna\r\ntags:\r\n- a\r\naliases:\r\n  - Änne\r\n  - '安娜'\r\ncreated: 2024-05-01 10:00\r\nx: {y: [z]}\r\n---\r\nText";
        let front = FrontMatter::of(text);
        assert_eq!(front.title.as_deref(), Some("Größe: Köln"));
        assert_eq!(front.note_type.as_deref(), Some("person"));
        assert_eq!(front.aliases, ["people/anna", "Änne", "安娜"]);
        assert!(front.created.is_some() && text[front.bytes..].starts_with("Text"));
        for none in ["title: A", "---\ntitle: A\nnever closed", "# A\n---\n"] {
            let front = FrontMatter::of(none);
            assert!(front.title.is_none() && front.bytes == 0, "{none}");
        }
        assert!(FrontMatter::of("---\ndate: yesterdayish\n---\n").has_bad_date);
    }
}
