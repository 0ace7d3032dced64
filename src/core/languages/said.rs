//! How people say something lasting about themselves, what they decided and what is left to do.

use serde::Deserialize;

use super::words::PhraseList;

/// Beginnings of sentences; `*` stands for any words. Where a verb says who speaks, a phrase needs no pronoun; elsewhere it
/// has one, so that what is said of others is left out.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SaidPhrases {
    #[serde(default)]
    pub remember: PhraseList,
    #[serde(default)]
    pub name: PhraseList,
    #[serde(default)]
    pub preferred_name: PhraseList,
    #[serde(default)]
    pub birth: PhraseList,
    #[serde(default)]
    pub birthday: PhraseList,
    #[serde(default)]
    pub pronouns: PhraseList,
    #[serde(default)]
    pub location: PhraseList,
    #[serde(default)]
    pub occupation: PhraseList,
    #[serde(default)]
    pub employer: PhraseList,
    #[serde(default)]
    pub native_language: PhraseList,
    /// Family, allergies.
    #[serde(default)]
    pub profile: PhraseList,
    #[serde(default)]
    pub preferences: PhraseList,
    #[serde(default)]
    pub projects: PhraseList,
    /// Words before which a sentence may begin again, beside a comma.
    #[serde(default)]
    pub joins: PhraseList,
    /// Anywhere in a sentence: it is a question, a condition or holds for a while only.
    #[serde(default)]
    pub passing: PhraseList,
    /// Anywhere in a sentence: it tells a secret.
    #[serde(default)]
    pub secret: PhraseList,
    /// Anywhere in a sentence.
    #[serde(default)]
    pub decided: PhraseList,
    #[serde(default)]
    pub to_do: PhraseList,
    /// What a person has one of at a time, as they say it of themselves, and as notes about them say it (`_of`): where they
    /// live, what they are called, when they were born.
    #[serde(default)]
    pub home: PhraseList,
    #[serde(default)]
    pub home_of: PhraseList,
    #[serde(default)]
    pub named: PhraseList,
    #[serde(default)]
    pub named_of: PhraseList,
    #[serde(default)]
    pub born: PhraseList,
    #[serde(default)]
    pub born_of: PhraseList,
    /// Where somebody may live that is no town, in a script without capitals.
    #[serde(default)]
    pub no_home: PhraseList,
    /// What a note calls the person.
    #[serde(default)]
    pub person: PhraseList,
}

/// What tells whose word a sentence is, and what it says.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnPhrases {
    /// It is not so, or not any more.
    #[serde(default)]
    pub negations: PhraseList,
    /// It is a condition, a wish or a plan.
    #[serde(default)]
    pub supposed: PhraseList,
    /// It is said of somebody else.
    #[serde(default)]
    pub others: PhraseList,
    /// The speaker, as subject.
    #[serde(default)]
    pub speaker: PhraseList,
    /// Beginnings of a question; in scripts without spaces anywhere in it.
    #[serde(default)]
    pub asking: PhraseList,
    /// Before a colon: what follows is pasted.
    #[serde(default)]
    pub pasting: PhraseList,
    /// With one of `pasting` in a sentence: it speaks of a text that stands before or after it.
    pub pasted: PhraseList,
    /// It speaks of a text that stands after it.
    pub follows: PhraseList,
    /// It was so, and need not be so now.
    pub past: PhraseList,
    /// Endings of verbs in the past; of two forms of a verb, only one of which has an ending of a group, one is past.
    #[serde(default)]
    pub past_endings: PhraseList,
    /// What stands before it and after it cannot change places.
    pub compares: PhraseList,
    /// A sentence that the speaker is the subject of names them.
    #[serde(default)]
    pub names_subject: bool,
    /// Two forms of a word, of the speaker and of a note about them, that have no stem in common.
    #[serde(default)]
    pub forms: PhraseList,
    /// What a note calls a name, and a home.
    #[serde(default)]
    pub name_labels: PhraseList,
    #[serde(default)]
    pub home_labels: PhraseList,
}
