//! What a model answered, read as facts: whatever stands around them, however much of
//! them is broken. A part that cannot be used is counted and never costs the others.

use serde_json::Value;

use crate::memories::provenance::{KEY_CHARS_MAX, SOURCE_CONTEXT_CHARS_MAX};
use crate::memories::{ItemKey, ItemType, Source};

/// Of an answer, this much is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;
/// Places where JSON seemed to begin and did not.
const FALSE_STARTS_MAX: usize = 1_000;
/// Facts of one window; more is a model that ran away, and the rest is counted.
pub const FACTS_MAX: usize = 100;
/// A longer value is a text, and no fact.
pub const VALUE_CHARS_MAX: usize = 2_000;

/// What a fact is about; the theme it goes to has its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Profile,
    Preferences,
    Technical,
    Projects,
    Other,
}

impl Category {
    pub const ALL: [Self; 5] = [
        Self::Profile,
        Self::Preferences,
        Self::Technical,
        Self::Projects,
        Self::Other,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Preferences => "preferences",
            Self::Technical => "technical",
            Self::Projects => "projects",
            Self::Other => "other",
        }
    }

    fn read(text: &str) -> Self {
        let text = text.trim().to_lowercase();
        let known = Self::ALL.into_iter().find(|c| c.as_str() == text);
        known.unwrap_or(Self::Other)
    }

    /// Never an instruction: what was said in a conversation commands nobody.
    pub fn item_type(self) -> ItemType {
        match self {
            Self::Preferences => ItemType::Preference,
            _ => ItemType::Fact,
        }
    }
}

/// Where a fact comes from, as the model says; whatever else it says is conversation.
const SOURCES: [Source; 4] = [
    Source::Conversation,
    Source::ToolCall,
    Source::AutoDiscovery,
    Source::UserExplicit,
];

pub fn source_names() -> [&'static str; 4] {
    SOURCES.map(Source::as_str)
}

fn read_source(text: &str) -> Source {
    let text = text.trim().to_lowercase();
    let known = SOURCES.into_iter().find(|s| s.as_str() == text);
    known.unwrap_or(Source::Conversation)
}

/// 0 to 100 (Navi's mapping). Surer of the user's own words than an agent's say-so is:
/// here they have been read.
pub fn confidence(source: Source) -> i16 {
    match source {
        Source::UserExplicit => 90,
        other => other.confidence(),
    }
}

/// One statement about the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub category: Category,
    pub key: ItemKey,
    pub value: String,
    pub source: Source,
    /// The words it comes from, as the model repeats them; may be empty.
    pub context: String,
}

/// What an answer held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub facts: Vec<Fact>,
    /// Parts that were meant as facts and cannot be used.
    pub malformed: usize,
}

/// The answer holds nothing that could be read: neither facts nor an empty list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model answered something else than a list of facts")]
pub struct Nonsense;

/// Reads what a model answered. A list in prose, an object around it, half a list: what
/// is whole counts.
pub fn read(text: &str) -> Result<Answer, Nonsense> {
    let mut end = text.len().min(ANSWER_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    let mut answer = Answer::default();
    let mut is_list = false;
    let mut false_starts = 0;
    let mut at = 0;
    while let Some(start) = text[at..].find(['{', '[']).map(|n| at + n) {
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                is_list |= take(value, &mut answer);
            }
            _ if false_starts == FALSE_STARTS_MAX => break,
            _ => {
                // An object that breaks off was meant as a fact; a list's are inside it.
                if text[start..].starts_with("{\"category\"")
                    || text[start..].starts_with("{\"key\"")
                {
                    answer.malformed += 1;
                }
                false_starts += 1;
                at = start + 1;
            }
        }
    }
    match is_list || !answer.facts.is_empty() {
        true => Ok(answer),
        false => Err(Nonsense),
    }
}

/// Whether the value was a list, if an empty one, or an object with one.
fn take(value: Value, answer: &mut Answer) -> bool {
    match value {
        Value::Array(values) => {
            let is_list = values.iter().all(Value::is_object);
            for value in values {
                match value {
                    Value::Object(_) => {
                        take(value, answer);
                    }
                    _ => answer.malformed += 1,
                }
            }
            is_list
        }
        Value::Object(mut object) => {
            if let Some(Value::Array(values)) = object.remove("facts") {
                return take(Value::Array(values), answer);
            }
            match fact(&object) {
                Some(fact) if answer.facts.len() < FACTS_MAX => answer.facts.push(fact),
                _ => answer.malformed += 1,
            }
            false
        }
        _ => false,
    }
}

fn fact(object: &serde_json::Map<String, Value>) -> Option<Fact> {
    let text = |name: &str| match object.get(name) {
        Some(Value::String(text)) => Some(text.trim().to_owned()),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Bool(is)) => Some(is.to_string()),
        _ => None,
    };
    let key: String = text("key")?.chars().take(KEY_CHARS_MAX).collect();
    let key = ItemKey::parse(&key).ok().flatten()?;
    let value = text("value").filter(|v| is_fit(v, VALUE_CHARS_MAX))?;
    let context = text("source_context").unwrap_or_default();
    Some(Fact {
        category: Category::read(&text("category").unwrap_or_default()),
        key,
        value,
        source: read_source(&text("source").unwrap_or_default()),
        context: context
            .chars()
            .filter(|c| *c != '\0')
            .take(SOURCE_CONTEXT_CHARS_MAX)
            .collect(),
    })
}

fn is_fit(text: &str, chars_max: usize) -> bool {
    !text.is_empty() && !text.contains('\0') && text.chars().count() <= chars_max
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"category":"profile","key":"name","value":"Anna","source":"user_explicit","source_context":"My name is Anna"}"#;

    fn one() -> Fact {
        Fact {
            category: Category::Profile,
            key: ItemKey::parse("name").expect("valid").expect("a key"),
            value: "Anna".to_owned(),
            source: Source::UserExplicit,
            context: "My name is Anna".to_owned(),
        }
    }

    #[test]
    fn a_list_is_read_whatever_stands_around_it() {
        for text in [
            format!("[{ONE}]"),
            format!("{{\"facts\": [{ONE}]}}"),
            format!("Here [as asked] are the facts:\n```json\n[{ONE}]\n```\nAnything else?"),
            format!("{{ no json }} {ONE}"),
        ] {
            let answer = read(&text).expect("facts");
            assert_eq!(answer.facts, [one()], "{text}");
        }
    }

    #[test]
    fn an_empty_list_is_an_answer_and_prose_is_none() {
        for text in ["[]", "{\"facts\": []}", "Nothing: [ ]", "```json\n[]\n```"] {
            assert_eq!(read(text), Ok(Answer::default()), "{text}");
        }
        for text in [
            "",
            "I found nothing worth keeping.",
            "null",
            "[1, 2",
            "{\"a\": 1}",
            "[1, 2]",
        ] {
            assert_eq!(read(text), Err(Nonsense), "{text}");
        }
    }

    #[test]
    fn half_a_list_gives_its_whole_facts() {
        let answer =
            read(&format!("[{ONE}, {{\"category\":\"profile\",\"key\":\"ci")).expect("facts");
        assert_eq!((answer.facts.len(), answer.malformed), (1, 1));
    }

    #[test]
    fn a_malformed_part_is_counted_and_costs_no_other() {
        let text = format!(
            r#"[{ONE}, 7, "x", {{"key":"","value":"x"}}, {{"key":"a"}}, {{"key":"b","value":["x"]}}, {{"key":"c","value":true}}]"#
        );
        let answer = read(&text).expect("facts");
        assert_eq!(answer.malformed, 5);
        assert_eq!(answer.facts.len(), 2);
        assert_eq!(answer.facts[1].value, "true");
    }

    #[test]
    fn unknown_categories_are_other_and_unknown_sources_conversation() {
        let text = r#"[{"category":"Hobbies","key":"k","value":"v","source":"web"}, {"category":" PROFILE ","key":"k","value":"v","source":"TOOL_CALL"}, {"key":"k","value":"v"}]"#;
        let facts = read(text).expect("facts").facts;
        let read: Vec<_> = facts.iter().map(|f| (f.category, f.source)).collect();
        assert_eq!(
            read,
            [
                (Category::Other, Source::Conversation),
                (Category::Profile, Source::ToolCall),
                (Category::Other, Source::Conversation)
            ]
        );
    }

    #[test]
    fn five_hundred_facts_are_a_hundred_and_the_rest_is_counted() {
        let many = vec![ONE; 500].join(",");
        let answer = read(&format!("[{many}]")).expect("facts");
        assert_eq!(
            (answer.facts.len(), answer.malformed),
            (FACTS_MAX, 500 - FACTS_MAX)
        );
    }

    #[test]
    fn confidence_follows_the_source() {
        let of = SOURCES.map(confidence);
        assert_eq!(of, [70, 95, 95, 90]);
    }

    #[test]
    fn only_preferences_are_preferences_and_nothing_is_an_instruction() {
        let of = Category::ALL.map(Category::item_type);
        let fact = ItemType::Fact;
        assert_eq!(of, [fact, ItemType::Preference, fact, fact, fact]);
    }

    #[test]
    fn keys_are_brought_to_one_form() {
        let answer = read(r#"[{"key":"Preferred Editor!","value":"v"},{"key":"?","value":"v"}]"#);
        let answer = answer.expect("facts");
        assert_eq!(answer.facts[0].key.as_str(), "preferred_editor");
        assert_eq!((answer.facts.len(), answer.malformed), (1, 1));
    }

    #[test]
    fn an_answer_of_brackets_alone_is_read_in_no_time() {
        for text in [
            "{".repeat(ANSWER_BYTES_MAX),
            "[".repeat(ANSWER_BYTES_MAX),
            "{\"a\":".repeat(20_000),
        ] {
            assert_eq!(read(&text), Err(Nonsense));
        }
    }
}
