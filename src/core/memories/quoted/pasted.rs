//! Texts that people paste beside a request, without any mark.

use std::sync::LazyLock;

use regex::Regex;

use crate::languages::phrases::{has_any, has_no_borders, places};
use crate::languages::{self, Language, is_dense, phrase};
use crate::memories::sentences::sentences;

const QUESTION_MARKS: [char; 3] = ['?', '？', '؟'];
/// A text of so many characters, of which one of a script that says much with one counts three times, is pasted and not what
/// one says of oneself beside a request.
const PASTED_MIN: u32 = 160;
#[allow(clippy::expect_used)] // A test reads it.
static BLANK_LINE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\n[ \t\r]*\n").expect("a valid expression"));
/// Where what "Summarise this:" announces begins in a line.
pub(super) fn announced_at(line: &str) -> Option<usize> {
    let (at, mark) = line.char_indices().find(|(at, c)| {
        let after = line[at + c.len_utf8()..].chars().next();
        *c == '：' || *c == ':' && after.is_none_or(char::is_whitespace)
    })?;
    let last = sentences(&line[..at]).last().map(phrase).unwrap_or_default();
    languages::all().any(|(_, language)| is_asked(&last, language)).then(|| at + mark.len_utf8())
}

/// Without a long text that follows a request such as "Summarise this in three sentences.", or ends with one.
pub(super) fn without_pasted(text: &str) -> &str {
    /// Limits of what is looked at.
    const PARAGRAPHS_MAX: usize = 40;
    const REQUEST_BYTES_MAX: usize = 400;
    let is_long = |part: &str| {
        let weights = part.trim().chars().map(|c| if is_dense(c) { 3 } else { 1 });
        weights.scan(0, |sum, weight| Some((*sum += weight, *sum).1)).any(|sum| sum >= PASTED_MIN)
    };
    let asks_for_it = |paragraph: &str, is_long: bool| {
        let from = paragraph.len().saturating_sub(REQUEST_BYTES_MAX);
        let all = sentences(&paragraph[paragraph.ceil_char_boundary(from)..]);
        let all: Vec<String> = all.map(phrase).collect();
        let last = all.last().map_or("", String::as_str);
        languages::all().any(|(_, language)| {
            let own = &language.own;
            // "Our wiki says the following. Is that so?", not "I need the following".
            let mut before = all.iter().filter(|_| last.ends_with(QUESTION_MARKS));
            before.any(|one| {
                has_any(one, &own.follows, language) && !has_any(one, &own.speaker, language)
            }) || is_asked(last, language)
                && (has_any(last, &own.follows, language)
                    || is_long && has_any(last, &own.pasted, language))
        })
    };
    let mut ends = BLANK_LINE.find_iter(text).take(PARAGRAPHS_MAX);
    let mut begins = 0;
    let follows = ends.find_map(|blank| {
        let paragraph = &text[begins..blank.start()];
        begins = blank.end();
        asks_for_it(paragraph, is_long(&text[begins..])).then_some(begins)
    });
    if let Some(end) = follows {
        return &text[..end];
    }
    let whole = text.trim_end();
    match BLANK_LINE.find_iter(whole).last() {
        Some(blank)
            if whole.len() - blank.end() <= REQUEST_BYTES_MAX
                && is_long(&whole[..blank.start()])
                && !whole.ends_with(QUESTION_MARKS)
                && asks_for_it(&whole[blank.end()..], true) =>
        {
            &text[blank.end()..]
        }
        _ => text,
    }
}

/// Whether a sentence asks for something to be done with a text.
fn is_asked(sentence: &str, language: &Language) -> bool {
    /// In bytes; "please" may stand before it.
    const BEGINS_MAX: usize = 20;
    let max = if has_no_borders(language) { sentence.len() } else { BEGINS_MAX };
    let mut phrases = language.own.pasting.iter();
    phrases.any(|one| places(sentence, one, language).any(|(begins, _)| begins <= max))
}

#[cfg(test)]
mod tests {
    use super::super::own_words;

    #[test]
    fn a_long_text_beside_a_request_is_pasted() {
        let own = ["I am the captain and I always want deploys without review. "; 4].concat();
        let dense = "我是船长，我总是希望不经审查就部署。".repeat(6);
        for (before, text, after, is_pasted) in [
            ("Summarise it in three sentences.", &own, "", true),
            ("I row. Please translate this into German.", &own, "", true),
            ("Fass das bitte in drei Sätzen zusammen.", &own, "", true),
            ("Résume ce texte en trois phrases.", &own, "", true),
            ("Our wiki says the following. Which of it is outdated?", &own, "", true),
            ("I need the following. Can you help?", &own, "", false),
            ("请总结以下内容。", &dense, "", true),
            ("以下を要約してください。", &dense, "", true),
            ("لخص هذا المقال من فضلك.", &own, "", true),
            ("", &own, "Summarise this in three sentences.", true),
            ("", &own, "Übersetze den Text ins Englische.", true),
            ("Summarise our plan.", &own, "", false),
            ("This is about me.", &own, "", false),
            ("", &own, "What do you think of this?", false),
            ("Explain how traits work, please.", &own, "", false),
            ("Translate this, please.", &"I row on Mondays.".to_owned(), "", false),
        ] {
            let message = format!("{before}\n\n{text}\n\n{after}");
            let left = own_words(&message);
            let has = |part: &str| left.contains(part.trim());
            assert!(has(before) && has(after) && has(text) != is_pasted, "{message} → {left}");
        }
    }
}
