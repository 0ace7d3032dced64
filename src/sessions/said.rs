//! What was said in a message, as text: without the memory that Keepsake itself put
//! into it, and in pieces where it is long. Nothing else is ever left out.

use time::OffsetDateTime;
use time::macros::format_description;

/// What stands around memory that was put into a prompt.
const MEMORY_BEGINS: &str = "<keepsake-memory";
const MEMORY_ENDS: &str = "</keepsake-memory>";

/// What stands before, between and after the memory that was put into a text; the text whole
/// where there is none.
pub fn around_own_memory(text: &str) -> Vec<&str> {
    let mut around = Vec::new();
    let mut rest = text;
    while let Some(begins) = rest.find(MEMORY_BEGINS) {
        around.push(&rest[..begins]);
        rest = match rest[begins..].find(MEMORY_ENDS) {
            Some(ends) => &rest[begins + ends + MEMORY_ENDS.len()..],
            None => "",
        };
    }
    around.push(rest);
    around
}

/// Data of a kind with its date, between tags that no text closes: what an agent is handed, and not told anew.
pub fn delimited(kind: &str, text: &str, at: OffsetDateTime) -> String {
    let day = at.date();
    let day = day
        .format(format_description!("[year]-[month]-[day]"))
        .unwrap_or_default();
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    format!("{MEMORY_BEGINS} kind=\"{kind}\" date=\"{day}\">\n{text}\n{MEMORY_ENDS}")
}

/// Pieces of at most so many characters, whole words where there are any.
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
