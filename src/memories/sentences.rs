//! Splits text into sentences.

/// Sentences and lines, trimmed.
pub fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let ends = rest.char_indices().find(|(at, c)| {
                let after = rest[at + c.len_utf8()..].chars().next();
                let is_stop = matches!(c, '.' | '!' | '?' | '؟' | '۔' | '।')
                    && after.is_none_or(char::is_whitespace);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_stops_and_lines_and_not_inside_numbers() {
        let all: Vec<&str> =
            sentences("Version 3.5 runs. Really?\nYes\n\n東京。大阪 वह है। हाँ").collect();
        assert_eq!(all, ["Version 3.5 runs.", "Really?", "Yes", "東京。", "大阪 वह है।", "हाँ"]);
    }
}
