//! `<private>…</private>`: what a person marks so is never stored.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

const TAGS: [&str; 2] = ["<private>", "</private>"];

static FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let finder = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(TAGS);
    finder.unwrap_or_else(|error| panic!("the private tags: {error}"))
});

/// The text without its private sections; `None` if it has none. Sections may stand inside each other; one that is not closed
/// goes to the end.
pub fn without_private(text: &str) -> Option<String> {
    let mut tags = FINDER.find_iter(text).peekable();
    tags.peek()?;
    let (mut kept, mut depth, mut from) = (String::with_capacity(text.len()), 0u32, 0);
    let mut is_changed = false;
    for tag in tags {
        match (tag.pattern().as_usize(), depth) {
            (0, 0) => {
                kept.push_str(&text[from..tag.start()]);
                (depth, is_changed) = (1, true);
            }
            (0, _) => depth += 1,
            (_, 0) => {}
            (_, 1) => (depth, from) = (0, tag.end()),
            (_, _) => depth -= 1,
        }
    }
    if depth == 0 {
        kept.push_str(&text[from..]);
    }
    is_changed.then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_sections_are_removed() {
        for (text, kept) in [
            ("a <private>b</private> c", Some("a  c")),
            ("a <PRIVATE>b</Private>c<private>d</private>", Some("a c")),
            ("a <private>b", Some("a ")),
            ("<private>a<private>b</private>c</private>d", Some("d")),
            ("<private></private>", Some("")),
            ("é<private>ü</private>ö", Some("éö")),
            ("a </private> b", None),
            ("a private b", None),
            ("", None),
        ] {
            assert_eq!(without_private(text).as_deref(), kept, "{text}");
        }
    }
}
