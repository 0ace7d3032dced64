//! What a run of capitalized words is: a person, a place, an organization, a product, or no name.

use std::collections::HashSet;

use super::EntityType;
use super::lists::*;
use super::rules::Sentence;
use super::text::TextWord;
use crate::languages::characters::fold;
use crate::memories::chatter::is_small_talk;
use crate::memories::speakers::LABELS;

impl Sentence<'_, '_> {
    /// The run's type, its confidence, and whether it is certain enough to create an entity.
    pub(super) fn judge(
        &self,
        run: &[TextWord],
        start: usize,
        is_titled: bool,
    ) -> Option<(EntityType, i16, bool)> {
        use EntityType::{Location, Organization, Other, Person, Product, Project};
        if run.len() == 1 && run[0].is_in(&TITLES) {
            return None;
        }
        let (first, last) = (&run[0], &run[run.len() - 1]);
        let whole: String = run.iter().map(|w| w.folded.as_str()).collect();
        let has = |list: &HashSet<&'static str>| run.iter().any(|w| w.is_in(list));
        if run.len() > 1 {
            if LEGAL_FORMS.contains(last.folded.as_str())
                && (last.is_made_up() || last.text.len() > 1)
            {
                return Some((Organization, 95, true));
            }
            if PROJECT_WORDS.contains(first.folded.as_str()) {
                return Some((Project, 90, true));
            }
            if LONG_PLACES.contains(whole.as_str()) {
                return Some((Location, 95, true));
            }
            if run.iter().all(|w| w.is_place() || w.is_in(&PARTICLES)) {
                return Some((Location, 80, true));
            }
        }
        if is_titled {
            return Some((Person, 90, true));
        }
        if self.is_speaker(run, start) {
            return Some((Person, 90, true));
        }
        if run.len() > 1 && has(&ORGANIZATION_WORDS) && (!self.is_german || self.is_known(run)) {
            return Some((Organization, 85, !self.is_title));
        }
        let is_word = first.is_in(&COMMON) || first.is_in(&AMBIGUOUS);
        let is_ambiguous_name = self.is_ambiguous_name(start, start + run.len());
        if first.is_in(&GIVEN_NAMES) && (!first.is_first || !is_word) || is_ambiguous_name {
            let is_place = run.len() == 1 && first.is_place();
            return match run.len() {
                1 if is_place => Some((Other, 60, true)),
                1 if first.is_all_capitals() && first.text.len() < 4 => None,
                1 => Some((Person, 80, true)),
                _ => Some((Person, 95, true)),
            };
        }
        if run.len() == 1 && first.is_place() {
            let is_short = matches!(
                first.folded.as_str(),
                "us" | "uk" | "usa" | "la" | "nice" | "turkey" | "jordan" | "reading"
            );
            return (!is_short
                || first.is_all_capitals()
                || !first.is_first && first.text.len() > 3)
                .then_some((Location, 85, true));
        }
        let is_organization = |w: &TextWord| {
            w.is_in(&ORGANIZATIONS)
                && (w.folded.len() > 4 || w.is_all_capitals() || !w.is_first && !self.is_german)
        };
        if is_organization(first) && (run.len() == 1 || run.iter().all(is_organization)) {
            return Some((Organization, 85, true));
        }
        if run.iter().any(TextWord::is_initial) && run.len() > 1 && last.text.chars().count() > 2 {
            return Some((Person, 90, true));
        }
        if self.is_genitive(run) {
            return Some((Person, 75, true));
        }
        let before = start.checked_sub(1).map(|at| &self.words[at]);
        let is_introduced =
            before.is_some_and(|before| before.is_in(&INTRODUCES) && first.gap == " ");
        if is_introduced && !first.is_in(&COMMON) {
            return Some((Other, 75, true));
        }
        if self.is_german && run.len() == 2 && first.is_in(&GERMAN_PLACES) {
            return Some((Location, 85, true));
        }
        if run.len() == 1 {
            return self.judge_single(first);
        }
        let has_name_particle = run.iter().any(|w| {
            !w.is_capital
                && w.is_in(&PARTICLES)
                && !matches!(w.folded.as_str(), "of" | "y" | "e" | "el" | "am" | "an" | "im")
        });
        if has_name_particle && !self.is_german && !self.is_title {
            return Some((Person, 75, true));
        }
        if run.iter().any(TextWord::is_made_up) {
            return Some((Product, 75, !self.is_title));
        }
        if self.is_title || self.is_german || run.iter().all(TextWord::is_all_capitals) {
            let is_person = self.is_german && run.len() == 2 && last.is_in(&GIVEN_NAMES);
            return Some((if is_person { Person } else { Other }, 40, false));
        }
        match first.is_first {
            true => Some((Other, 60, true)),
            false => Some((Other, 75, true)),
        }
    }

    /// In German a given name with an ending: "Annas Schwester".
    pub(super) fn is_genitive(&self, run: &[TextWord]) -> bool {
        let [word] = run else { return false };
        let stem = word.folded.strip_suffix('s').filter(|_| word.text.ends_with('s'));
        self.is_german
            && !word.is_in(&GIVEN_NAMES)
            && stem.is_some_and(|stem| stem.len() > 2 && GIVEN_NAMES.contains(stem))
    }

    fn judge_single(&self, word: &TextWord) -> Option<(EntityType, i16, bool)> {
        let weak = Some((EntityType::Other, 40, false));
        if word.is_in(&ACRONYMS) || word.is_initial() || word.text.chars().count() < 2 {
            return None;
        }
        if word.is_in(&TITLES) || word.is_in(&LEGAL_FORMS) {
            return None;
        }
        if word.is_all_capitals() {
            return weak;
        }
        if word.is_made_up() {
            let mut inner = word.text.chars().skip(1);
            let is_version = inner.all(|c| c.is_ascii_digit() || c == '.');
            return (!is_version).then_some((EntityType::Product, 80, !self.is_title));
        }
        if self.is_german || self.is_title || self.is_nouns {
            return weak;
        }
        if word.is_first {
            let is_elsewhere = self.capitals_within.contains(word.folded.as_str());
            return match is_elsewhere || word.is_owner {
                true => Some((EntityType::Other, 65, true)),
                false => weak,
            };
        }
        Some((EntityType::Other, 70, true))
    }

    /// In German, a run of nouns is a name only if one of its words is a known name.
    fn is_known(&self, run: &[TextWord]) -> bool {
        run.iter().any(|w| {
            w.is_place() || w.is_in(&GIVEN_NAMES) || w.is_in(&ORGANIZATIONS) || w.is_all_capitals()
        })
    }

    /// Whether a sentence begins after the word, and no list.
    fn speaks_after(&self, at: usize) -> bool {
        let rest = &self.text[self.words[at].range.end..];
        let next = rest.split_whitespace().nth(1).unwrap_or_default();
        next.starts_with(char::is_uppercase) && COMMON.contains(fold(next).as_str())
    }

    /// Whether the run is the speaker at the beginning of a text: "Caroline: I moved".
    fn is_speaker(&self, run: &[TextWord], start: usize) -> bool {
        let (Some(first), Some(last)) = (run.first(), run.last()) else {
            return false;
        };
        let is_label = |w: &TextWord| LABELS.binary_search(&w.folded.as_str()).is_ok();
        // "Understood: …", "Shopping: …" and "Offene Punkte: …" are no speakers.
        let is_somebody = first.is_in(&GIVEN_NAMES)
            || self.capitals_within.contains(first.folded.as_str())
            || run.len() == 1 && self.speaks_after(start) && !is_small_talk(last.text);
        start == 0
            && is_somebody
            && self.text[..first.range.start].trim().is_empty()
            && self.text[last.range.end..].starts_with(": ")
            && !self.words.iter().take(run.len()).any(is_label)
            && !matches!(
                first.folded.as_str(),
                "user" | "assistant" | "system" | "human" | "ai" | "bot" | "agent"
            )
            && !first.is_all_capitals()
            && run.len() <= 3
    }
}
