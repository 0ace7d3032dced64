//! What becomes of a fact beside what is known: it is new, it repeats what is there, or it
//! supersedes something older. Words alone merge only what says the same ([`super::same`]);
//! vectors only choose what a model is asked about. Where nothing is known, both stay.

use super::comparison::Relation;
use super::same::Words;
use crate::memories::ItemId;

/// From this cosine on two statements are about the same: what they say may contradict.
/// By the builtin model; measured with `bench/likeness.py` (docs/consolidation.md).
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
    let said = Words::of(value);
    let is_same_key =
        |other: &&Known| key.is_some() && other.key.as_deref() == key && other.theme == theme;
    if let Some(other) = known.iter().find(is_same_key) {
        return match said.are_those_of(&Words::of(&other.content)) {
            true => Fate::Merge(other.id),
            false => Fate::Add,
        };
    }
    let same = known
        .iter()
        .find(|other| said.say_no_more_than(&Words::of(&other.content)));
    if let Some(other) = same {
        return Fate::Merge(other.id);
    }
    let near = known
        .iter()
        .filter(|other| other.cosine.is_some_and(|c| c >= ASK_COSINE));
    let nearest = near.max_by(|a, b| a.cosine.unwrap_or(0.0).total_cmp(&b.cosine.unwrap_or(0.0)));
    nearest.map_or(Fate::Add, |other| Fate::Ask(other.id))
}

/// What a model's answer makes of [`Fate::Ask`], of an older and a newer statement. A bare value
/// is never merged into that of another key.
pub fn answered(asked: ItemId, older: &str, newer: &str, relation: Relation) -> Fate {
    let is_bare = || Words::of(older).is_bare() || Words::of(newer).is_bare();
    match relation {
        Relation::Same if !is_bare() => Fate::Merge(asked),
        Relation::Contradicts => Fate::Supersede(asked),
        Relation::Same | Relation::Unrelated => Fate::Add,
    }
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
    fn a_whole_statement_merges_under_any_key() {
        let all = [known(
            1,
            Some("drink"),
            "Drinks green tea every morning",
            0.3,
        )];
        for same in [
            "drinks green tea every morning.",
            "drinks tea every morning",
        ] {
            assert_eq!(of("tea", same, &all), Fate::Merge(ItemId(1)), "{same}");
        }
        for other in [
            "drinks green tea every day at morning",
            "drinks black tea every morning",
        ] {
            assert_eq!(of("tea", other, &all), Fate::Add, "{other}");
        }
    }

    #[test]
    fn a_bare_value_never_merges_under_another_key() {
        let all = [known(1, Some("name"), "Anna", 0.99)];
        assert_eq!(of("daughter_name", "Anna", &all), Fate::Ask(ItemId(1)));
        let said_same = answered(ItemId(1), "Anna", "Anna", Relation::Same);
        assert_eq!(said_same, Fate::Add);
        assert_eq!(of("name", "anna", &all), Fate::Merge(ItemId(1)));
    }

    #[test]
    fn of_one_key_another_value_is_added_and_supersedes() {
        for (older, newer) in [
            ("Lives in Graz, Austria", "Lives in Linz"),
            (
                "Lives in the old town of Graz, Austria",
                "Lives in the old town of Linz, Austria",
            ),
            (
                "Loves Rust for command line tools and servers",
                "Hates Rust for command line tools and servers",
            ),
            (
                "Isst zu Hause am Abend gern Fleisch",
                "Isst zu Hause am Abend nicht gern Fleisch",
            ),
            ("Drinks green tea every morning", "Drinks tea every morning"),
        ] {
            let all = [known(1, Some("key"), older, 0.99)];
            assert_eq!(of("key", newer, &all), Fate::Add, "{newer}");
        }
        let all = [known(1, Some("key"), "Lives in Graz, Austria", 0.95)];
        let again = of("key", "lives in Graz (Austria)", &all);
        assert_eq!(again, Fate::Merge(ItemId(1)));
    }

    #[test]
    fn of_what_is_near_the_nearest_is_asked_about() {
        let near = [
            known(1, Some("drink"), "Is fond of oolong", ASK_COSINE),
            known(2, Some("tea_time"), "Never drinks oolong", 0.99),
        ];
        let fate = of("tea", "Enjoys oolong a lot", &near);
        assert_eq!(fate, Fate::Ask(ItemId(2)));
        let far = [known(
            1,
            Some("drink"),
            "Is fond of oolong",
            ASK_COSINE - 0.01,
        )];
        assert_eq!(of("tea", "Enjoys oolong a lot", &far), Fate::Add);
    }

    #[test]
    fn a_model_decides_what_words_cannot() {
        let id = ItemId(7);
        let of = |relation| answered(id, "Is fond of oolong", "Enjoys oolong a lot", relation);
        assert_eq!(of(Relation::Same), Fate::Merge(id));
        assert_eq!(of(Relation::Contradicts), Fate::Supersede(id));
        assert_eq!(of(Relation::Unrelated), Fate::Add);
    }
}
