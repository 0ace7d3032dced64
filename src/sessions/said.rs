//! The text of a message without the memory that Keepsake itself inserted, split into pieces if it is long.
//! Nothing else is ever left out.

use time::OffsetDateTime;
use time::macros::format_description;

/// The tags around memory that was inserted into a prompt.
const MEMORY_BEGINS: &str = "<keepsake-memory";
const MEMORY_ENDS: &str = "</keepsake-memory>";

/// The parts of a text before, between and after inserted memory; the whole text if there is none. A tag without an end is
/// text: anybody may write it.
pub fn around_own_memory(text: &str) -> Vec<&str> {
    let mut around = Vec::new();
    let mut rest = text;
    while let Some(begins) = rest.find(MEMORY_BEGINS)
        && let Some(ends) = rest[begins..].find(MEMORY_ENDS)
    {
        around.push(&rest[..begins]);
        rest = &rest[begins + ends + MEMORY_ENDS.len()..];
    }
    around.push(rest);
    around
}

/// Memory of a kind with its date, between tags that its text cannot close, so that it is recognised and not
/// learned again.
pub fn delimited(kind: &str, text: &str, at: OffsetDateTime) -> String {
    delimited_of(kind, "", text, at)
}

/// [`delimited`], with whose word the text is: the name of a trust class, or nothing.
pub fn delimited_of(kind: &str, trust: &str, text: &str, at: OffsetDateTime) -> String {
    let day = at.date();
    let day = day.format(format_description!("[year]-[month]-[day]")).unwrap_or_default();
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let trust = match trust {
        "" => String::new(),
        trust => format!(" trust=\"{trust}\""),
    };
    format!("{MEMORY_BEGINS} kind=\"{kind}\" date=\"{day}\"{trust}>\n{text}\n{MEMORY_ENDS}")
}

/// Pieces of at most `chars_max` characters, split at blanks where possible.
pub fn pieces(text: &str, chars_max: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let Some((end, _)) = rest.char_indices().nth(chars_max) else {
            return Some(std::mem::take(&mut rest));
        };
        let blank = rest[..end].rfind(char::is_whitespace);
        let end = blank.filter(|at| *at > end / 2).unwrap_or(end);
        let (piece, after) = rest.split_at(end);
        rest = after.trim_start();
        Some(piece)
    })
}
