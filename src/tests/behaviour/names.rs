//! Which names are found in 320 sentences of four languages, written by someone who had not read the rules.

use std::collections::{BTreeMap, BTreeSet};

use keepsake::memories::mentions::{self, EntityType, FoundName};
use serde::Deserialize;

#[derive(Deserialize)]
struct Sentences {
    sentence: Vec<Sentence>,
}

#[derive(Deserialize)]
struct Sentence {
    language: String,
    text: String,
    names: Vec<String>,
}

/// Dates, addresses and numbers are entities by their form, and no names.
fn is_name(found: &&FoundName) -> bool {
    let by_form = [EntityType::Date, EntityType::Email, EntityType::Url];
    found.is_sure && !by_form.contains(&found.entity_type) && !found.name.contains("-4")
}

/// "Project Bluefin" is called Bluefin.
fn without_kind(name: &str) -> &str {
    let kinds = ["Project ", "Projekt ", "Proyecto ", "Projet "];
    kinds.iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name)
}

#[test]
fn names_are_found_and_other_words_are_not() {
    let all: Sentences = toml::from_str(include_str!("names.toml")).unwrap();
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    let mut wrong = Vec::new();
    for sentence in &all.sentence {
        let found = mentions::find(&sentence.text);
        let found: BTreeSet<&str> =
            found.iter().filter(is_name).map(|one| without_kind(&one.name)).collect();
        let is_right = |one: &&&str| {
            // In German a name has an ending: "Annas Schwester".
            let is_it = |name: &String| name == **one || name.strip_suffix('s') == Some(**one);
            sentence.names.iter().any(is_it)
        };
        let right = found.iter().filter(is_right).count();
        for language in ["all", &sentence.language] {
            let of = counts.entry(language).or_default();
            let more = [right, found.len(), sentence.names.len()];
            of.iter_mut().zip(more).for_each(|(count, more)| *count += more);
        }
        if found.len() != right || right != sentence.names.len() {
            wrong.push(format!(
                "{}: {} | {found:?} | {:?}",
                sentence.language, sentence.text, sentence.names
            ));
        }
    }
    println!("{}", wrong.join("\n"));
    let share = |of: usize, all: usize| of as f64 / all as f64;
    let measured = counts.into_iter().map(|(language, [right, found, named])| {
        (language, share(right, found), share(right, named))
    });
    let measured: Vec<_> = measured.collect();
    println!("precision and recall: {measured:.2?}");
    let (_, precision, recall) = measured.iter().find(|(language, ..)| *language == "all").unwrap();
    assert!(*precision >= 0.92 && *recall >= 0.75, "{measured:.2?}");
}
