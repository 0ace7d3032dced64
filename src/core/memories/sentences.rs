//! Splits text into sentences.

use crate::languages;

/// Sentences and lines, trimmed.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let ends = rest.char_indices().find(|(at, c)| {
                let after = rest[at + c.len_utf8()..].chars().next();
                let is_stop = matches!(c, '.' | '!' | '?' | '؟' | '۔' | '।')
                    && after.is_none_or(char::is_whitespace)
                    && !(*c == '.' && is_ordinal(&rest[..*at], &rest[at + 1..]));
                is_stop || matches!(c, '\n' | '。' | '！' | '？')
            });
            let end = ends.map_or(rest.len(), |(at, c)| at + c.len_utf8());
            let (sentence, after) = rest.split_at(end);
            rest = after;
            if !sentence.trim().is_empty() {
                return Some(sentence.trim());
            }
        }
        None
    })
}

/// Whether a stop between these belongs to a date: "3. Mai".
pub fn is_ordinal(before: &str, after: &str) -> bool {
    let digits = before.bytes().rev().take_while(u8::is_ascii_digit).count();
    let next = after.trim_start_matches([' ', '\u{a0}']);
    let next = next.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    (1..=2).contains(&digits) && languages::is_month(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_stops_and_lines_and_not_inside_numbers() {
        let all: Vec<&str> =
            sentences("Version 3.5 runs. Really?\nYes\n\n東京。大阪 वह है। हाँ").collect();
        let days: Vec<&str> = sentences("Am 3. Mai bin ich 34. May I go?").collect();
        assert_eq!(days, ["Am 3. Mai bin ich 34.", "May I go?"]);
        assert_eq!(all, ["Version 3.5 runs.", "Really?", "Yes", "東京。", "大阪 वह है।", "हाँ"]);
    }
}
