//! Elements such as `<page>…</page>` in a message, which people or clients put there.

use std::collections::HashMap;

use crate::languages::is_dense;

/// Elements that people type around what they paste. Without an end, they go to the next blank line.
const ELEMENTS: [&str; 13] = [
    "article",
    "blockquote",
    "body",
    "content",
    "context",
    "document",
    "email",
    "file",
    "html",
    "instructions",
    "page",
    "quote",
    "text",
];
/// A tag in a text.
struct Tag<'t> {
    name: &'t str,
    begins: usize,
    ends: usize,
    is_end: bool,
}

/// `<page>`, `</page>`, `<file path="…">`; not `Vec<Text>`, `a < b`, `<br/>` or an address.
fn tags(text: &str) -> Vec<Tag<'_>> {
    const TAG_BYTES_MAX: usize = 1_000;
    let mut tags = Vec::new();
    let mut at = 0;
    while let Some(begins) = text[at..].find('<').map(|n| at + n) {
        at = begins + 1;
        let rest = &text[at..];
        let is_end = rest.starts_with('/');
        let is_word = |c: char| (c.is_alphanumeric() || c == '_') && !is_dense(c);
        if !is_end && text[..begins].ends_with(is_word) {
            continue;
        }
        let rest = &rest[usize::from(is_end)..];
        let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
        let name = &rest[..rest.find(|c| !is_of_name(c)).unwrap_or(rest.len())];
        let mut after = rest[name.len()..].char_indices().take_while(|(n, _)| *n < TAG_BYTES_MAX);
        let Some((end, _)) = after.find(|(_, c)| matches!(c, '>' | '<')) else { continue };
        let inner = &rest[name.len()..name.len() + end];
        let is_tag = name.starts_with(char::is_alphabetic)
            && !name.contains("://")
            && rest[name.len() + end..].starts_with('>')
            && (inner.is_empty() || inner.starts_with(char::is_whitespace))
            && !inner.ends_with('/');
        if is_tag {
            let ends = text.len() - rest.len() + name.len() + end + 1;
            tags.push(Tag { name, begins, ends, is_end });
            at = ends;
        }
    }
    tags
}

/// Whether people never type such an element: those of clients have names of several words.
fn is_of_client(name: &str) -> bool {
    name.contains(['-', '_'])
}

/// Any complete element, known or not; a second end of the same name belongs to it as well, since what is pasted may have one.
pub(super) fn without_elements(text: &str) -> String {
    let plain = text.to_ascii_lowercase();
    let tags = tags(&plain);
    let mut open: HashMap<&str, Vec<&Tag<'_>>> = HashMap::new();
    let mut last: HashMap<&str, usize> = HashMap::new();
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for tag in &tags {
        if !tag.is_end {
            open.entry(tag.name).or_default().push(tag);
            continue;
        }
        let begun = open.get_mut(tag.name).and_then(Vec::pop).map(|begun| begun.begins);
        if let Some(begins) = begun.or_else(|| last.get(tag.name).copied()) {
            last.insert(tag.name, begins);
            spans.push((begins, tag.ends));
        }
    }
    let is_known = |tag: &&&Tag<'_>| is_of_client(tag.name) || ELEMENTS.contains(&tag.name);
    let mut unclosed: Vec<&Tag<'_>> = open.values().flatten().filter(is_known).copied().collect();
    unclosed.sort_unstable_by_key(|tag| tag.begins);
    let mut blank_line = 0;
    for tag in unclosed {
        if blank_line < tag.ends {
            let next = plain[tag.ends..].find("\n\n");
            blank_line = next.map_or(text.len(), |next| tag.ends + next);
        }
        // Clients put theirs at the beginning of a line; elsewhere it is a placeholder: "/users/<user_id>".
        let is_in_line = tag.begins > 0 && !plain[..tag.begins].ends_with('\n');
        match is_of_client(tag.name) {
            true if is_in_line => {}
            true => spans.push((tag.begins, text.len())),
            false => spans.push((tag.begins, blank_line)),
        }
    }
    spans.sort_unstable();
    let (mut own, mut at) = (String::with_capacity(text.len()), 0);
    for (begins, ends) in spans {
        if begins > at {
            own += &text[at..begins];
        }
        at = at.max(ends);
    }
    own + &text[at..]
}
