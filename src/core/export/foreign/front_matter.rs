//! What the front matter of a note says, as far as its document needs it.

use time::OffsetDateTime;

use super::dates::read_date;
use super::entry::folded;

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
            list_of = folded(name.trim());
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
