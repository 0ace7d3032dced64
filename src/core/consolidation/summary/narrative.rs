//! Parses a model's answer as a narrative: strips what surrounds it, drops sentences that name anything
//! beyond the facts, and cuts it at the end of a sentence. Also wraps a narrative for an agent, between tags
//! that it cannot close.

use super::WORDS_MAX;
use super::facts::PromptFact;
use super::guard::FactNames;
use crate::consolidation::prompt::Prompt;
use crate::consolidation::sentences::sentences;
use crate::languages::phrases::is_unparted;

/// A shorter line of the prompt may occur in an answer by chance.
const RULE_CHARS_MIN: usize = 40;
const PARAGRAPHS_MAX: usize = 4;
/// A single paragraph with this many sentences is split in two.
const PARTED_FROM: usize = 4;
/// Only this many characters of an answer are read.
const ANSWER_CHARS_MAX: usize = 40_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoNarrative {
    #[error("the model answered something else than a summary")]
    SomethingElse,
    #[error(
        "the model answered with names or figures that stand in no memory, and with nothing else"
    )]
    NothingKnown,
}

const THOUGHTS: [&str; 3] = ["think", "thinking", "reasoning"];
/// How refusals begin.
const REFUSALS: [&str; 9] = [
    "i'm sorry",
    "i am sorry",
    "sorry",
    "i cannot",
    "i can't",
    "i can not",
    "i'm unable",
    "i am unable",
    "as an ai",
];
/// How sentences addressed to the reader begin.
const CHATTER: [&str; 7] =
    ["let me know", "i hope", "feel free", "i'd be", "i would be", "here is", "here's"];

/// The narrative in an answer, paragraphs separated by an empty line. `asked` is the prompt, which weak
/// models repeat.
pub fn read(
    answer: &str,
    is_cut_off: bool,
    asked: &Prompt,
    facts: &[PromptFact],
) -> Result<String, NoNarrative> {
    let answer: String = answer.chars().take(ANSWER_CHARS_MAX).collect();
    let answer = without_thoughts(&answer).replace("**", "");
    let plain = answer.trim().to_lowercase().replace('’', "'");
    let lines = asked.system.lines().map(|line| line.trim_start_matches("- "));
    let is_given_back = lines
        .filter(|line| line.chars().count() >= RULE_CHARS_MIN)
        .any(|line| answer.contains(line));
    if plain.starts_with(['{', '['])
        || REFUSALS.iter().any(|refusal| plain.starts_with(refusal))
        || is_given_back
        || answer.contains("<facts>")
    {
        return Err(NoNarrative::SomethingElse);
    }
    let mut paragraphs = paragraphs(&answer, is_cut_off);
    let named = FactNames::by(facts, &answer);
    let all = paragraphs.concat().join(" ");
    if !named.is_about(&all) {
        return Err(NoNarrative::SomethingElse);
    }
    for paragraph in &mut paragraphs {
        paragraph.retain(|sentence| named.allows(sentence));
        let told = std::mem::take(paragraph).into_iter();
        *paragraph = told.map(|sentence| named.with_label(sentence)).collect();
    }
    let text = laid_out(within_words(paragraphs));
    match text.is_empty() {
        true => Err(NoNarrative::NothingKnown),
        false => Ok(text),
    }
}

fn without_thoughts(answer: &str) -> String {
    let mut kept = answer.to_owned();
    for name in THOUGHTS {
        let (begins, ends) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(end) = kept.find(&ends) {
            // Some templates write the opening tag themselves, so that only the end tag is here.
            let start = kept[..end].rfind(&begins).unwrap_or(0);
            kept.replace_range(start..end + ends.len(), "");
        }
        if let Some(start) = kept.find(&begins) {
            kept.truncate(start);
        }
    }
    kept
}

/// Paragraphs of complete sentences, without headings, fences, list markers and sentences addressed to the
/// reader.
fn paragraphs(answer: &str, is_cut_off: bool) -> Vec<Vec<String>> {
    let mut paragraphs = vec![String::new()];
    for line in answer.lines().map(str::trim) {
        if line.is_empty()
            || line.starts_with("```")
            || line.starts_with('#')
            || line.ends_with(':')
        {
            paragraphs.push(String::new());
            continue;
        }
        let line = line.trim_start_matches(['-', '*', '•', '>']).trim_start();
        if let Some(last) = paragraphs.last_mut() {
            last.push_str(line);
            last.push(' ');
        }
    }
    let is_chatter = |sentence: &str| {
        let sentence = sentence.to_lowercase().replace('’', "'");
        CHATTER.iter().any(|chatter| sentence.starts_with(chatter))
    };
    let mut parted: Vec<Vec<String>> = paragraphs
        .iter()
        .map(|paragraph| {
            whole_sentences(paragraph).into_iter().filter(|s| !is_chatter(s)).collect()
        })
        .collect();
    let is_whole = |sentence: &String| {
        sentence
            .trim_end_matches(['"', '\'', '”', '’', ')'])
            .ends_with(['.', '!', '?', '…', '。', '！', '？'])
    };
    let has_whole = parted.iter().flatten().any(is_whole);
    if has_whole || is_cut_off {
        // A bold heading, or a sentence cut off by the token limit.
        parted.iter_mut().for_each(|paragraph| paragraph.retain(is_whole));
    }
    parted.retain(|paragraph| !paragraph.is_empty());
    parted
}

/// A full stop after a title, an initial or `e.g` does not end a sentence.
fn whole_sentences(paragraph: &str) -> Vec<String> {
    const SHORTENED: [&str; 12] =
        ["dr.", "mr.", "mrs.", "ms.", "st.", "prof.", "e.g.", "i.e.", "etc.", "vs.", "no.", "z.b."];
    let mut whole: Vec<String> = Vec::new();
    let mut is_open = false;
    for part in sentences(paragraph) {
        match whole.last_mut() {
            Some(last) if is_open => {
                last.push(' ');
                last.push_str(part);
            }
            _ => whole.push(part.to_owned()),
        }
        let last_word = part.rsplit(char::is_whitespace).next().unwrap_or_default();
        let is_initial = last_word.ends_with('.')
            && last_word.chars().count() == 2
            && last_word.starts_with(char::is_uppercase);
        is_open =
            is_initial || SHORTENED.contains(&last_word.to_lowercase().trim_start_matches('('));
    }
    whole
}

/// Complete sentences of at most [`WORDS_MAX`] words in total.
fn within_words(paragraphs: Vec<Vec<String>>) -> Vec<Vec<String>> {
    let mut words = 0;
    let mut kept = Vec::new();
    for paragraph in paragraphs {
        let fitting = paragraph.iter().take_while(|sentence| {
            words += count_words(sentence);
            words <= WORDS_MAX
        });
        kept.push(fitting.cloned().collect());
    }
    kept.retain(|paragraph: &Vec<String>| !paragraph.is_empty());
    kept
}

/// Counts blank-separated words; in scripts without blanks, two characters count as one.
fn count_words(sentence: &str) -> usize {
    let unparted = sentence.chars().filter(|c| is_unparted(*c)).count();
    sentence.split_whitespace().count() + unparted / 2
}

fn laid_out(mut paragraphs: Vec<Vec<String>>) -> String {
    if paragraphs.len() > PARAGRAPHS_MAX {
        let rest = paragraphs.split_off(PARAGRAPHS_MAX - 1);
        paragraphs.push(rest.concat());
    }
    if let [only] = paragraphs.as_mut_slice()
        && only.len() >= PARTED_FROM
    {
        let second = only.split_off(only.len().div_ceil(2));
        paragraphs.push(second);
    }
    let paragraphs: Vec<String> = paragraphs.iter().map(|p| p.join(" ")).collect();
    paragraphs.join("\n\n")
}

#[cfg(test)]
mod tests {

    use super::super::facts::{RULES, TASK, ask};
    use super::*;
    use crate::consolidation::testing::prompt_fact;

    fn of(answer: &str) -> Result<String, NoNarrative> {
        let facts =
            ["Anna lives in Graz", "Prefers tea over coffee", "Works with Dr. Gruber on bees"];
        let facts = facts.map(|content| prompt_fact(1, "profile", content));
        read(answer, false, &ask(&facts), &facts)
    }

    #[test]
    fn what_stands_around_a_narrative_is_taken_off() {
        for answer in [
            "Anna lives in Graz. She prefers tea.",
            "<think>Anna… who?\n</think>\nAnna lives in Graz. She prefers tea.",
            "Anna is Anna.</think>Anna lives in Graz. She prefers tea.",
            "```\nAnna lives in Graz. She prefers tea.\n```",
            "Here is the summary:\n\n# Anna\n\n**Who**\n\nAnna lives in Graz. She prefers tea.\n\nLet me know what else I can do!",
            "- Anna lives in Graz.\n- She prefers tea.",
        ] {
            assert_eq!(
                of(answer).as_deref(),
                Ok("Anna lives in Graz. She prefers tea."),
                "{answer}"
            );
        }
    }

    #[test]
    fn what_is_no_narrative_is_refused() {
        for answer in [
            "",
            "<think>Anna lives in Graz.",
            "{\"summary\": \"Anna lives in Graz.\"}",
            "[\"Anna lives in Graz.\"]",
            "I'm sorry, but I cannot write about Anna.",
            "As an AI, I do not know Anna.",
            "I would be glad to help you with that!",
            TASK,
            &format!("Anna lives in Graz. {}", RULES[2]),
        ] {
            assert_eq!(of(answer), Err(NoNarrative::SomethingElse), "{answer}");
        }
        assert_eq!(of("Then Anna moved to Paris in 2020."), Err(NoNarrative::NothingKnown));
    }

    #[test]
    fn sentences_with_what_no_fact_names_are_left_out_whole() {
        let answer = "Anna lives in Graz. She has lived there since 2019. She works with Dr. Gruber on bees. Her notes are in ~/bees.";
        assert_eq!(
            of(answer).as_deref(),
            Ok("Anna lives in Graz. She works with Dr. Gruber on bees.")
        );
    }

    #[test]
    fn it_ends_at_a_sentence_within_400_words_and_has_two_to_four_paragraphs() {
        let sentence = "Anna prefers tea over coffee in Graz.";
        let text = of(&[sentence; 100].join(" ")).expect("a narrative");
        let words = text.split_whitespace().count();
        assert!((WORDS_MAX - 7..=WORDS_MAX).contains(&words), "{words}");
        assert!(text.ends_with("Graz.") && text.split("\n\n").count() == 2);
        let text = of(&[sentence; 9].join("\n\n")).expect("a narrative");
        assert_eq!(text.split("\n\n").count(), PARAGRAPHS_MAX);
        assert_eq!(text.matches(sentence).count(), 9);
    }

    #[test]
    fn what_broke_off_in_the_middle_is_left_out() {
        assert_eq!(of("Anna lives in Graz. She prefers te").as_deref(), Ok("Anna lives in Graz."));
        assert_eq!(of("Anna lives in Graz").as_deref(), Ok("Anna lives in Graz"));
    }
}
