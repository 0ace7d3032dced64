//! Compares a fact with known items: it is new, a duplicate, or it supersedes an older item. Only equal words
//! merge ([`super::same`]); vectors only choose what a model is asked about. In doubt, both are kept.

use time::OffsetDateTime;

use super::comparison::StatementRelation;
use super::exclusive::exclude;
use super::same::StatementWords;
use crate::memories::provenance::key_form;
use crate::memories::{ItemId, Period};

/// Above this cosine two statements are about the same subject and may contradict each other. For the builtin
/// model; measured with `bench/likeness.py` (docs/consolidation.md).
pub const ASK_COSINE: f64 = 0.25;

/// The nearest that a fact is compared with, whatever their keys.
const COMPARED_MAX: usize = 5;

/// An active item that may be related to a fact.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedItem {
    pub id: ItemId,
    pub theme: String,
    pub key: Option<String>,
    pub content: String,
    pub period: Period,
    pub created_at: OffsetDateTime,
    /// Nobody has confirmed it.
    pub is_guess: bool,
    /// Cosine similarity to the fact; `None` if there is no vector.
    pub cosine: Option<f64>,
}

/// A fact to compare.
#[derive(Clone, Copy, Debug)]
pub struct ComparedFact<'a> {
    pub theme: &'a str,
    pub key: Option<&'a str>,
    pub value: &'a str,
    pub period: Period,
}

/// What to do with a fact.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resolution {
    /// It is a duplicate of this item, which is refreshed; `None`: it is added, and an older value of its key is superseded
    /// by the add.
    pub merge: Option<ItemId>,
    /// Items with other keys that it contradicts.
    pub supersede: Vec<ItemId>,
    /// A model must compare it with these; without an answer all are kept.
    pub ask: Vec<ItemId>,
    /// Another value of its key is held: it is added, whatever else says the same.
    has_holder: bool,
}

/// Decides by key, words, vectors and periods, without a model.
pub fn resolve_fact(fact: ComparedFact, known: &[RelatedItem], now: OffsetDateTime) -> Resolution {
    let said = StatementWords::of(fact.value);
    let continues =
        |other: &RelatedItem| other.period.is_continued_by(other.created_at, fact.period, now);
    let meets = |other: &RelatedItem| other.period.meets(fact.period, now);
    let has_its_key = |other: &RelatedItem| {
        fact.key.is_some() && other.key.as_deref().map(key_form) == fact.key.map(key_form)
    };
    let is_of_key = |other: &RelatedItem| has_its_key(other) && other.theme == fact.theme;
    let merge = |other: &RelatedItem| Resolution { merge: Some(other.id), ..Resolution::default() };
    let mut of_key = known.iter().filter(|other| is_of_key(other));
    let is_value = |other: &RelatedItem| said.are_those_of(&StatementWords::of(&other.content));
    if let Some(same) = of_key.clone().find(|other| is_value(other) && continues(other)) {
        return merge(same);
    }
    let has_holder = of_key.any(meets);
    let says_no_more =
        |other: &RelatedItem| said.say_no_more_than(&StatementWords::of(&other.content));
    let mut same = known.iter().filter(|other| says_no_more(other) && continues(other));
    if let Some(same) = same.next().filter(|_| !has_holder) {
        return merge(same);
    }
    let is_near = |other: &&RelatedItem| {
        let is_near = other.cosine.is_some_and(|cosine| cosine >= ASK_COSINE);
        (is_near || has_its_key(other)) && !is_of_key(other) && meets(other)
    };
    let mut near: Vec<&RelatedItem> = known.iter().filter(is_near).collect();
    // First those of its key in other themes.
    let rank =
        |other: &RelatedItem| (u8::from(has_its_key(other)), other.cosine.unwrap_or_default());
    near.sort_by(|a, b| rank(b).0.cmp(&rank(a).0).then(rank(b).1.total_cmp(&rank(a).1)));
    let ask = near.into_iter().take(COMPARED_MAX).map(|other| other.id).collect();
    Resolution { ask, has_holder, ..Resolution::default() }
}

/// Which of these items a fact contradicts, by words alone ([`exclude`]). A key says what a value is about, so that one of
/// another key, or of none, is left alone.
pub fn excluded(fact: ComparedFact, known: &[RelatedItem], now: OffsetDateTime) -> Vec<ItemId> {
    let form = |key: Option<&str>| key.map(key_form);
    let excluded = known.iter().filter(|other| {
        other.period.meets(fact.period, now)
            && form(other.key.as_deref()) == form(fact.key)
            && exclude(fact.value, &other.content, other.theme == fact.theme)
    });
    excluded.map(|other| other.id).collect()
}

impl Resolution {
    /// Takes in a model's answer about one of the items. A bare value is never merged into that of another key.
    pub fn answer(&mut self, asked: &RelatedItem, newer: &str, relation: StatementRelation) {
        let is_bare = |text: &str| StatementWords::of(text).is_bare();
        match relation {
            StatementRelation::Same if !is_bare(&asked.content) && !is_bare(newer) => {
                let merge = self.merge.or(Some(asked.id));
                self.merge = merge.filter(|_| !self.has_holder);
            }
            StatementRelation::Contradicts => self.supersede.push(asked.id),
            StatementRelation::Same | StatementRelation::Unrelated => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    const NOW: OffsetDateTime = datetime!(2026-11-29 12:00 UTC);

    fn known(id: i64, key: Option<&str>, content: &str, cosine: f64) -> RelatedItem {
        RelatedItem {
            id: ItemId(id),
            theme: "profile".to_owned(),
            key: key.map(str::to_owned),
            content: content.to_owned(),
            period: Period::default(),
            created_at: NOW,
            is_guess: false,
            cosine: Some(cosine),
        }
    }

    fn fact<'a>(key: &'a str, value: &'a str) -> ComparedFact<'a> {
        ComparedFact { theme: "profile", key: Some(key), value, period: Period::default() }
    }

    fn of(key: &str, value: &str, all: &[RelatedItem]) -> Resolution {
        resolve_fact(fact(key, value), all, NOW)
    }

    /// Merged with this one, or asked about these.
    fn fate(key: &str, value: &str, all: &[RelatedItem]) -> (Option<i64>, Vec<i64>) {
        let resolution = of(key, value, all);
        (resolution.merge.map(|id| id.0), resolution.ask.iter().map(|id| id.0).collect())
    }

    const ADDED: (Option<i64>, Vec<i64>) = (None, Vec::new());

    #[test]
    fn a_fact_like_none_is_added() {
        assert_eq!(fate("name", "Anna", &[]), ADDED);
        assert_eq!(fate("name", "Anna", &[known(1, None, "Likes cats", 0.2)]), ADDED);
    }

    #[test]
    fn a_whole_statement_merges_under_any_key() {
        let all = [known(1, Some("drink"), "Drinks green tea every morning", 0.2)];
        for same in ["drinks green tea every morning.", "drinks tea every morning"] {
            assert_eq!(fate("tea", same, &all), (Some(1), Vec::new()), "{same}");
        }
        for other in ["drinks green tea every day at morning", "drinks black tea every morning"] {
            assert_eq!(fate("tea", other, &all), ADDED, "{other}");
        }
    }

    #[test]
    fn a_bare_value_never_merges_under_another_key() {
        let all = [known(1, Some("name"), "Anna", 0.99)];
        let mut resolution = of("daughter_name", "Anna", &all);
        assert_eq!(resolution.ask, [ItemId(1)]);
        resolution.answer(&all[0], "Anna", StatementRelation::Same);
        assert_eq!(resolution.merge, None);
        assert_eq!(fate("name", "anna", &all), (Some(1), Vec::new()));
    }

    #[test]
    fn of_one_key_another_value_is_added_and_supersedes() {
        for (older, newer) in [
            ("Lives in Graz, Austria", "Lives in Linz"),
            ("Lives in the old town of Graz, Austria", "Lives in the old town of Linz, Austria"),
            (
                "Loves Rust for command line tools and servers",
                "Hates Rust for command line tools and servers",
            ),
            ("Isst zu Hause am Abend gern Fleisch", "Isst zu Hause am Abend nicht gern Fleisch"),
            ("Drinks green tea every morning", "Drinks tea every morning"),
        ] {
            let all = [known(1, Some("key"), older, 0.99)];
            assert_eq!(fate("key", newer, &all), ADDED, "{newer}");
        }
        let all = [known(1, Some("key"), "Lives in Graz, Austria", 0.95)];
        assert_eq!(fate("key", "lives in Graz (Austria)", &all), (Some(1), Vec::new()));
    }

    #[test]
    fn the_nearest_are_asked_about_also_where_a_value_of_the_key_is_held() {
        let mut near: Vec<RelatedItem> = (2..9)
            .map(|id| known(id, Some("home"), "Lives in Graz, Austria", 0.3 + id as f64 / 20.0))
            .collect();
        near.push(known(1, Some("drink"), "Is fond of oolong", ASK_COSINE - 0.01));
        near.push(known(10, Some("home_city"), "Graz", 0.9));
        assert_eq!(fate("home_city", "Linz", &near), (None, vec![8, 7, 6, 5, 4]));
        let mut resolution = of("home_city", "Lives in Linz, Austria", &near);
        resolution.answer(&near[6], "Lives in Linz, Austria", StatementRelation::Contradicts);
        resolution.answer(&near[5], "Lives in Linz, Austria", StatementRelation::Same);
        assert_eq!((resolution.merge, resolution.supersede), (None, vec![ItemId(8)]));
    }

    #[test]
    fn what_is_over_or_ahead_is_not_compared_with_what_holds() {
        let period =
            |from: i32, until: i32| Period::read(Some(from.to_string()), Some(until.to_string()));
        let held = [known(1, Some("home"), "Lives in the old town of Graz", 0.9)];
        for told in [period(2010, 2015), period(2027, 2030)] {
            for value in ["Lives in the old town of Graz", "Lives in the old town of Linz"] {
                let resolved =
                    resolve_fact(ComparedFact { period: told, ..fact("town", value) }, &held, NOW);
                assert_eq!(resolved, Resolution::default(), "{value}");
            }
        }
    }

    #[test]
    fn a_model_decides_what_words_cannot() {
        let asked = known(7, Some("tea"), "Is fond of oolong", 0.5);
        let of = |relation| {
            let mut resolution = Resolution::default();
            resolution.answer(&asked, "Enjoys oolong a lot", relation);
            (resolution.merge, resolution.supersede)
        };
        assert_eq!(of(StatementRelation::Same), (Some(asked.id), Vec::new()));
        assert_eq!(of(StatementRelation::Contradicts), (None, vec![asked.id]));
        assert_eq!(of(StatementRelation::Unrelated), (None, Vec::new()));
    }
}
