//! Finds names by capitalization: runs of capitalized words, judged by position, by the word lists and by language. German
//! nouns and sentence beginnings alone are no names.

use std::collections::HashSet;
use std::ops::Range;

use super::lists::*;
use super::patterns;
use super::text::{
    TextWord, is_german, is_shouted, is_spanish_verb, is_title, joined, sentences, words,
};
use super::{EntityType, FoundName, normal};
use crate::languages;

/// Bytes of a text that are read; an item is shorter.
const TEXT_BYTES_MAX: usize = 128 * 1_024;
/// Limit on the names of one text; a source keeps only the first of them.
const FOUND_MAX: usize = 1_000;
/// Limit on the words of a name.
const WORDS_MAX: usize = 6;

/// The names of a text, in text order.
pub fn find(text: &str) -> Vec<FoundName> {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let by_form = patterns::find(text);
    let mut found: Vec<JudgedName> = Vec::new();
    for f in &by_form {
        if let Some(entity_type) = f.entity_type {
            found.push(JudgedName {
                range: f.range.clone(),
                entity_type,
                confidence: f.confidence,
                is_sure: true,
            });
        }
    }
    let words = words(text, &by_form);
    let languages = languages::of(text);
    let is_german = is_german(&words) || languages.codes().eq(["de"]);
    let is_nouns = !is_german
        && words.len() > 2
        && words.iter().all(|w| w.is_capital && !w.is_in(&GIVEN_NAMES) && !w.is_place());
    let french = words.iter().filter(|w| w.is_in(&FRENCH)).count();
    let is_french = french > 0 && french * 8 >= words.len();
    let within = words.iter().filter(|w| !w.is_first && w.is_capital);
    let capitals_within: HashSet<&str> = within.map(|w| w.folded.as_str()).collect();
    for sentence in sentences(&words) {
        let of = Sentence {
            text,
            words: sentence,
            capitals_within: &capitals_within,
            is_german,
            is_french,
            is_title: is_title(sentence),
            is_nouns,
        };
        if !is_shouted(sentence) {
            of.judge_all(&mut found);
        }
    }
    found.sort_by_key(|f| f.range.start);
    found.truncate(FOUND_MAX);
    with_places(text, found)
}

struct JudgedName {
    range: Range<usize>,
    entity_type: EntityType,
    confidence: i16,
    is_sure: bool,
}

/// Converts byte ranges to character positions.
fn with_places(text: &str, found: Vec<JudgedName>) -> Vec<FoundName> {
    let (mut chars, mut at) = (0, 0);
    let mut names = Vec::with_capacity(found.len());
    for judged in found {
        chars += text[at..judged.range.start].chars().count();
        at = judged.range.start;
        let name = normal::visible(&text[judged.range.clone()]);
        let length = text[judged.range].chars().count();
        if length <= normal::NAME_CHARS_MAX && !name.trim().is_empty() {
            names.push(FoundName {
                name: name.trim().to_owned(),
                entity_type: judged.entity_type,
                start: chars,
                length,
                confidence: judged.confidence,
                is_sure: judged.is_sure,
            });
        }
    }
    names
}

pub(super) struct Sentence<'w, 't> {
    pub(super) text: &'t str,
    pub(super) words: &'w [TextWord<'t>],
    /// The capitalised words of the text that begin no sentence, folded.
    pub(super) capitals_within: &'w HashSet<&'w str>,
    pub(super) is_german: bool,
    pub(super) is_french: bool,
    pub(super) is_title: bool,
    /// A list of words, none of them a known name: "Termine: Friseur, Elternabend".
    pub(super) is_nouns: bool,
}

impl Sentence<'_, '_> {
    fn judge_all(&self, found: &mut Vec<JudgedName>) {
        let mut at = 0;
        while at < self.words.len() {
            let end = self.run_end(at);
            if end == at {
                at += 1;
                continue;
            }
            self.judge_run(at, end, found);
            at = end;
        }
    }

    /// The exclusive end of the run of capitalized words at `start`; `start` if there is none.
    fn run_end(&self, start: usize) -> usize {
        if !self.begins_name(&self.words[start]) {
            return start;
        }
        let mut end = start + 1;
        while end < self.words.len() && self.joins(end) && end - start < WORDS_MAX {
            if self.words[end - 1].is_owner {
                break;
            }
            if self.begins_name(&self.words[end]) || self.is_number_of(end) {
                end += 1;
                continue;
            }
            match self.particles(start, end) {
                0 => break,
                particles => end += particles + 1,
            }
        }
        end
    }

    /// Whether the gap before this word allows it to continue the name.
    fn joins(&self, at: usize) -> bool {
        let (word, last) = (&self.words[at], &self.words[at - 1]);
        matches!(word.gap, " " | "\u{a0}" | "-" | " & ")
            || word.gap == ". " && last.is_saint()
            || matches!(word.gap, " d'" | " d’") && last.is_in(&GIVEN_NAMES)
    }

    /// "iPhone 15", "Ubuntu 22.04": a model or version number, not a year.
    fn is_number_of(&self, at: usize) -> bool {
        let (word, last) = (&self.words[at], &self.words[at - 1]);
        let is_year =
            word.text.len() == 4 && (word.text.starts_with("19") || word.text.starts_with("20"));
        let is_number = word.text.len() <= 5
            && word.text.starts_with(|c: char| c.is_ascii_digit())
            && word.text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
            && !is_year;
        let is_thing = !last.is_in(&COMMON)
            && !last.is_in(&GIVEN_NAMES)
            && !last.is_place()
            && !self.is_german
            && last.text.chars().any(char::is_lowercase);
        is_number && (last.is_made_up() || is_thing)
    }

    /// How many particles of a name follow, with a capitalized word after them: "van der" Berg.
    fn particles(&self, start: usize, end: usize) -> usize {
        let last = &self.words[end - 1];
        let particles = self.words[end..]
            .iter()
            .take(2)
            .enumerate()
            .take_while(|(n, w)| self.joins(end + n) && w.is_in(&PARTICLES) && !w.is_capital)
            .count();
        let after = end + particles;
        let goes_on = after < self.words.len() && self.joins(after) && {
            let word = &self.words[after];
            word.is_capital
                && !word.is_code
                && (!word.is_in(&COMMON) || word.is_in(&GIVEN_NAMES) || word.is_in(&PARTICLES))
        };
        // "Frankfurt am Main", but "Hedwig am Chiemsee".
        let only_of_places = self.words[end..after]
            .iter()
            .any(|w| matches!(w.folded.as_str(), "am" | "an" | "im" | "sur" | "upon"));
        if particles == 0 || !goes_on || only_of_places && !last.is_place() {
            return 0;
        }
        let run = &self.words[start..end];
        let is_of_person = run.iter().any(|w| w.is_in(&GIVEN_NAMES));
        let is_of_organization = last.is_in(&ORGANIZATION_WORDS);
        // "vive en la Clínica Sol de Madrid": the place after "de" is a separate name, unless both are a known place.
        let is_place_of_its_own = self.words[after].is_place()
            && !is_of_organization
            && !LONG_PLACES.contains(joined(&self.words[start..=after]).as_str());
        let is_bare = run.len() == 1
            && last.is_first
            && !is_of_person
            && !is_of_organization
            && !last.is_place();
        let is_german_word = self.is_german
            && self.words[end].is_in(&GERMAN)
            && !is_of_person
            && !is_of_organization;
        match is_place_of_its_own || is_bare || is_german_word {
            true => 0,
            false => particles,
        }
    }

    fn begins_name(&self, word: &TextWord) -> bool {
        let is_brand = || {
            let mut chars = word.text.chars();
            matches!(chars.next(), Some('i' | 'e')) && chars.next().is_some_and(char::is_uppercase)
                || word.text.starts_with("mac") && word.is_made_up()
        };
        !word.is_code && (word.is_capital || is_brand())
    }

    fn judge_run(&self, mut start: usize, mut end: usize, found: &mut Vec<JudgedName>) {
        let mut is_titled = false;
        while start < end && !self.is_whole(start, end) {
            let word = &self.words[start];
            let is_long = end - start > 1;
            let is_title = is_long && (word.is_in(&TITLES) || self.is_french && word.text == "M.");
            let is_name = word.is_in(&GIVEN_NAMES) && !word.is_first
                || self.is_ambiguous_name(start, end)
                || word.is_all_capitals() && word.is_in(&ORGANIZATIONS);
            let is_known =
                |w: &TextWord| w.is_in(&GIVEN_NAMES) || w.is_place() || w.is_in(&ORGANIZATIONS);
            // "Warn Ines", "Usa Spotify"; but "Lake Victoria" is whole.
            let is_word_before_name = end - start == 2
                && !is_known(word)
                && (self.words[start + 1].is_in(&GIVEN_NAMES)
                    || self.words[start + 1].is_in(&ORGANIZATIONS) && !self.is_german)
                && !word.is_made_up();
            let begins = word.is_first
                && is_long
                && (word.is_in(&COMMON) && !self.is_ambiguous_name(start, end)
                    || is_spanish_verb(word)
                    || is_word_before_name);
            if !(is_title || begins || word.is_in(&COMMON) && !is_name) {
                break;
            }
            is_titled |= is_title;
            start += 1;
        }
        if end.saturating_sub(start) == 2 && !self.is_whole(start, end) {
            let word = &self.words[end - 1];
            let may_end = word.is_in(&GIVEN_NAMES) || word.is_place();
            if (word.is_in(&COMMON) || word.is_in(&PARTICLES)) && !may_end {
                end -= 1;
            }
        }
        // A capitalized common word separates two names: "Anna Monday Ben".
        let parts = |at: &usize| {
            let word = &self.words[*at];
            word.is_capital
                && word.is_in(&COMMON)
                && !word.is_in(&GIVEN_NAMES)
                && !word.is_in(&PARTICLES)
                && !word.is_initial()
                && *at + 1 < end
        };
        if start < end
            && !self.is_whole(start, end)
            && let Some(inner) = (start + 1..end).find(parts)
        {
            self.judge_run(start, inner, found);
            return self.judge_run(inner + 1, end, found);
        }
        if start >= end || self.words[start..end].iter().any(|w| w.is_code) {
            return;
        }
        let run = &self.words[start..end];
        // In "Frau Meyer" the title may be the word before the run.
        is_titled |= start > 0
            && run[0].gap.trim_start_matches('.') == " "
            && (self.words[start - 1].is_in(&TITLES)
                || self.is_french && self.words[start - 1].text == "M.");
        if let Some((mut entity_type, confidence, is_sure)) = self.judge(run, start, is_titled) {
            let last = &run[run.len() - 1];
            let is_junior = matches!(last.folded.as_str(), "jr" | "sr");
            let rest = &self.text[last.range.end..];
            let may_go_on = is_junior
                || run.len() > 1 && last.is_in(&LEGAL_FORMS)
                || rest.starts_with(" inc.")
                || rest.starts_with(" S.A.")
                || rest.starts_with(" S.L.");
            let mut ends = last.range.end;
            if may_go_on {
                ends = patterns::legal_end(self.text, ends);
                let has_dot = matches!(last.folded.as_str(), "inc" | "ltd" | "co" | "corp" | "llc");
                if !(has_dot || is_junior) && &self.text[last.range.end..ends] == "." {
                    ends = last.range.end;
                }
                if !is_junior && ends > last.range.end {
                    entity_type = EntityType::Organization;
                }
            }
            if self.is_genitive(run) {
                ends -= 1;
            }
            found.push(JudgedName {
                range: run[0].range.start..ends,
                entity_type,
                confidence,
                is_sure,
            });
        }
    }

    /// At the beginning of a sentence, "Mark", "May" and "Rose" are names if somebody does something, or a surname follows.
    pub(super) fn is_ambiguous_name(&self, start: usize, end: usize) -> bool {
        let word = &self.words[start];
        if !word.is_first || !word.is_in(&AMBIGUOUS) {
            return false;
        }
        let next = self.words.get(start + 1);
        let does = next.is_some_and(|next| next.gap == " " && next.is_in(&DOES));
        let has_surname = end - start == 2 && next.is_some_and(|next| !next.is_in(&COMMON));
        does || has_surname || word.is_owner
    }

    /// Whether the run is one name although it begins with a common word: "New York", "Project Aurora".
    fn is_whole(&self, start: usize, end: usize) -> bool {
        let run = &self.words[start..end];
        run.len() > 1
            && (run[0].is_in(&PROJECT_WORDS) || LONG_PLACES.contains(joined(run).as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sure(text: &str) -> Vec<(String, &'static str)> {
        find(text)
            .into_iter()
            .filter(|n| n.is_sure)
            .map(|n| (n.name, n.entity_type.as_str()))
            .collect()
    }

    fn own(expected: &[(&str, &'static str)]) -> Vec<(String, &'static str)> {
        expected.iter().map(|(n, t)| ((*n).to_owned(), *t)).collect()
    }

    #[test]
    fn names_are_told_from_beginnings_of_sentences() {
        assert_eq!(
            sure("Yesterday Anna moved to Lyon. Honey helps. She met Dr. Okonkwo there."),
            own(&[("Anna", "person"), ("Lyon", "location"), ("Okonkwo", "person")])
        );
        assert_eq!(sure("Call the dentist. Buy milk. OK?"), own(&[]));
        assert_eq!(sure("I LOVE THIS SO MUCH"), own(&[]));
        assert_eq!(sure("Thanks! See you on Monday in English class."), own(&[]));
    }

    #[test]
    fn german_nouns_are_no_names() {
        assert_eq!(
            sure("Der Hund liegt auf dem Sofa in der Küche, und Frau Petersen trinkt Tee."),
            own(&[("Petersen", "person")])
        );
    }

    #[test]
    fn speakers_projects_and_things_are_named() {
        assert_eq!(
            sure("Nadeem: I moved Project Aurora to PostgreSQL on my iPhone 15"),
            own(&[
                ("Nadeem", "person"),
                ("Project Aurora", "project"),
                ("PostgreSQL", "product"),
                ("iPhone 15", "product")
            ])
        );
        assert_eq!(sure("Note: call fetchAll() in src/Main.rs"), own(&[]));
        assert_eq!(
            sure("We saw J. R. R. Tolkien and Vincent van Gogh at ACME GmbH"),
            own(&[
                ("J. R. R. Tolkien", "person"),
                ("Vincent van Gogh", "person"),
                ("ACME GmbH", "organization")
            ])
        );
    }

    #[test]
    fn a_name_may_begin_with_any_letter_and_have_a_capital_inside() {
        for name in ["Ägypten-Reise", "Öko-Strom", "Über-App", "Île-de-France"] {
            for text in [name.to_owned(), format!("We talked about {name} again.")] {
                let found = find(&text);
                assert!(found.iter().any(|n| n.name == name), "{text}: {found:?}");
            }
        }
        // A letter and a version are no name.
        for text in ["We use Ä2.5 now.", "We use V2 now."] {
            assert_eq!(sure(text), own(&[]), "{text}");
        }
    }

    #[test]
    fn places_are_characters_and_hostile_texts_take_no_time() {
        let found = find("Grüße an Zoë");
        let zoe = found.iter().find(|n| n.name == "Zoë").expect("found");
        assert_eq!((zoe.start, zoe.length), (9, 3));
        for text in [
            "A ".repeat(60_000),
            "Aa-".repeat(40_000),
            "\"A".repeat(50_000),
            "@a ".repeat(40_000),
            "ア".repeat(20_000),
        ] {
            assert!(find(&text).len() <= FOUND_MAX);
        }
        let hidden = find("We met An\u{200B}na\u{202E} today");
        assert!(hidden.iter().all(|n| !n.name.contains(['\u{200B}', '\u{202E}'])));
    }
}
