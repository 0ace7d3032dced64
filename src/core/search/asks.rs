//! What a long text asks. One vector of a whole letter is near nothing that a sentence of it asks for, and its words drown
//! those of the question: a long text is asked as a whole, and by its questions and last sentences.

use super::query::WHOLE_CHARS_MAX;
use crate::languages::is_dense;
use crate::memories::chatter;
use crate::memories::sentences::sentences;

/// Shorter texts are asked as a whole only; of a script without blanks, a third of it.
const LONG_CHARS: usize = 160;
/// Limit of a part.
const PART_CHARS: usize = 300;
/// The last ones count.
const QUESTIONS_MAX: usize = 2;
/// A shorter question ("And when?") is asked with the sentence before it.
const QUESTION_CHARS: usize = 20;

/// Whether it is asked by its parts, too.
pub fn is_long(text: &str) -> bool {
    length(text) > LONG_CHARS
}

/// The end of a long text, where the question usually is.
pub fn whole_of(text: &str) -> &str {
    end_of(text, WHOLE_CHARS_MAX)
}

/// The whole text, or its end, and the parts of it that ask; at most four, without repetitions.
pub fn asks(text: &str) -> Vec<String> {
    let mut asks = vec![whole_of(text).to_owned()];
    if !is_long(text) {
        return asks;
    }
    let all: Vec<&str> = sentences(text).collect();
    let questions = (0..all.len()).rev().filter(|at| is_question(all[*at]));
    let mut parts: Vec<std::ops::RangeInclusive<usize>> = questions
        .take(QUESTIONS_MAX)
        .map(|at| match length(all[at]) < QUESTION_CHARS {
            true => at.saturating_sub(1)..=at,
            false => at..=at,
        })
        .collect();
    if let Some(last) = all.len().checked_sub(1).filter(|last| *last > 0) {
        parts.push(last - 1..=last);
    }
    for part in parts {
        let part = all[part].join(" ");
        let part = end_of(&part, PART_CHARS);
        if !asks.iter().any(|known| known == part) {
            asks.push(part.to_owned());
        }
    }
    asks
}

/// In characters; of a script without blanks, one says what three do.
fn length(text: &str) -> usize {
    text.chars().map(|c| if is_dense(c) { 3 } else { 1 }).sum()
}

/// A sentence that asks, and no line of code.
fn is_question(sentence: &str) -> bool {
    let is_code = sentence.contains(['{', '}', '=', '&', '<', '>', '|']) || sentence.contains("::");
    let has_words = sentence.split_whitespace().nth(1).is_some() || sentence.contains(is_dense);
    !is_code && has_words && chatter::is_question(sentence) && !sentence.ends_with(")?")
}

fn end_of(text: &str, chars: usize) -> &str {
    let first = text.char_indices().rev().nth(chars - 1);
    first.map_or(text, |(at, _)| &text[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    const STORY: &str = "We walked along the river for hours and talked about the old days. The ferry was late again, and the rain came down in sheets. \
        In the evening we sat in the kitchen and drank tea until the fire went out.";

    fn parts(text: &str) -> Vec<String> {
        asks(text).split_off(1)
    }

    #[test]
    fn a_short_text_is_asked_as_a_whole() {
        let text = "I bake a cake. What should I leave out?";
        assert_eq!(asks(text), [text]);
        assert!(parts("我今天要烤一个蛋糕。我应该不放什么？").is_empty());
    }

    #[test]
    fn of_a_long_text_its_questions_and_its_end_are_asked() {
        let last = "In the evening we sat in the kitchen and drank tea until the fire went out.";
        for question in [
            "When does the ferry to Bergen leave?",
            "¿A qué hora sale el barco?",
            "去卑尔根的船几点开？",
        ] {
            let found = parts(&format!("{question} {STORY}"));
            assert!(
                found.len() == 2 && found[0] == question && found[1].ends_with(last),
                "{found:?}"
            );
            let found = parts(&format!("{STORY} {question}"));
            assert_eq!(found[0], question);
            assert!(found[1].ends_with(question), "{found:?}");
        }
        let found = parts(&format!("{STORY} We take the ferry to Bergen. And when?"));
        assert_eq!(found[0], "We take the ferry to Bergen. And when?");
        let many = format!("{STORY} Who came? {STORY} Where was Anna sleeping? {STORY}");
        assert_eq!(parts(&many).len(), 3);
        assert!(
            asks(&"word ".repeat(2_000)).iter().all(|ask| ask.chars().count() <= WHOLE_CHARS_MAX)
        );
    }

    #[test]
    fn a_line_of_code_asks_nothing() {
        for code in [
            "let rows = query.fetch_all(&mut tx).await?",
            "let x = y?;",
            "SELECT a ? b",
            "foo(bar)?",
        ] {
            assert!(!is_question(code), "{code}");
        }
        for question in
            ["Where is it?", "Wo wohnt „Anna“?", "どこですか。", "(Who is she?)", "Πού μένω εγώ;"]
        {
            assert!(is_question(question), "{question}");
        }
    }
}
