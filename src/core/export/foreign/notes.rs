//! Markdown notes: each becomes a document, as it is. Of its front matter only what the document needs is read.

use time::OffsetDateTime;

use super::dates::read_date;
use super::entry::folded;
use super::links::NoteLinks;
use super::{EntryPlace, ForeignReader, ReadResult, WHOLE_FILE, encoding};
use crate::documents::{DocumentPath, check_content};
use crate::export::documents::NoteRecord;
use crate::export::read::ImportRecord;
use crate::input::Invalid;
use crate::memories::Trust;

/// Of a note without a name.
const NAMELESS: &str = "imported.md";
const CREATED: [&str; 5] = ["created", "createdat", "datecreated", "creationdate", "date"];
/// Lines of front matter that are looked at.
const LINES_MAX: usize = 200;
const ALIASES_MAX: usize = 20;

/// What front matter says.
#[derive(Default)]
pub struct FrontMatter {
    pub title: Option<String>,
    pub note_type: Option<String>,
    pub aliases: Vec<String>,
    pub created: Option<OffsetDateTime>,
    /// `created` or another date was no date.
    pub has_bad_date: bool,
    /// Bytes before the text.
    pub bytes: usize,
}

impl FrontMatter {
    /// Reads lines such as `title: A` and `aliases: [A, B]`; anything else of YAML is passed over.
    pub fn of(text: &str) -> Self {
        let mut found = Self::default();
        let mut lines = text.split_inclusive('\n');
        if lines.next().map(str::trim_end) != Some("---") {
            return found;
        }
        let mut bytes = text.find('\n').map_or(0, |end| end + 1);
        let mut list_of = String::new();
        for line in lines.take(LINES_MAX) {
            bytes += line.len();
            if matches!(line.trim_end(), "---" | "...") {
                found.bytes = bytes;
                return found;
            }
            if let Some(entry) = line.trim_start().strip_prefix("- ") {
                if list_of == "aliases" {
                    found.alias(entry);
                }
                continue;
            }
            let Some((name, value)) =
                line.split_once(':').filter(|_| !line.starts_with([' ', '\t']))
            else {
                continue;
            };
            (list_of, _) = (folded(name.trim()), ());
            found.take(&list_of, value.trim());
        }
        // It is never closed, so it is none.
        Self::default()
    }

    fn take(&mut self, name: &str, value: &str) {
        let value = unquoted(value);
        match name {
            _ if value.is_empty() => {}
            "title" => self.title = Some(value.to_owned()),
            "type" => self.note_type = Some(value.to_owned()),
            "permalink" => self.alias(value),
            "alias" | "aliases" => {
                let inner = value.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
                inner.unwrap_or(value).split(',').for_each(|alias| self.alias(alias));
            }
            name if CREATED.contains(&name) && self.created.is_none() => {
                self.created = read_date(value);
                self.has_bad_date = self.created.is_none();
            }
            _ => {}
        }
    }

    fn alias(&mut self, alias: &str) {
        let alias = unquoted(alias);
        if !alias.is_empty() && self.aliases.len() < ALIASES_MAX {
            self.aliases.push(alias.to_owned());
        }
    }
}

fn unquoted(value: &str) -> &str {
    let value = value.trim();
    let inner = ['"', '\''].iter().find_map(|q| value.strip_prefix(*q)?.strip_suffix(*q));
    inner.unwrap_or(value).trim()
}

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
