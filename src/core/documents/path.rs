//! A document's path: names of folders and a file, joined by `/`. Rejects everything that could be read as another path
//! elsewhere (`..`, other slashes, percent-encoding), so that one path means one document.

use std::fmt;

use schemars::JsonSchema;
use unicode_normalization::UnicodeNormalization;

use crate::input::Invalid;
use crate::memories::mentions::normal::visible;

/// Limits of a path: its characters, those of one name, and the number of names.
pub const PATH_CHARS_MAX: usize = 512;
const NAME_CHARS_MAX: usize = 128;
const NAMES_MAX: usize = 16;
/// Folder of documents that the server writes; read-only for agents.
const SYSTEM: &str = "_system";
/// Characters that look like `/` or `\`.
const SLASHES: [char; 10] = [
    '\\', '\u{2044}', '\u{2215}', '\u{2216}', '\u{2571}', '\u{2572}', '\u{29F5}', '\u{29F8}',
    '\u{29F9}', '\u{FE68}',
];

/// Path of the document: names of folders and of a file, joined by slashes. Slashes are not percent-encoded. memory_files knows it as /memories/{path}.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, sqlx::Type)]
#[sqlx(transparent)]
#[schemars(example = "MEMORY.md")]
pub struct DocumentPath(#[schemars(length(min = 1, max = PATH_CHARS_MAX))] String);

impl fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl DocumentPath {
    /// # Errors
    /// [`Invalid`] naming `field`.
    pub fn parse(field: &'static str, text: &str) -> Result<Self, Invalid> {
        let invalid = |why: &str| {
            let sentence = format!("`{field}` {why}; give one such as memory/2026-03-23.md.");
            Invalid::new(field, "invalid_path", sentence)
        };
        if text.chars().count() > PATH_CHARS_MAX {
            return Err(invalid("is longer than 512 characters"));
        }
        if text.is_empty() {
            return Err(invalid("is empty"));
        }
        if visible(text) != text {
            return Err(invalid("has characters that cannot be seen"));
        }
        if text.chars().any(is_like_a_slash) {
            return Err(invalid("has a slash that is none"));
        }
        if stands_for_a_byte(text) {
            return Err(invalid("has a percent sign that stands for another character"));
        }
        let path: String = text.nfc().collect();
        let names: Vec<&str> = path.split('/').collect();
        if names.len() > NAMES_MAX {
            return Err(invalid("has more than 16 names"));
        }
        for name in names {
            let dots: String = name.nfkc().collect();
            if dots.chars().all(|c| c == '.') {
                return Err(invalid("has a name that is empty or of dots alone"));
            }
            if name.trim() != name || name.chars().count() > NAME_CHARS_MAX {
                return Err(invalid(
                    "has a name that begins or ends with a blank, or is longer than 128 characters",
                ));
            }
        }
        Ok(Self(path))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether search finds its text: only Markdown.
    pub fn is_searched(&self) -> bool {
        let name = self.0.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        ending.eq_ignore_ascii_case("md")
    }

    pub fn is_of_system(&self) -> bool {
        self.0.split('/').next() == Some(SYSTEM)
    }

    /// `a` and `a/b` of `a/b/c`.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(at, _)| &self.0[..at])
    }

    /// The path after moving `from` to `to`.
    pub(super) fn moved(&self, from: &Self, to: &Self) -> Option<String> {
        let inside = self.0.strip_prefix(from.as_str())?;
        Some(format!("{to}{inside}"))
    }
}

fn is_like_a_slash(c: char) -> bool {
    if c == '/' {
        return false;
    }
    SLASHES.contains(&c) || c.nfkc().any(|of| matches!(of, '/' | '\\'))
}

/// Whether it contains a percent-encoded character that would change the path: `%2e`, `%252F`.
fn stands_for_a_byte(text: &str) -> bool {
    let is_telling = |digits: &[u8]| {
        let byte =
            str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
        byte.is_some_and(|byte| byte < b' ' || matches!(byte, b'.' | b'/' | b'\\' | b'%'))
    };
    let bytes = text.as_bytes();
    bytes.windows(3).any(|w| w[0] == b'%' && is_telling(&w[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_people_write_are_taken_as_they_are() {
        for path in [
            "MEMORY.md",
            "memory/2026-03-23.md",
            "Über uns/größe.md",
            "100%.txt",
            "a%20b.md",
            ".hidden",
            "a/b c/…d.json",
        ] {
            let parsed = DocumentPath::parse("path", path).expect("taken");
            assert_eq!(parsed.as_str(), path);
        }
        // Normalized to one spelling of the letter.
        let parsed = DocumentPath::parse("path", "U\u{308}ber.md").expect("taken");
        assert_eq!(parsed.as_str(), "Über.md");
    }

    #[test]
    fn what_would_be_another_path_elsewhere_is_refused() {
        let long = "x".repeat(600);
        let deep = "a/".repeat(20) + "b";
        for path in [
            "",
            "/",
            "/etc",
            "a//b",
            "a/",
            "../a",
            "a/../b",
            "a/./b",
            "a/..",
            "..",
            "...",
            "a\\b",
            "..\\a",
            "%2e%2e%2fa",
            "%2E%2E/a",
            "%252e%252e%252fa",
            "a%00b",
            "a\0b",
            "a\u{2215}b",
            "a\u{2044}b",
            "a\u{FF0F}b",
            "a\u{FF3C}b",
            "\u{FF0E}\u{FF0E}/a",
            "\u{2024}\u{2024}/a",
            "\u{2025}/a",
            "a\u{202E}b",
            "a\u{200B}b",
            "a\nb",
            " a",
            "a /b",
            &long,
            &deep,
        ] {
            let refused = DocumentPath::parse("path", path).expect_err("no path");
            assert_eq!(refused.code, "invalid_path", "{path:?}");
        }
    }

    #[test]
    fn a_path_says_what_it_is() {
        let path = |text| DocumentPath::parse("path", text).expect("taken");
        assert!(path("MEMORY.md").is_searched() && path("a/B.MD").is_searched());
        assert!(
            !path("MEMORY.json").is_searched()
                && !path("md").is_searched()
                && !path("x.md/notes").is_searched()
        );
        assert!(path("_system/x.md").is_of_system() && !path("a/_system").is_of_system());
        assert_eq!(path("a/b/c").folders().collect::<Vec<_>>(), ["a", "a/b"]);
        let moved = path("a/b/c.md").moved(&path("a"), &path("x/y"));
        assert_eq!(moved.as_deref(), Some("x/y/b/c.md"));
    }
}
