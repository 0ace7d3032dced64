//! Which names of a query are speakers in this memory, and what they said.

use std::collections::HashSet;

use crate::embedding::NamedWord;
use crate::memories::passages::terms;
use crate::search::reader::index::{Index, said_by};
use crate::search::reader::seen::SeenSources;

/// How many of the newest memories, and of the newest turns, are checked for speakers.
const NEWEST_MAX: usize = 200;
/// Minimum share: a name speaks, or is a subject, if it has at least one in this many.
const ONE_IN: usize = 10;

/// The names that are speakers of many of the newest sources that are seen.
pub fn speaking(index: &Index, seen: &SeenSources, names: &[NamedWord]) -> Vec<String> {
    let newest = [false, true].map(|is_turn| {
        if seen.counts()[usize::from(is_turn)] == 0 {
            return HashSet::new();
        }
        let by_date = index.by_date(is_turn).iter().rev().copied();
        let newest = by_date.filter(|number| seen.has(index.source(*number)));
        newest.take(NEWEST_MAX).collect::<HashSet<u32>>()
    });
    let speaks = |name: &&NamedWord| {
        let mut said = [0; 2];
        for source in index.sources_with(said_by(&name.word)) {
            let tier = usize::from(index.source(source).is_turn());
            said[tier] += usize::from(newest[tier].contains(&source));
        }
        let is_much =
            |tier: usize| !newest[tier].is_empty() && said[tier] * ONE_IN >= newest[tier].len();
        is_much(0) || is_much(1)
    };
    names.iter().filter(speaks).map(|name| name.word.clone()).collect()
}

/// The names that the memory is about: speakers, and names that many of the sources mention that are seen.
pub fn subjects(
    index: &Index,
    seen: &SeenSources,
    names: &[String],
    speaking: &[String],
) -> Vec<String> {
    let sources: usize = seen.counts().iter().sum();
    let is_about = |name: &&String| {
        speaking.contains(name) || seen.with(index, terms::number(name)).count() * ONE_IN >= sources
    };
    names.iter().filter(is_about).cloned().collect()
}

/// The sources said by one of the speakers, or mentioning one in a text without a speaker.
pub fn of_named(index: &Index, speakers: &[String], sources: &HashSet<u32>) -> HashSet<u32> {
    let mut found = HashSet::new();
    for name in speakers {
        found.extend(index.sources_with(said_by(name)).filter(|s| sources.contains(s)));
        let naming = index.sources_with(terms::number(name));
        found.extend(naming.filter(|s| sources.contains(s) && !index.source(*s).is_said));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memories::speakers::names;
    use crate::search::arms::tests::{ALL, index_of};

    #[test]
    fn who_says_much_of_the_newest_speaks() {
        let mut texts = vec!["Anna: tea".to_owned(), "Ben: tea".to_owned()];
        texts.extend((0..30).map(|n| format!("Anna: {n}")));
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let speaking = |index: &Index, query| {
            let seen = SeenSources::of(index, ALL);
            speaking(index, &seen, &names(query))
        };
        let index = index_of(&texts);
        assert_eq!(speaking(&index, "what did Anna and Ben drink"), ["anna"]);
        assert_eq!(speaking(&Index::default(), "Anna"), [""; 0]);
    }

    #[test]
    fn of_a_speaker_is_what_they_said_and_what_names_them_where_nobody_speaks() {
        let index = index_of(&["Anna: tea", "Ben: Anna drinks tea", "Anna drinks tea", "tea"]);
        let all: HashSet<u32> = (0..4).collect();
        let found = of_named(&index, &["anna".to_owned()], &all);
        assert_eq!(found, HashSet::from([0, 2]));
    }
}
