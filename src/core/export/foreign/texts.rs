//! Lists of texts: one a line, or the bullets of a Markdown list; and the paragraphs of a longer text.

use time::OffsetDateTime;

use super::dates::read_date;
use super::{ForeignReader, ReadResult};
use crate::input::Invalid;

/// Of a heading that becomes a tag.
const HEADING_CHARS_MAX: usize = 64;

/// The text of a bullet or of a numbered line: `- a`, `* [ ] a`, `• a`, `1. a`, `２) a`.
fn bullet(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = line.strip_prefix(['-', '*', '+', '•', '‣', '–', '·', '・']);
    let rest = rest.or_else(|| {
        let numbered = line.trim_start_matches(char::is_numeric);
        let digits = line.len() - numbered.len();
        (1..=12).contains(&digits).then(|| numbered.strip_prefix(['.', ')', '、', '．']))?
    })?;
    // "-5 degrees" and "3.14" are no bullets; East Asian marks stand without a blank.
    let is_tight = line.starts_with(['•', '・', '·']) || line.contains('、');
    let rest = rest.strip_prefix([' ', '\t', '\u{3000}']).or(is_tight.then_some(rest))?.trim();
    let unboxed = ["[ ] ", "[x] ", "[X] "].iter().find_map(|mark| rest.strip_prefix(mark));
    Some(unboxed.unwrap_or(rest).trim()).filter(|rest| !rest.is_empty())
}

fn heading(line: &str) -> Option<&str> {
    let line = line.trim();
    let hashed = line.trim_start_matches('#');
    let heading = match line.len() - hashed.len() {
        1..=6 if hashed.starts_with(' ') => hashed.trim(),
        _ => {
            let inner = line.strip_prefix("**")?.strip_suffix("**")?;
            (!inner.contains("**")).then(|| inner.trim().trim_end_matches([':', '：']))?
        }
    };
    (!heading.is_empty()).then_some(heading)
}

fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether a text is a list and nothing else: bullets with what belongs to each, under headings.
pub fn is_list(text: &str) -> bool {
    let mut bullets = 0;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match bullet(line) {
            Some(text) if !text.contains("[[") => bullets += 1,
            Some(_) => return false,
            None if heading(line).is_some() || is_fence(line) => {}
            None if bullets > 0 && line.starts_with([' ', '\t']) => {}
            None => return false,
        }
    }
    bullets > 0
}

/// Whether a text without a name is a Markdown note: it has front matter, or begins with a heading and is no list.
pub fn is_note(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or_default();
    let is_headed = first.starts_with('#') && heading(first).is_some();
    first.trim_end() == "---" || is_headed && !is_list(text)
}

/// HTML and XML are no lists of texts.
pub fn is_markup(text: &str) -> bool {
    let text = text.trim_start();
    let begins = |with: &str| text.get(..with.len()).is_some_and(|t| t.eq_ignore_ascii_case(with));
    ["<!doctype", "<html", "<?xml", "%pdf", "{\\rtf"].iter().any(|with| begins(with))
}

/// The date in brackets that a text begins with, and the rest: `[2025-03-01] - Keeps bees.`
pub fn dated(text: &str) -> (Option<OffsetDateTime>, &str) {
    let text = text.trim();
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((inside, rest)) = bracketed else {
        return (None, text);
    };
    let is_unknown =
        ["unknown", "no date", "date unknown", ""].contains(&inside.trim().to_lowercase().as_str());
    let date = read_date(inside);
    if date.is_none() && !is_unknown {
        return (None, text);
    }
    let rest = rest.trim_start().trim_start_matches(['-', '–', '—', ':']).trim_start();
    if rest.is_empty() { (None, text) } else { (date, rest) }
}

/// Paragraphs and bullets, each with the heading above it.
pub fn paragraphs(text: &str) -> Vec<(Option<String>, String)> {
    let (mut found, mut open, mut above) = (Vec::new(), String::new(), None);
    let close = |open: &mut String, above: &Option<String>, found: &mut Vec<_>| {
        let text = std::mem::take(open);
        if !text.trim().is_empty() {
            found.push((above.clone(), text.trim().to_owned()));
        }
    };
    for line in text.lines() {
        let is_blank = line.trim().is_empty();
        let headed = heading(line);
        let listed = bullet(line);
        if is_blank || headed.is_some() || listed.is_some() {
            close(&mut open, &above, &mut found);
        }
        if let Some(heading) = headed {
            above = Some(heading.chars().take(HEADING_CHARS_MAX).collect());
            continue;
        }
        if !is_blank {
            if !open.is_empty() {
                open.push('\n');
            }
            open.push_str(listed.unwrap_or(line.trim()));
        }
    }
    close(&mut open, &above, &mut found);
    found
}

impl ForeignReader<'_> {
    /// A memory of each line; in a list, of each bullet with the lines that belong to it.
    pub(super) fn read_texts(&mut self, text: &str) -> ReadResult<bool> {
        let of_bullets = is_list(text);
        let mut open: Option<(usize, String)> = None;
        let mut is_any = false;
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() || is_fence(line) || heading(line).is_some() {
                continue;
            }
            is_any = true;
            let begun = bullet(line);
            if let (true, None, Some((_, whole))) = (of_bullets, begun, &mut open) {
                whole.push('\n');
                whole.push_str(line.trim());
                continue;
            }
            if let Some((number, whole)) = open.take() {
                self.read_text_entry(&format!("Line {number}"), &whole)?;
            }
            open = Some((number, begun.unwrap_or(line.trim()).to_owned()));
        }
        if let Some((number, whole)) = open {
            self.read_text_entry(&format!("Line {number}"), &whole)?;
        }
        if !is_any {
            let sentence = "It has no line with a text.";
            self.refuse(super::WHOLE_FILE, Invalid::new("file", "required", sentence))?;
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bullets_are_told_from_numbers_and_signs() {
        for (line, text) in [
            ("- a b", Some("a b")),
            ("  * [ ] a", Some("a")),
            ("• a", Some("a")),
            ("・安娜喜欢茶", Some("安娜喜欢茶")),
            ("12. a", Some("a")),
            ("３、茶", Some("茶")),
            ("١. شاي", Some("شاي")),
            ("-5 degrees", None),
            ("3.14 is pi", None),
            ("2025 was good", None),
            ("**bold** text", None),
            ("-", None),
        ] {
            assert_eq!(bullet(line), text, "{line}");
        }
    }

    #[test]
    fn a_list_is_only_bullets_and_a_note_is_more() {
        for list in ["- a\n- b", "# Facts\n\n- a\n  more of a\n* b\n", "1. a\n2. b"] {
            assert!(is_list(list), "{list}");
        }
        for note in ["# A\n\nText.\n- b", "Just a line.", "- links_to [[B]]\n", "", "# Only"] {
            assert!(!is_list(note), "{note}");
        }
        assert!(is_note("---\ntitle: A\n---\nx") && is_note("# A\n\nText.") && !is_note("a\nb"));
    }

    #[test]
    fn a_date_in_brackets_is_the_date_of_its_text() {
        let of = |text| {
            let (date, rest) = dated(text);
            (date.map(|at| at.date().to_string()), rest)
        };
        assert_eq!(
            of("[2025-03-01] - Keeps bees."),
            (Some("2025-03-01".to_owned()), "Keeps bees.")
        );
        assert_eq!(of("[unknown] - Keeps bees."), (None, "Keeps bees."));
        assert_eq!(of("[tech] Uses SQLite"), (None, "[tech] Uses SQLite"));
        assert_eq!(of("Keeps [3] bees."), (None, "Keeps [3] bees."));
    }

    #[test]
    fn paragraphs_have_the_heading_above_them() {
        let text = "**Work context**\n\nAnna builds\nbridges.\n\n**Persönliches:**\n- Mag Tee\n- 喜欢猫\n\nEnd.";
        let of = |heading: &str, text: &str| (Some(heading.to_owned()), text.to_owned());
        assert_eq!(
            paragraphs(text),
            [
                of("Work context", "Anna builds\nbridges."),
                of("Persönliches", "Mag Tee"),
                of("Persönliches", "喜欢猫"),
                of("Persönliches", "End."),
            ]
        );
    }
}
