//! What a note calls the person, and what it labels.

use crate::languages::phrases::has_no_borders;
use crate::languages::{self, Language, PhraseList, phrase};

/// A longer label in front of a colon is a clause.
const LABEL_WORDS_MAX: usize = 4;

#[derive(Clone, Copy, PartialEq)]
pub enum Label {
    Name,
    Home,
}

/// A label before a colon, if it means a name or a home, and what it labels.
pub fn label_of(content: &str) -> (Option<Label>, &str) {
    let Some((label, value)) = content.split_once([':', '：']) else {
        return (None, content);
    };
    let label = phrase(&label.replace('_', " "));
    if label.split_whitespace().count() > LABEL_WORDS_MAX || value.trim().is_empty() {
        return (None, content);
    }
    let is_any = |list: &PhraseList| list.iter().any(|one| one == label);
    let found = languages::all().find_map(|(_, language)| {
        let own = &language.own;
        is_any(&own.name_labels)
            .then_some(Label::Name)
            .or_else(|| is_any(&own.home_labels).then_some(Label::Home))
    });
    (found, value)
}

/// Without what a note calls the person: "The user lives in Graz".
pub fn without_person(text: &str) -> String {
    let plain = phrase(text);
    let of_language = |language: &'static Language| {
        let mut names: Vec<&str> = language.said.person.iter().collect();
        names.sort_by_key(|name| std::cmp::Reverse(name.len()));
        names.into_iter().find_map(|name| {
            let rest = plain.strip_prefix(name)?;
            let goes_on = rest.starts_with(char::is_alphanumeric) && !has_no_borders(language);
            (!goes_on).then(|| name.chars().count())
        })
    };
    let Some(skipped) = languages::all().filter_map(|(_, language)| of_language(language)).max()
    else {
        return text.to_owned();
    };
    let rest: String = text.trim_start().chars().skip(skipped).collect();
    rest.strip_prefix("'s").unwrap_or(&rest).trim_start_matches(['は', 'が']).trim().to_owned()
}
