//! Compares a fact with known items: it is new, a duplicate, or it supersedes an older item. Only equal words
//! merge ([`super::same`]); vectors only choose what a model is asked about. In doubt, both are kept.

use super::comparison::StatementRelation;
use super::same::StatementWords;
use crate::memories::ItemId;

/// Above this cosine two statements are about the same subject and may contradict each other. For the builtin
/// model; measured with `bench/likeness.py` (docs/consolidation.md).
pub const ASK_COSINE: f64 = 0.25;

/// An active item that may be related to a fact.
#[derive(Clone, Debug, PartialEq)]
pub struct RelatedItem {
    pub id: ItemId,
    pub theme: String,
    pub key: Option<String>,
    pub content: String,
    /// Cosine similarity to the fact; `None` if there is no vector.
    pub cosine: Option<f64>,
}

/// What to do with a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Add it; an older value of the same key is superseded by the add.
    Add,
    /// A duplicate: only refresh the existing item.
    Merge(ItemId),
    /// Add it; it supersedes this item, which has another key.
    Supersede(ItemId),
    /// A model must compare it with this item; without an answer it is added.
    Ask(ItemId),
}

/// Decides by key, words and vectors, without a model.
pub fn resolve_fact(
    theme: &str,
    key: Option<&str>,
    value: &str,
    known: &[RelatedItem],
) -> Resolution {
    let said = StatementWords::of(value);
    let is_same_key =
        |other: &&RelatedItem| key.is_some() && other.key.as_deref() == key && other.theme == theme;
    if let Some(other) = known.iter().find(is_same_key) {
        return match said.are_those_of(&StatementWords::of(&other.content)) {
            true => Resolution::Merge(other.id),
            false => Resolution::Add,
        };
    }
    let same =
        known.iter().find(|other| said.say_no_more_than(&StatementWords::of(&other.content)));
    if let Some(other) = same {
        return Resolution::Merge(other.id);
    }
    let near = known.iter().filter(|other| other.cosine.is_some_and(|c| c >= ASK_COSINE));
    let nearest = near.max_by(|a, b| a.cosine.unwrap_or(0.0).total_cmp(&b.cosine.unwrap_or(0.0)));
    nearest.map_or(Resolution::Add, |other| Resolution::Ask(other.id))
}

/// Decides with a model's answer to [`Resolution::Ask`]. A bare value is never merged into that of another key.
pub fn answered(
    asked: ItemId,
    older: &str,
    newer: &str,
    relation: StatementRelation,
) -> Resolution {
    let is_bare = || StatementWords::of(older).is_bare() || StatementWords::of(newer).is_bare();
    match relation {
        StatementRelation::Same if !is_bare() => Resolution::Merge(asked),
        StatementRelation::Contradicts => Resolution::Supersede(asked),
        StatementRelation::Same | StatementRelation::Unrelated => Resolution::Add,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: i64, key: Option<&str>, content: &str, cosine: f64) -> RelatedItem {
        RelatedItem {
            id: ItemId(id),
            theme: "profile".to_owned(),
            key: key.map(str::to_owned),
            content: content.to_owned(),
            cosine: Some(cosine),
        }
    }

    fn of(key: &str, value: &str, all: &[RelatedItem]) -> Resolution {
        resolve_fact("profile", Some(key), value, all)
    }

    #[test]
    fn a_fact_like_none_is_added() {
        assert_eq!(of("name", "Anna", &[]), Resolution::Add);
        assert_eq!(of("name", "Anna", &[known(1, None, "Likes cats", 0.2)]), Resolution::Add);
    }

    #[test]
    fn a_whole_statement_merges_under_any_key() {
        let all = [known(1, Some("drink"), "Drinks green tea every morning", 0.2)];
        for same in ["drinks green tea every morning.", "drinks tea every morning"] {
            assert_eq!(of("tea", same, &all), Resolution::Merge(ItemId(1)), "{same}");
        }
        for other in ["drinks green tea every day at morning", "drinks black tea every morning"] {
            assert_eq!(of("tea", other, &all), Resolution::Add, "{other}");
        }
    }

    #[test]
    fn a_bare_value_never_merges_under_another_key() {
        let all = [known(1, Some("name"), "Anna", 0.99)];
        assert_eq!(of("daughter_name", "Anna", &all), Resolution::Ask(ItemId(1)));
        let said_same = answered(ItemId(1), "Anna", "Anna", StatementRelation::Same);
        assert_eq!(said_same, Resolution::Add);
        assert_eq!(of("name", "anna", &all), Resolution::Merge(ItemId(1)));
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
            assert_eq!(of("key", newer, &all), Resolution::Add, "{newer}");
        }
        let all = [known(1, Some("key"), "Lives in Graz, Austria", 0.95)];
        let again = of("key", "lives in Graz (Austria)", &all);
        assert_eq!(again, Resolution::Merge(ItemId(1)));
    }

    #[test]
    fn of_what_is_near_the_nearest_is_asked_about() {
        let near = [
            known(1, Some("drink"), "Is fond of oolong", ASK_COSINE),
            known(2, Some("tea_time"), "Never drinks oolong", 0.99),
        ];
        let fate = of("tea", "Enjoys oolong a lot", &near);
        assert_eq!(fate, Resolution::Ask(ItemId(2)));
        let far = [known(1, Some("drink"), "Is fond of oolong", ASK_COSINE - 0.01)];
        assert_eq!(of("tea", "Enjoys oolong a lot", &far), Resolution::Add);
    }

    #[test]
    fn a_model_decides_what_words_cannot() {
        let id = ItemId(7);
        let of = |relation| answered(id, "Is fond of oolong", "Enjoys oolong a lot", relation);
        assert_eq!(of(StatementRelation::Same), Resolution::Merge(id));
        assert_eq!(of(StatementRelation::Contradicts), Resolution::Supersede(id));
        assert_eq!(of(StatementRelation::Unrelated), Resolution::Add);
    }
}
