//! `<private>…</private>`: what a person marks so is never stored.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Text may be JSON, in which writers escape `<` and `>` (Go) or `/` (PHP), and JSON in JSON escapes the backslashes too.
const TAG: &str = r"(?i)(?:<|\\+u003c)(?:\\*/)?private(?:>|\\+u003e)";

static FINDER: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(TAG).unwrap_or_else(|error| panic!("the private tags: {error}")));

/// The text without its private sections; borrowed if it has none. Sections may stand inside each other; one that is not
/// closed goes to the end.
pub fn without_private(text: &str) -> Cow<'_, str> {
    let (mut kept, mut depth, mut from) = (String::new(), 0u32, 0);
    let mut is_changed = false;
    for tag in FINDER.find_iter(text) {
        match (tag.as_str().contains('/'), depth) {
            (false, 0) => {
                kept.push_str(&text[from..tag.start()]);
                (depth, is_changed) = (1, true);
            }
            (false, _) => depth += 1,
            (true, 0) => {}
            (true, 1) => (depth, from) = (0, tag.end()),
            (true, _) => depth -= 1,
        }
    }
    if !is_changed {
        return Cow::Borrowed(text);
    }
    if depth == 0 {
        kept.push_str(&text[from..]);
    }
    Cow::Owned(kept)
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
            (r"{\u003cprivate\u003eb\u003c/private\u003e}", Some("{}")),
            (r"{\u003CPrivate>b\u003C\/private\u003E}", Some("{}")),
            (r"{\\u003cprivate\\u003eb<\\\/private>}", Some("{}")),
            (r"{\u003cprivate\u003eb}", Some("{")),
            ("a </private> b", None),
            (r"a \u003c/private\u003e u003cprivateu003e b", None),
            ("a private b", None),
            ("", None),
        ] {
            let is_changed = matches!(without_private(text), Cow::Owned(_));
            assert_eq!(is_changed, kept.is_some(), "{text}");
            assert_eq!(without_private(text), kept.unwrap_or(text));
        }
    }
}
