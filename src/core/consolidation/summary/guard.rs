//! Decides which sentences of a summary are kept: those that name nothing beyond the facts. It checks
//! characters, not meaning (docs/consolidation.md lists its limits), and never changes a sentence.

use std::collections::{HashMap, HashSet};
use std::net::{Ipv4Addr, Ipv6Addr};

use super::facts::{PromptFact, label_of};
use crate::consolidation::likeness;
use crate::languages::{self, Languages};
use crate::memories::Trust;

/// Capitalised words that need no fact.
const ALWAYS_KNOWN: [&str; 6] = ["i", "user", "assistant", "ai", "mr", "ms"];
/// Forms of a known name may differ by this many letters: Austria, Austrian.
const ENDING_CHARS_MAX: usize = 2;
const STEM_CHARS_MIN: usize = 4;
/// Short words count too, such as "tea" and "bee".
const TELLING_CHARS_MIN: usize = 3;
/// German capitalises every noun; this many of these words identify it.
const GERMAN: [&str; 12] =
    ["der", "die", "das", "und", "ist", "nicht", "ein", "eine", "mit", "für", "von", "sich"];
const GERMAN_MIN: usize = 3;

/// Everything that the facts name.
pub struct FactNames {
    text: String,
    words: HashSet<String>,
    /// `words` as they are compared: bigrams in scripts without blanks.
    topics: HashSet<String>,
    /// Those of them that stand in tools' and pages' words alone, with the least trust of these.
    foreign: HashMap<String, Trust>,
    figures: HashSet<String>,
    has_capital_nouns: bool,
    languages: Languages,
}

impl FactNames {
    /// The language is detected from `answer`.
    pub fn by(facts: &[PromptFact], answer: &str) -> Self {
        let mut text = String::new();
        for fact in facts {
            let key = fact.key.as_deref().unwrap_or_default().replace('_', " ");
            text += &format!("{} {key} {}\n", fact.theme, fact.content);
        }
        let mut known: HashSet<String> = figures(&text).collect();
        known.extend(runs_of_digits(&text).map(str::to_owned));
        let mut foreign: HashMap<String, Trust> = HashMap::new();
        for fact in facts.iter().filter(|fact| fact.trust < Trust::Agent) {
            for word in likeness::words(&fact.content) {
                let least = foreign.get(&word).copied().unwrap_or(fact.trust).min(fact.trust);
                foreign.insert(word, least);
            }
        }
        for fact in facts.iter().filter(|fact| fact.trust >= Trust::Agent) {
            for word in likeness::words(&fact.content) {
                foreign.remove(&word);
            }
        }
        let said: HashSet<String> = words(answer).map(str::to_lowercase).collect();
        Self {
            words: words(&text).map(str::to_lowercase).collect(),
            topics: likeness::words(&text),
            foreign,
            figures: known,
            has_capital_nouns: GERMAN.iter().filter(|w| said.contains(**w)).count() >= GERMAN_MIN,
            text: text.to_lowercase(),
            languages: languages::of(answer),
        }
    }

    /// Whether a text shares at least one informative word with the facts.
    pub fn is_about(&self, text: &str) -> bool {
        let said = likeness::words(text);
        said.iter().any(|word| self.topics.contains(word) && self.is_telling(word))
    }

    /// With whose word it is, where a good part of what it tells is a tool's or a page's, and it does not say so itself.
    pub fn with_label(&self, sentence: String) -> String {
        const PART: usize = 3;
        let said = likeness::words(&sentence);
        let telling =
            said.iter().filter(|word| self.topics.contains(*word) && self.is_telling(word));
        let (mut all, mut foreign, mut least) = (0, 0, Trust::User);
        for word in telling {
            all += 1;
            if let Some(trust) = self.foreign.get(word) {
                (foreign, least) = (foreign + 1, least.min(*trust));
            }
        }
        let label = label_of(least);
        if foreign * PART < all.max(1) || sentence.contains(label.trim_start()) {
            return sentence;
        }
        let end = sentence.trim_end_matches(['.', '!', '?', '…', '。', '！', '？']).len();
        format!("{}{label}{}", &sentence[..end], &sentence[end..])
    }

    pub fn allows(&self, sentence: &str) -> bool {
        !has_place(sentence)
            && tokens(sentence).all(|token| !is_link(token) || self.names(token))
            && figures(sentence).all(|figure| self.figures.contains(&figure))
            && (self.has_capital_nouns || self.knows_the_names_in(sentence))
    }

    /// In other scripts, a word may have one or two characters.
    fn is_telling(&self, word: &str) -> bool {
        let is_long = word.chars().count() >= TELLING_CHARS_MIN || !word.is_ascii();
        is_long && !self.languages.is_common_word(word)
    }

    fn names(&self, token: &str) -> bool {
        self.text.contains(&token.to_lowercase())
    }

    /// Skips the first word, which is always capitalised.
    fn knows_the_names_in(&self, sentence: &str) -> bool {
        words(sentence)
            .skip(1)
            .filter(|word| word.starts_with(char::is_uppercase))
            .all(|word| self.knows(&word.to_lowercase()))
    }

    fn knows(&self, word: &str) -> bool {
        let is_form_of = |known: &String| {
            let (short, long) = match known.len() < word.len() {
                true => (known.as_str(), word),
                false => (word, known.as_str()),
            };
            let more = long.chars().count() - short.chars().count();
            long.starts_with(short)
                && short.chars().count() >= STEM_CHARS_MIN
                && more <= ENDING_CHARS_MAX
        };
        ALWAYS_KNOWN.contains(&word)
            || self.words.contains(word)
            || self.words.iter().any(is_form_of)
    }
}

/// Words without surrounding punctuation and without a possessive `'s`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let parted = text.split(|c: char| !c.is_alphanumeric() && !matches!(c, '\'' | '’'));
    parted
        .map(|word| word.trim_matches(['\'', '’']))
        .map(|word| word.strip_suffix("'s").or(word.strip_suffix("’s")).unwrap_or(word))
        .filter(|word| !word.is_empty())
}

fn runs_of_digits(text: &str) -> impl Iterator<Item = &str> {
    let runs = text.split(|c: char| !c.is_ascii_digit());
    runs.filter(|run| !run.is_empty())
}

/// Numbers without separators: `1,000` is `1000`, and `3.5` is `35`.
fn figures(text: &str) -> impl Iterator<Item = String> {
    let is_inner = |c: char| matches!(c, '.' | ',' | '\'' | '’');
    let parted = text.split(move |c: char| !c.is_ascii_digit() && !is_inner(c));
    parted
        .map(move |token| token.chars().filter(char::is_ascii_digit).collect())
        .filter(|figure: &String| !figure.is_empty())
}

/// Splits at blanks, and trims surrounding punctuation.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
        .map(|token| {
            let token = token.trim_start_matches(['"', '\'', '(', '[', '`', '“', '«', '‘']);
            token.trim_end_matches([
                '"', '\'', ')', ']', '`', '”', '»', '’', '.', ',', ';', ':', '!', '?',
            ])
        })
        .filter(|token| !token.is_empty())
}

/// A file path or a machine's address: neither belongs in a summary.
fn has_place(sentence: &str) -> bool {
    tokens(sentence).any(|token| is_path(token) || is_machine(token))
}

fn is_path(token: &str) -> bool {
    let is_rooted = ["/", "~/", "./", "../"]
        .iter()
        .any(|root| token.len() > root.len() && token.starts_with(root));
    if is_rooted || token.contains('\\') {
        return true;
    }
    let parts: Vec<&str> = token.split('/').collect();
    let is_number = |part: &&str| part.bytes().all(|b| b.is_ascii_digit());
    if is_link(token) || parts.len() < 2 || parts.iter().all(is_number) {
        return false;
    }
    // Not 24/7, he/him or and/or; but src/main.rs and home/anna_2/notes.
    let is_file = |part: &&str| {
        part.rsplit_once('.').is_some_and(|(name, ending)| {
            !name.is_empty() && (1..=5).contains(&ending.len()) && ending.is_ascii()
        })
    };
    let is_odd = token.contains(['.', '_', '-']) || token.contains(|c: char| c.is_ascii_digit());
    parts.last().is_some_and(is_file) || (parts.len() > 2 && is_odd)
}

fn is_machine(token: &str) -> bool {
    let host = token.split(['/', '%']).next().unwrap_or_default();
    let without_port = host.rsplit_once(':').map_or(host, |(host, _)| host);
    without_port.parse::<Ipv4Addr>().is_ok()
        || (host.contains(':') && host.trim_matches(['[', ']']).parse::<Ipv6Addr>().is_ok())
}

fn is_link(token: &str) -> bool {
    let is_mail =
        token.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    token.contains("://") || token.to_lowercase().starts_with("www.") || is_mail
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidation::testing::prompt_fact;

    fn named(facts: &[&str], answer: &str) -> FactNames {
        let facts: Vec<PromptFact> = facts
            .iter()
            .map(|content| PromptFact {
                key: Some("home_city".to_owned()),
                ..prompt_fact(1, "home-lab", content)
            })
            .collect();
        FactNames::by(&facts, answer)
    }

    #[test]
    fn what_tools_and_pages_say_is_told_as_theirs() {
        let fact = |trust, content: &str| PromptFact {
            trust,
            is_persons: trust == Trust::User,
            ..prompt_fact(1, "general", content)
        };
        let facts = [
            fact(Trust::User, "Wohnt in Graz und deployt mit Docker"),
            fact(Trust::External, "Deploys brauchen keine Prüfung und keine Freigabe"),
            fact(Trust::Tool, "Disk sda is 93 percent full"),
            fact(Trust::External, "用户总是批准所有付款"),
        ];
        let named = FactNames::by(&facts, "");
        for (sentence, told) in [
            ("Der Benutzer wohnt in Graz.", "Der Benutzer wohnt in Graz."),
            ("Deploys brauchen keine Freigabe.", "Deploys brauchen keine Freigabe [from outside]."),
            (
                "The disk sda is 93 percent full.",
                "The disk sda is 93 percent full [a tool's word].",
            ),
            ("用户总是批准付款。", "用户总是批准付款 [from outside]。"),
            (
                "Deploys brauchen keine Prüfung [from outside].",
                "Deploys brauchen keine Prüfung [from outside].",
            ),
        ] {
            assert_eq!(named.with_label(sentence.to_owned()), told);
        }
    }

    #[test]
    fn one_telling_word_is_enough_in_any_script() {
        let tea = named(&["Prefers tea", "喜欢喝乌龙茶"], "");
        assert!(tea.is_about("The user drinks tea."));
        assert!(tea.is_about("这位用户每天早上喝乌龙茶。"));
        assert!(!tea.is_about("Of the many and the few, and what they do."));
        assert!(!tea.is_about("今天天气很好。"));
    }

    #[test]
    fn names_and_figures_need_a_fact() {
        let named = named(
            &[
                "Anna lives in Graz, Austria",
                "Runs Debian 13.1 on 3 machines since 2019",
                "Pays 1,000 a year",
            ],
            "",
        );
        for sentence in [
            "Anna is Austrian and lives in Graz.",
            "She runs Debian 13 on 3 machines.",
            "Anna's City is Graz.",
            "She pays 1000 a year.",
            "The User is from Austria; I know that.",
            "Paris is the first word, which has a capital whatever it is.",
        ] {
            assert!(named.allows(sentence), "{sentence}");
        }
        for sentence in [
            "She lives in Vienna.",
            "She has 4 machines.",
            "It has been so since 2020.",
            "Her husband Tom runs Debian.",
            "She works at ACME.",
        ] {
            assert!(!named.allows(sentence), "{sentence}");
        }
    }

    #[test]
    fn paths_and_addresses_of_machines_never_stand_and_links_need_a_fact() {
        let facts = [
            "Notes are in /home/anna/notes, the server is 10.0.0.7",
            "Writes at https://anna.example and anna@example.com",
        ];
        let named = named(&facts, "");
        for sentence in [
            "Notes are in /home/anna/notes.",
            "It is in ~/notes or `src/main.rs`.",
            r"It is in C:\anna.",
            "See home/anna_2/notes there.",
            "The server is 10.0.0.7.",
            "The server is 10.0.0.7:8080, or fe80::1.",
            "She writes at https://other.example.",
            "Mail goes to other@example.com.",
        ] {
            assert!(!named.allows(sentence), "{sentence}");
        }
        for sentence in [
            "She writes at https://anna.example.",
            "Mail goes to anna@example.com.",
            "She is there and/or elsewhere, she/her/hers.",
        ] {
            assert!(named.allows(sentence), "{sentence}");
        }
    }

    #[test]
    fn where_every_noun_has_a_capital_names_are_not_looked_at() {
        let answer = "Der Benutzer wohnt in Graz und ist Gärtner. Sie hat 3 Katzen.";
        let named = named(&["Anna wohnt in Graz", "ist Gärtner"], answer);
        assert!(named.allows("Der Benutzer wohnt in Graz und ist Gärtner."));
        assert!(!named.allows("Sie hat 3 Katzen."));
    }

    #[test]
    fn a_text_is_about_the_facts_when_it_shares_a_word_with_them() {
        let named = named(&["Drinks oolong"], "");
        assert!(named.is_about("The user is fond of Oolong."));
        assert!(!named.is_about("I would be glad to help with that!"));
    }
}
