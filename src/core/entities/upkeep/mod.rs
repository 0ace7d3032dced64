//! Upkeep of entities, run as a job: withdraws names that rules no longer find, finds new names in older sources regardless of
//! case, and compares new entities with the others. Obvious duplicates are merged; about similar ones the user is asked.

mod store;
mod withdraw;

use std::collections::{HashMap, HashSet};

use time::OffsetDateTime;

use super::EntityError;
use super::decide::merge_in;
use super::model::EntityId;
use crate::db::{Db, UserId};
use crate::languages::Languages;
use crate::memories::mentions::normal::{NameLikeness, likeness, words};
use crate::memories::mentions::{self, FoundBy, FoundName, NamingSource};
use crate::search::Search;
use crate::search::reader::on_a_thread;

/// Limits per step: names, and sources per name.
const NAMES_A_STEP: i64 = 10;
const SOURCES_A_NAME: usize = 2_000;
const SOURCES_AT_ONCE: usize = 200;
/// Limit on the entities that one step compares with all others.
const COMPARED_A_STEP: i64 = 100;
/// Limit on the pairs found per name.
const PAIRS_MAX: usize = 5;
/// A shorter single word is not searched for, because in lower case it could be any word.
const LETTERS_MIN: usize = 4;

/// Given names that are also common words in lower case. Sorted.
const WORDS_TOO: [&str; 42] = [
    "adam", "amber", "april", "art", "august", "bill", "chase", "chuck", "daisy", "dawn", "dean",
    "drew", "faith", "frank", "gene", "grace", "grant", "guy", "heather", "holly", "hope", "iris",
    "ivy", "jack", "jade", "jasmine", "joy", "lily", "mark", "max", "may", "miles", "olive", "pat",
    "pearl", "pierce", "rich", "rob", "rose", "ruby", "sue", "will",
];

/// Users with pending work.
pub async fn users_due(db: &Db) -> Result<Vec<UserId>, sqlx::Error> {
    store::list_users_due(&mut *db.system_connection().await?).await
}

/// Runs a bounded part of the work. Returns how much was done; `None` if nothing is left.
///
/// # Errors
/// Database errors only.
pub async fn step(
    search: &Search,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Option<usize>, sqlx::Error> {
    if let Some(done) = withdraw::step(search.db(), user, now).await? {
        return Ok(Some(done));
    }
    match fill(search, user, now).await? {
        Some(done) => Ok(Some(done)),
        None => compare(search.db(), user, now).await,
    }
}

/// Finds new names in older sources, ignoring case.
async fn fill(
    search: &Search,
    user: UserId,
    now: OffsetDateTime,
) -> Result<Option<usize>, sqlx::Error> {
    let mut tx = search.db().as_user(user).await?;
    let names = store::list_unfilled(&mut tx, user, NAMES_A_STEP).await?;
    tx.commit().await?;
    if names.is_empty() {
        return Ok(None);
    }
    let wanted: Vec<&store::UnsearchedName> =
        names.iter().filter(|n| is_telling(&n.name)).collect();
    let texts: Vec<String> = wanted.iter().map(|n| n.name.clone()).collect();
    let found = search.sources_with_all(user, &texts, SOURCES_A_NAME).await?;
    let mut by_source: HashMap<i64, Vec<&store::UnsearchedName>> = HashMap::new();
    for (name, sources) in wanted.iter().zip(found) {
        for source in sources {
            by_source.entry(source).or_default().push(name);
        }
    }
    let mut sources: Vec<i64> = by_source.keys().copied().collect();
    sources.sort_unstable();
    let mut tx = search.db().as_writer(user).await?;
    for some in sources.chunks(SOURCES_AT_ONCE) {
        let texts = store::list_texts(&mut tx, user, some).await?;
        let of_texts: Vec<(store::SourceText, Vec<String>)> = texts
            .into_iter()
            .map(|text| {
                let names = by_source.get(&text.id).into_iter().flatten();
                let names = names.map(|n| n.name.clone()).collect();
                (text, names)
            })
            .collect();
        let naming = on_a_thread(move || of_texts.iter().map(naming).collect::<Vec<_>>()).await?;
        mentions::write(&mut tx, user, &naming, now).await?;
    }
    let ids: Vec<i64> = names.iter().map(|n| n.id).collect();
    store::note_filled(&mut tx, user, &ids, now).await?;
    super::settings::store::note_full(&mut tx, user).await?;
    tx.commit().await?;
    Ok(Some(names.len()))
}

/// Whether a name is distinctive enough to be found without capitals.
fn is_telling(name: &str) -> bool {
    let words = words(name);
    // Of any language: the texts are in any.
    let is_common = |word: &str| Languages::any().is_common_lexeme(word);
    match words.as_slice() {
        [] => false,
        [one] => {
            one.chars().count() >= LETTERS_MIN
                && !is_common(one)
                && WORDS_TOO.binary_search(&one.as_str()).is_err()
        }
        many => !many.iter().all(|word| is_common(word)),
    }
}

/// The positions of these names in a text, as whole words, ignoring case.
fn naming((text, names): &(store::SourceText, Vec<String>)) -> NamingSource {
    let folded: Vec<(String, usize, usize)> = words_with_places(&text.content);
    let mut named = Vec::new();
    for name in names {
        let wanted = words(name);
        let at = folded
            .windows(wanted.len().max(1))
            .find(|w| w.iter().map(|(word, _, _)| word).eq(wanted.iter()));
        if let Some([first, .., last] | [first @ last]) = at {
            named.push(FoundName {
                name: name.clone(),
                entity_type: mentions::EntityType::Other,
                start: first.1,
                length: last.2 - first.1,
                confidence: 60,
                is_sure: false,
            });
        }
    }
    NamingSource { id: text.id, at: text.created_at, named, by: FoundBy::Known }
}

/// The folded words of a text with their start and end in characters.
fn words_with_places(text: &str) -> Vec<(String, usize, usize)> {
    let mut found = Vec::new();
    let mut word = String::new();
    let mut begins = 0;
    for (at, c) in text.chars().chain([' ']).enumerate() {
        let is_part = c.is_alphanumeric() || unicode_normalization::char::is_combining_mark(c);
        if is_part {
            if word.is_empty() {
                begins = at;
            }
            word.push(c);
        } else if !word.is_empty() {
            let folded = words(&word).concat();
            found.push((folded, begins, at));
            word.clear();
        }
    }
    found
}

/// Compares new entities with all others.
async fn compare(db: &Db, user: UserId, now: OffsetDateTime) -> Result<Option<usize>, sqlx::Error> {
    let mut tx = db.as_user(user).await?;
    let new = store::list_uncompared(&mut tx, user, COMPARED_A_STEP).await?;
    if new.is_empty() {
        return Ok(None);
    }
    let all = store::list_all_names(&mut tx, user).await?;
    tx.commit().await?;
    let of_new: HashSet<i64> = new.iter().copied().collect();
    let found = on_a_thread(move || alike(&of_new, &all)).await?;
    let mut tx = db.as_writer(user).await?;
    let mut gone: HashSet<EntityId> = HashSet::new();
    for (one, other, how) in found {
        if gone.contains(&one) || gone.contains(&other) {
            continue;
        }
        match how {
            PairLikeness::Same => match merge_in(&mut tx, user, (one, other), false, now).await {
                Ok(()) => drop(gone.insert(other)),
                Err(EntityError::Database(error)) => return Err(error),
                // Merged or deleted meanwhile.
                Err(_) => {}
            },
            PairLikeness::Alike(why) => {
                super::decide::store::insert_pair(&mut tx, user, (one, other), why, now).await?
            }
        }
    }
    store::note_compared(&mut tx, user, &new, now).await?;
    super::settings::store::note_full(&mut tx, user).await?;
    tx.commit().await?;
    Ok(Some(new.len()))
}

enum PairLikeness {
    Same,
    Alike(&'static str),
}

/// Pairs that include a new entity; the older entity first.
fn alike(
    new: &HashSet<i64>,
    all: &[store::NameWithEntity],
) -> Vec<(EntityId, EntityId, PairLikeness)> {
    // Per pair, the best match of any of their names.
    let mut found: HashMap<(i64, i64), PairLikeness> = HashMap::new();
    let known: Vec<(&store::NameWithEntity, Vec<String>)> =
        all.iter().map(|name| (name, words(&name.name))).collect();
    for (one, one_words) in known.iter().filter(|(name, _)| new.contains(&name.entity_id)) {
        let mut pairs = 0;
        for (other, other_words) in &known {
            let is_pair =
                other.entity_id != one.entity_id && one.entity_type.may_be(other.entity_type);
            if !is_pair || !may_be_alike(one_words, other_words) {
                continue;
            }
            let (first, second) =
                (one.entity_id.min(other.entity_id), one.entity_id.max(other.entity_id));
            let known_how = found.get(&(first, second));
            if matches!(known_how, Some(PairLikeness::Same)) || one.is_apart_from(other) {
                continue;
            }
            let is_asked_about = known_how.is_some();
            let entity_type = if one.entity_type == mentions::EntityType::Other {
                other.entity_type
            } else {
                one.entity_type
            };
            let how = match likeness(&one.name, &other.name, entity_type) {
                NameLikeness::Different => continue,
                NameLikeness::Same if !one.is_settled && !other.is_settled => PairLikeness::Same,
                NameLikeness::Same => PairLikeness::Alike("spelling"),
                NameLikeness::Alike(why) => PairLikeness::Alike(why.as_str()),
            };
            if matches!(how, PairLikeness::Alike(_)) {
                if is_asked_about || pairs == PAIRS_MAX {
                    continue;
                }
                pairs += 1;
            }
            found.insert((first, second), how);
        }
    }
    let mut found: Vec<_> = found
        .into_iter()
        .map(|((one, other), how)| (EntityId(one), EntityId(other), how))
        .collect();
    found.sort_by_key(|(one, other, how)| (matches!(how, PairLikeness::Alike(_)), *one, *other));
    found
}

/// A cheap filter before the exact comparison.
fn may_be_alike(one: &[String], other: &[String]) -> bool {
    let first = |words: &[String]| words.first().and_then(|w| w.chars().next());
    let length = |words: &[String]| words.iter().map(String::len).sum::<usize>();
    one.iter().any(|word| other.contains(word))
        || first(one).is_some()
            && first(one) == first(other)
            && length(one).abs_diff(length(other)) <= 4
        || one.len() == 1 && other.len() > 2
        || other.len() == 1 && one.len() > 2
        || first(one).zip(first(other)).is_some_and(|(a, b)| a.is_ascii() != b.is_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_small_letters_and_whole() {
        assert!(WORDS_TOO.is_sorted());
        let text = store::SourceText {
            id: 1,
            created_at: OffsetDateTime::UNIX_EPOCH,
            content: "met zoë van-dam; vandamme was not there".to_owned(),
        };
        let found = naming(&(text, vec!["Zoe van Dam".to_owned(), "Damme".to_owned()]));
        let places: Vec<_> = found.named.iter().map(|n| (n.start, n.length)).collect();
        assert_eq!(places, [(4, 11)]);
        assert!(is_telling("Okonkwo") && is_telling("Will Smith"));
        assert!(!is_telling("Mark") && !is_telling("Al") && !is_telling("Will"));
    }
}
