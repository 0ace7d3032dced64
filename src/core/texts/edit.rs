//! Changes a part of a text: finds it as texts are compared ([`super::comparable`]), leaves the rest as it is, and gives what is
//! new the line ends of the text.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::{is_ignored, is_normal};

/// Why a part was not replaced.
#[derive(Debug, PartialEq, Eq)]
pub enum NotReplaced {
    /// Nothing of the part that is looked for can be seen.
    Empty,
    Missing,
    /// It begins in these lines, counted from 1; one that overlaps another counts.
    NotUnique(Vec<usize>),
}

/// The lines of a text and the end of each. A line end at the end of the text ends the last line.
pub fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let (line, after) = rest.split_at(end);
        let width = if after.starts_with("\r\n") { 2 } else { after.len().min(1) };
        let (end, next) = after.split_at(width);
        rest = next;
        Some((line, end))
    })
}

/// How many line ends it has.
pub fn count_line_ends(text: &str) -> usize {
    lines(text).filter(|(_, end)| !end.is_empty()).count()
}

/// The most frequent line end; of several, the one that comes first. `None` in a single line.
fn usual_end(text: &str) -> Option<&'static str> {
    let mut counts = [("\n", 0_usize), ("\r\n", 0), ("\r", 0)];
    let mut first = None;
    for (_, end) in lines(text) {
        if let Some((known, count)) = counts.iter_mut().find(|(known, _)| *known == end) {
            *count += 1;
            first = first.or(Some(*known));
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    let of_most = |end: &&'static str| counts.iter().any(|(known, n)| known == end && *n == most);
    first
        .filter(of_most)
        .or(counts.iter().find(|(_, n)| *n == most && most > 0).map(|(end, _)| *end))
}

/// With these line ends in their order, then with `usual`; with its own where there is none.
fn with_ends<'a>(
    text: &str,
    mut own: impl Iterator<Item = &'a str>,
    usual: Option<&'a str>,
) -> String {
    let mut written = String::with_capacity(text.len());
    for (line, end) in lines(text) {
        written.push_str(line);
        if !end.is_empty() {
            written.push_str(own.next().or(usual).unwrap_or(end));
        }
    }
    written
}

/// Replaces the one part that is `old`. Returns the text, and how many lines end before that part.
///
/// # Errors
/// [`NotReplaced`], if there is none or more than one; of them at most `places_max` are told.
pub fn replace(
    text: &str,
    old: &str,
    new: &str,
    places_max: usize,
) -> Result<(String, usize), NotReplaced> {
    let looked_for = ComparedText::of(old).text;
    if looked_for.is_empty() {
        return Err(NotReplaced::Empty);
    }
    let compared = ComparedText::of(text);
    let found = compared.find_all(looked_for.as_bytes(), places_max.max(2));
    let (start, end) = match found.as_slice() {
        [] => return Err(NotReplaced::Missing),
        [one] => *one,
        many => {
            let (mut line, mut at) = (1, 0);
            let lines = many.iter().map(|(start, _)| {
                line += count_line_ends(&text[at..*start]);
                at = *start;
                line
            });
            return Err(NotReplaced::NotUnique(lines.collect()));
        }
    };
    let own = lines(&text[start..end]).map(|(_, end)| end).filter(|end| !end.is_empty());
    let new = with_ends(new, own, usual_end(text));
    let before = &text[..start];
    Ok(([before, &new, &text[end..]].concat(), count_line_ends(before)))
}

/// Inserts lines after so many lines; 0: before the first.
///
/// # Errors
/// The number of its lines, if it has fewer.
pub fn insert(text: &str, after: i64, new: &str) -> Result<String, usize> {
    let lines: Vec<(&str, &str)> = lines(text).collect();
    let at = usize::try_from(after).ok().filter(|at| *at <= lines.len()).ok_or(lines.len())?;
    let usual = usual_end(text).or(usual_end(new)).unwrap_or("\n");
    let mut written = String::with_capacity(text.len() + new.len() + 2 * usual.len());
    for (line, end) in &lines[..at] {
        written.push_str(line);
        written.push_str(if end.is_empty() { usual } else { end });
    }
    written.push_str(&with_ends(new, std::iter::empty(), Some(usual)));
    if !new.ends_with(['\n', '\r']) {
        written.push_str(usual);
    }
    lines[at..].iter().for_each(|(line, end)| written.extend([*line, *end]));
    Ok(written)
}

/// `text`, a blank line, and `new`, with the line ends of `text`.
pub fn append(text: &str, new: &str) -> String {
    let usual = usual_end(text).unwrap_or("\n");
    let mut written = text.to_owned();
    let ended = lines(text).last().is_none_or(|(_, end)| !end.is_empty());
    let has_blank_line = lines(text).last().is_none_or(|(line, _)| line.is_empty());
    if !ended {
        written.push_str(usual);
    }
    if !has_blank_line {
        written.push_str(usual);
    }
    written + &with_ends(new, std::iter::empty(), Some(usual))
}

/// A text as it is compared, blanks around it included, with the place of each of its characters in the original.
struct ComparedText {
    text: String,
    /// Ascending. Empty: it is the original itself.
    units: Vec<TextUnit>,
}

/// What one or more characters of the original became.
struct TextUnit {
    begins: usize,
    /// In the original.
    start: usize,
    end: usize,
}

impl ComparedText {
    fn of(original: &str) -> Self {
        if is_normal(original) {
            return Self { text: original.to_owned(), units: Vec::new() };
        }
        let (mut text, mut units) = (String::with_capacity(original.len()), Vec::new());
        let mut chars = original.char_indices().peekable();
        while let Some((start, c)) = chars.next() {
            let mut end = start + c.len_utf8();
            let begins = text.len();
            match c {
                '\r' => {
                    end += usize::from(chars.next_if(|(_, next)| *next == '\n').is_some());
                    text.push('\n');
                }
                _ if is_ignored(c) => continue,
                _ => {
                    let mut together = String::from(c);
                    // Marks, also behind what cannot be seen.
                    loop {
                        let mut ahead = chars.clone();
                        let next = ahead.find(|(_, next)| !is_ignored(*next));
                        let Some((at, mark)) = next.filter(|(_, next)| joins(*next)) else { break };
                        together.push(mark);
                        end = at + mark.len_utf8();
                        chars = ahead;
                    }
                    let composed: String = together.nfc().collect();
                    if composed == together && end - start == together.len() {
                        let each = together.char_indices();
                        units.extend(each.map(|(at, c)| TextUnit {
                            begins: begins + at,
                            start: start + at,
                            end: start + at + c.len_utf8(),
                        }));
                        text.push_str(&together);
                        continue;
                    }
                    text.push_str(&composed);
                }
            }
            units.push(TextUnit { begins, start, end });
        }
        Self { text, units }
    }

    /// All places of a part in the original, overlapping ones too, at most so many (Knuth, Morris and Pratt: in linear time).
    fn find_all(&self, part: &[u8], most: usize) -> Vec<(usize, usize)> {
        let mut borders = vec![0; part.len()];
        let mut matched = 0;
        for at in 1..part.len() {
            while matched > 0 && part[at] != part[matched] {
                matched = borders[matched - 1];
            }
            matched += usize::from(part[at] == part[matched]);
            borders[at] = matched;
        }
        let (mut found, mut matched) = (Vec::new(), 0);
        for (at, byte) in self.text.bytes().enumerate() {
            while matched > 0 && byte != part[matched] {
                matched = borders[matched - 1];
            }
            matched += usize::from(byte == part[matched]);
            if matched < part.len() {
                continue;
            }
            matched = borders[matched - 1];
            found.extend(self.original(at + 1 - part.len(), at + 1));
            if found.len() == most {
                break;
            }
        }
        found
    }

    /// `None` within what is one character of the original.
    fn original(&self, begin: usize, end: usize) -> Option<(usize, usize)> {
        if self.units.is_empty() {
            return Some((begin, end));
        }
        let first = self.units.binary_search_by_key(&begin, |unit| unit.begins).ok()?;
        let next = match end == self.text.len() {
            true => self.units.len(),
            false => self.units.binary_search_by_key(&end, |unit| unit.begins).ok()?,
        };
        Some((self.units[first].start, self.units[next - 1].end))
    }
}

/// Whether it may become one character with what stands before it.
fn joins(c: char) -> bool {
    !c.is_ascii()
        && (canonical_combining_class(c) != 0
            || is_nfc_quick(std::iter::once(c)) == IsNormalized::Maybe)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str, old: &str, new: &str) -> Result<String, NotReplaced> {
        replace(text, old, new, 100).map(|(text, _)| text)
    }

    #[test]
    fn a_part_is_found_in_every_form_and_the_rest_stays() {
        for (text, old, new, expected) in [
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny", "x\r\ny\r\nc\r\n"),
            ("a\nb\nc\n", "a\r\nb", "x\r\ny\r\nz", "x\ny\nz\nc\n"),
            // Each line keeps its end; what is more has the usual one.
            ("a\r\nb\nc\r\nd\r\n", "a\nb\nc", "1\n2\n3\n4", "1\r\n2\n3\r\n4\r\nd\r\n"),
            ("Cafe\u{301} cre\u{300}me", "Café", "Tea", "Tea cre\u{300}me"),
            ("Café crème", "Cafe\u{301}", "Tea", "Tea crème"),
            ("home\u{200b}city is", "homecity", "town", "town is"),
            ("😀👨‍👩‍👧 x", "x", "y", "😀👨‍👩‍👧 y"),
            ("می‌خواهم x", "میخواهم", "y", "y x"),
            ("one line", "line", "line\r\nand another", "one line\r\nand another"),
            ("a\rb", "a\nb", "c", "c"),
            ("x\u{302} y", "x\u{302}", "z", "z y"),
        ] {
            assert_eq!(replaced(text, old, new).as_deref(), Ok(expected), "{text:?} {old:?}");
        }
        for (text, old) in [
            // Not within a character.
            ("Cafe\u{301}", "Cafe"),
            ("tea", "Tea"),
            ("a\nb", "a\n\nb"),
        ] {
            assert_eq!(replaced(text, old, "x"), Err(NotReplaced::Missing), "{text:?} {old:?}");
        }
        for old in ["", "\u{200b}\u{feff}"] {
            assert_eq!(replaced("a\u{200b}", old, "x"), Err(NotReplaced::Empty));
        }
    }

    #[test]
    fn what_stands_twice_is_not_unique_overlapping_or_in_two_forms() {
        for (text, old, lines) in [
            ("aaa", "aa", vec![1, 1]),
            ("é\r\nx\re\u{301}\n", "é", vec![1, 3]),
            ("a\n\n\n", "\n\n", vec![1, 2]),
            ("tea\ntea\ntea", "tea", vec![1, 2, 3]),
        ] {
            assert_eq!(replaced(text, old, "x"), Err(NotReplaced::NotUnique(lines)), "{text:?}");
        }
        let Err(NotReplaced::NotUnique(lines)) =
            replace(&"a".repeat(1 << 20), &"a".repeat(1 << 19), "", 7)
        else {
            panic!("found once");
        };
        assert_eq!(lines.len(), 7);
        // Many that begin within a character cost no more than few.
        let marked = "\u{958}".repeat(1 << 17);
        let part = "\u{93c}\u{915}".repeat(1 << 16);
        assert_eq!(replaced(&marked, &part, ""), Err(NotReplaced::Missing));
    }

    #[test]
    fn lines_are_inserted_with_the_ends_of_the_text() {
        for (text, after, new, expected) in [
            ("a\r\nb\r\n", 1, "x\ny", "a\r\nx\r\ny\r\nb\r\n"),
            ("a\nb", 0, "x\r\n", "x\na\nb"),
            ("a\nb", 2, "x", "a\nb\nx\n"),
            ("a\r\nb", 2, "x", "a\r\nb\r\nx\r\n"),
            ("", 0, "x\r\ny", "x\r\ny\r\n"),
            // Blank lines are lines.
            ("a\n\n\n", 3, "x\n\n", "a\n\n\nx\n\n"),
            ("a\n\n\n", 1, "\n", "a\n\n\n\n"),
            ("a\r\nb\nc\r\n", 2, "x", "a\r\nb\nx\r\nc\r\n"),
        ] {
            assert_eq!(insert(text, after, new).as_deref(), Ok(expected), "{text:?} {after}");
        }
        for after in [-1, 4, i64::MAX] {
            assert_eq!(insert("a\n\n\n", after, "x"), Err(3));
        }
    }

    #[test]
    fn what_is_appended_stands_behind_a_blank_line() {
        for (text, expected) in [
            ("a", "a\n\nx\ny"),
            ("a\n", "a\n\nx\ny"),
            ("a\n\n\n", "a\n\n\nx\ny"),
            ("a\r\n", "a\r\n\r\nx\r\ny"),
            ("", "x\ny"),
        ] {
            assert_eq!(append(text, "x\ny"), expected, "{text:?}");
        }
    }
}
