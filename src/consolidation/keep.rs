//! What becomes of a fact beside what is known: it is new, it says again what is there,
//! or it takes the place of something older. Where words and vectors cannot tell, a model
//! is asked; where nothing is known, both stay: never are both sides lost.

use std::collections::HashSet;

use super::likeness::{SAME_JACCARD, jaccard, words};
use super::prompt::Relation;
use crate::memories::ItemId;

/// From this cosine on two statements say the same, unless [`may_be_the_same`] says no.
/// By the builtin model; measured with `bench/likeness.py` (docs/consolidation.md).
pub const SAME_COSINE: f64 = 0.90;
/// From this cosine on two statements are about the same: what they say may contradict.
pub const ASK_COSINE: f64 = 0.45;

/// An active item that a fact may have to do with.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub id: ItemId,
    pub theme: String,
    pub key: Option<String>,
    pub content: String,
    /// To the fact's own vector; `None` where there is none.
    pub cosine: Option<f64>,
}

/// What to do with a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is added; an older value of its key is superseded by that.
    Add,
    /// It is known: the item that says so is seen again.
    Merge(ItemId),
    /// It is added, and this item, of another key, gives way to it.
    Supersede(ItemId),
    /// A model must say how it stands to this item; until it does, it is added.
    Ask(ItemId),
}

/// A fact's fate, by key, words and vectors alone.
pub fn fate(theme: &str, key: Option<&str>, value: &str, known: &[Known]) -> Fate {
    let is_same_key =
        |other: &&Known| key.is_some() && other.key.as_deref() == key && other.theme == theme;
    if let Some(other) = known.iter().find(is_same_key) {
        // A short value in other words is another value: Graz, and not Linz.
        return match says_the_same(value, &other.content) {
            true => Fate::Merge(other.id),
            false => Fate::Add,
        };
    }
    let same = known.iter().find(|other| {
        let by_vector = other.cosine.is_some_and(|cosine| cosine >= SAME_COSINE);
        says_the_same(value, &other.content)
            || (by_vector && may_be_the_same(value, &other.content))
    });
    if let Some(other) = same {
        return Fate::Merge(other.id);
    }
    let near = known
        .iter()
        .filter(|other| other.cosine.is_some_and(|c| c >= ASK_COSINE));
    let nearest = near.max_by(|a, b| a.cosine.unwrap_or(0.0).total_cmp(&b.cosine.unwrap_or(0.0)));
    nearest.map_or(Fate::Add, |other| Fate::Ask(other.id))
}

/// What a model's word makes of [`Fate::Ask`].
pub fn answered(asked: ItemId, relation: Relation) -> Fate {
    match relation {
        Relation::Same => Fate::Merge(asked),
        Relation::Contradicts => Fate::Supersede(asked),
        Relation::Unrelated => Fate::Add,
    }
}

/// Nearly the same words, and nothing that tells them apart.
pub fn says_the_same(a: &str, b: &str) -> bool {
    let is_alike = a.trim() == b.trim() || jaccard(&words(a), &words(b)) >= SAME_JACCARD;
    is_alike && may_be_the_same(a, b)
}

/// Words that turn a statement round.
const NEGATIONS: [&str; 10] = [
    "not", "no", "never", "none", "without", "don't", "doesn't", "isn't", "can't", "won't",
];
/// Words on whose two sides it matters what stands.
const COMPARISONS: [&str; 6] = ["over", "than", "to", "before", "after", "instead"];

/// What neither vectors nor sets of words see: another figure (a port, an age), a negation,
/// and which of two things is put before the other.
fn may_be_the_same(a: &str, b: &str) -> bool {
    let (a_said, b_said) = (words(a), words(b));
    let figures = |said: &HashSet<String>| {
        let mut figures: Vec<String> = said
            .iter()
            .filter(|word| word.chars().any(|c| c.is_ascii_digit()))
            .cloned()
            .collect();
        figures.sort_unstable();
        figures
    };
    let is_negated = |said: &HashSet<String>| NEGATIONS.iter().any(|word| said.contains(*word));
    let compares = COMPARISONS.iter().any(|word| a_said.contains(*word));
    figures(&a_said) == figures(&b_said)
        && is_negated(&a_said) == is_negated(&b_said)
        && !(compares && a_said == b_said && in_order(a) != in_order(b))
}

fn in_order(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: i64, key: Option<&str>, content: &str, cosine: f64) -> Known {
        Known {
            id: ItemId(id),
            theme: "profile".to_owned(),
            key: key.map(str::to_owned),
            content: content.to_owned(),
            cosine: Some(cosine),
        }
    }

    fn of(key: &str, value: &str, all: &[Known]) -> Fate {
        fate("profile", Some(key), value, all)
    }

    #[test]
    fn a_fact_like_none_is_added() {
        assert_eq!(of("name", "Anna", &[]), Fate::Add);
        assert_eq!(
            of("name", "Anna", &[known(1, None, "Likes cats", 0.2)]),
            Fate::Add
        );
    }

    #[test]
    fn the_same_words_merge_under_any_key() {
        let all = [known(
            1,
            Some("drink"),
            "Drinks green tea every morning",
            0.3,
        )];
        assert_eq!(
            of("tea", "drinks green tea every morning.", &all),
            Fate::Merge(ItemId(1))
        );
        assert_eq!(
            of("tea", "drinks green tea every day at morning", &all),
            Fate::Add
        );
        assert_eq!(
            of("tea", "drinks tea every morning", &all),
            Fate::Merge(ItemId(1))
        );
    }

    #[test]
    fn the_same_key_with_another_value_is_added_and_supersedes_there() {
        let all = [known(1, Some("location"), "Lives in Graz, Austria", 0.95)];
        assert_eq!(of("location", "Lives in Linz", &all), Fate::Add);
        assert_eq!(
            of("location", "lives in Graz (Austria)", &all),
            Fate::Merge(ItemId(1))
        );
    }

    #[test]
    fn near_by_vector_merges_under_another_key_and_less_near_is_asked() {
        let near = [known(1, Some("drink"), "Is fond of oolong", SAME_COSINE)];
        assert_eq!(
            of("tea", "Enjoys oolong a lot", &near),
            Fate::Merge(ItemId(1))
        );
        let less = [
            known(1, Some("drink"), "Is fond of oolong", ASK_COSINE),
            known(
                2,
                Some("tea_time"),
                "Never drinks oolong",
                SAME_COSINE - 0.01,
            ),
        ];
        assert_eq!(
            of("tea", "Enjoys oolong a lot", &less),
            Fate::Ask(ItemId(2))
        );
        let far = [known(
            1,
            Some("drink"),
            "Is fond of oolong",
            ASK_COSINE - 0.01,
        )];
        assert_eq!(of("tea", "Enjoys oolong a lot", &far), Fate::Add);
    }

    #[test]
    fn another_figure_is_another_fact() {
        let all = [known(
            1,
            Some("db_port"),
            "The database listens on port 5432",
            0.99,
        )];
        assert_eq!(
            of("port", "The database listens on port 5433", &all),
            Fate::Ask(ItemId(1))
        );
    }

    #[test]
    fn a_negation_or_the_other_way_round_is_never_the_same() {
        let all = [known(1, Some("drink"), "Prefers tea over coffee", 0.99)];
        assert_eq!(
            of("tea", "Prefers coffee over tea", &all),
            Fate::Ask(ItemId(1))
        );
        assert_eq!(
            of("tea", "prefers tea over coffee.", &all),
            Fate::Merge(ItemId(1))
        );
        let all = [known(
            1,
            Some("day"),
            "Always deploys the server on Fridays",
            0.95,
        )];
        assert_eq!(
            of("when", "Never deploys the server on Fridays", &all),
            Fate::Ask(ItemId(1))
        );
    }

    #[test]
    fn a_model_decides_what_words_cannot() {
        let id = ItemId(7);
        assert_eq!(answered(id, Relation::Same), Fate::Merge(id));
        assert_eq!(answered(id, Relation::Contradicts), Fate::Supersede(id));
        assert_eq!(answered(id, Relation::Unrelated), Fate::Add);
    }
}
