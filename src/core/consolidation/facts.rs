//! Parses a model's answer as facts, whatever surrounds them and however malformed parts of it are. An
//! unusable part is counted and does not affect the others.

use serde_json::Value;

use super::category::Category;
use crate::memories::provenance::{KEY_CHARS_MAX, SOURCE_CONTEXT_CHARS_MAX};
use crate::memories::{ItemKey, ItemSource, Period};
use crate::providers::chat::is_of_text;

/// Only this much of an answer is read, in bytes.
const ANSWER_BYTES_MAX: usize = 64 * 1_024;
/// Maximum positions that look like the start of JSON but are not.
const FALSE_STARTS_MAX: usize = 1_000;
/// Maximum nesting of lists in objects and of JSON in strings.
const DEPTH_MAX: usize = 4;
/// Maximum facts per window; more means a runaway model, and the rest is counted as malformed.
pub const FACTS_MAX: usize = 100;
/// A longer value is a text, not a fact.
pub const VALUE_CHARS_MAX: usize = 2_000;

/// The sources that a model may name; anything else counts as `conversation`.
const SOURCES: [ItemSource; 4] = [
    ItemSource::Conversation,
    ItemSource::ToolCall,
    ItemSource::AutoDiscovery,
    ItemSource::UserExplicit,
];

pub fn source_names() -> [&'static str; 4] {
    SOURCES.map(ItemSource::as_str)
}

fn read_source(text: &str) -> ItemSource {
    let text = text.trim().to_lowercase();
    let known = SOURCES.into_iter().find(|s| s.as_str() == text);
    known.unwrap_or(ItemSource::Conversation)
}

/// 0 to 100 (Navi's mapping). Higher for the user's own words than for an agent's claim of them, since here
/// they have been read.
pub fn confidence(source: ItemSource) -> i16 {
    match source {
        ItemSource::UserExplicit => 90,
        other => other.confidence(),
    }
}

/// One statement about the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtractedFact {
    pub category: Category,
    pub key: ItemKey,
    pub value: String,
    pub source: ItemSource,
    /// When it is valid, if that was said.
    pub period: Period,
    /// Whether it is of the project that the conversation is about; `None`: the answer does not say.
    pub of_project: Option<bool>,
    /// The words it comes from, as the model quotes them; may be empty.
    pub context: String,
}

/// The content of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FactsAnswer {
    pub facts: Vec<ExtractedFact>,
    /// Parts that look like facts but cannot be used.
    pub malformed: usize,
}

/// The answer holds neither facts nor an empty list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the model answered something else than a list of facts")]
pub struct UnreadableAnswer;

/// Parses a model's answer, after removing its reasoning. Accepts a list in prose, an object around the list,
/// an incomplete list and trailing commas; every complete fact counts.
pub fn read(text: &str) -> Result<FactsAnswer, UnreadableAnswer> {
    let mut end = text.len().min(ANSWER_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = without_thoughts(&text[..end]);
    let mut read = AnswerScan::of(text);
    if read.answer.facts.is_empty() || read.has_broken_off {
        let again = AnswerScan::of(&mended(text));
        if again.answer.facts.len() > read.answer.facts.len() || again.is_list && !read.is_list {
            read = again;
        }
    }
    match !read.answer.facts.is_empty() || read.is_list && !read.has_broken_off {
        true => Ok(read.answer),
        false => Err(UnreadableAnswer),
    }
}

/// Reasoning that models write before the answer; it may contain drafts.
const THOUGHTS: [(&str, &str); 4] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
];

/// The answer after its reasoning; empty if the reasoning never ends. Some servers omit the opening tag. Text
/// that begins as JSON has no reasoning.
pub fn without_thoughts(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, ends)) = THOUGHTS.iter().find(|(begins, _)| rest.starts_with(begins)) {
        rest = match rest.find(ends) {
            Some(at) => rest[at + ends.len()..].trim_start(),
            None => "",
        };
    }
    if rest.starts_with(['{', '[', '`', '"']) {
        return rest;
    }
    for (_, ends) in THOUGHTS {
        if let Some(at) = rest.find(ends) {
            rest = &rest[at + ends.len()..];
        }
    }
    rest
}

/// Removes trailing commas and raw line breaks in strings, which models write but JSON forbids.
fn mended(text: &str) -> String {
    let mut mended = String::with_capacity(text.len());
    let (mut is_string, mut is_escaped, mut comma) = (false, false, None);
    for c in text.chars() {
        if is_string {
            is_string = c != '"' || is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            mended.push(if c.is_control() { ' ' } else { c });
            continue;
        }
        match c {
            ',' => comma = Some(mended.len()),
            ']' | '}' => {
                if let Some(at) = comma.take() {
                    mended.remove(at);
                }
            }
            c if c.is_whitespace() => {}
            c => {
                is_string = c == '"';
                comma = None;
            }
        }
        mended.push(c);
    }
    mended
}

#[derive(Default)]
struct AnswerScan {
    answer: FactsAnswer,
    /// A list of facts was found, even an empty one.
    is_list: bool,
    /// Something that looks like a fact is incomplete.
    has_broken_off: bool,
}

impl AnswerScan {
    fn of(text: &str) -> Self {
        let mut scan = Self::default();
        scan.is_list = scan.within(text, 0);
        scan
    }

    fn within(&mut self, text: &str, depth: usize) -> bool {
        if let Ok(inner) = serde_json::from_str::<String>(text.trim())
            && depth < DEPTH_MAX
        {
            return self.within(&inner, depth + 1);
        }
        let (mut is_list, mut false_starts, mut at) = (false, 0, 0);
        while let Some(start) = text[at..].find(['{', '[']).map(|n| at + n) {
            let rest = &text[start..];
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => {
                    at = start + values.byte_offset();
                    is_list |= self.take(value, depth);
                }
                _ if false_starts == FALSE_STARTS_MAX => break,
                _ => {
                    // An incomplete object was meant as a fact; an incomplete list still contains its
                    // objects.
                    let inner = rest.strip_prefix('{').map(str::trim_start);
                    let is_fact = |inner: &str| {
                        ["\"category\"", "\"key\""].iter().any(|name| inner.starts_with(name))
                    };
                    if inner.is_some_and(is_fact) {
                        self.answer.malformed += 1;
                        self.has_broken_off = true;
                    }
                    false_starts += 1;
                    at = start + 1;
                }
            }
        }
        is_list
    }

    /// True if the value is a list, even an empty one, or contains one.
    fn take(&mut self, value: Value, depth: usize) -> bool {
        match value {
            Value::Array(values) => {
                let is_list = values.iter().all(Value::is_object);
                for value in values {
                    match value {
                        Value::Object(_) => {
                            self.take(value, depth);
                        }
                        _ => self.answer.malformed += 1,
                    }
                }
                is_list
            }
            Value::Object(object) => self.take_object(object, depth),
            Value::String(text) if depth < DEPTH_MAX => self.within(&text, depth + 1),
            _ => false,
        }
    }

    fn take_object(&mut self, mut object: serde_json::Map<String, Value>, depth: usize) -> bool {
        let has = |name: &str| object.contains_key(name);
        let is_fact = has("key") || has("value");
        // Entities are parsed elsewhere (`named.rs`).
        if !is_fact && !has("facts") && ["relation", "name", "entities"].into_iter().any(has) {
            return false;
        }
        let inner = match object.remove("facts") {
            Some(facts) => Some(facts),
            // The list under another name.
            None if object.len() == 1 && !is_fact => object.into_values().next(),
            None => match fact(&object) {
                Some(fact) if self.answer.facts.len() < FACTS_MAX => {
                    self.answer.facts.push(fact);
                    return false;
                }
                _ => None,
            },
        };
        match inner {
            Some(inner @ (Value::Array(_) | Value::Object(_) | Value::String(_)))
                if depth < DEPTH_MAX =>
            {
                self.take(inner, depth + 1)
            }
            _ => {
                self.answer.malformed += 1;
                false
            }
        }
    }
}

fn fact(object: &serde_json::Map<String, Value>) -> Option<ExtractedFact> {
    let text = |name: &str| match object.get(name) {
        Some(Value::String(text)) => Some(clean(text)),
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::Bool(is)) => Some(is.to_string()),
        _ => None,
    };
    let key: String = text("key")?.chars().take(KEY_CHARS_MAX).collect();
    let key = ItemKey::parse(&key).ok().flatten()?;
    let value = text("value").filter(|v| (1..=VALUE_CHARS_MAX).contains(&v.chars().count()))?;
    if key.as_str() == "key" && value == "value" {
        // The template of the prompt, unfilled.
        return None;
    }
    let context = text("source_context").unwrap_or_default();
    Some(ExtractedFact {
        category: Category::read(&text("category").unwrap_or_default()),
        key,
        value,
        source: read_source(&text("source").unwrap_or_default()),
        period: Period::read(text("valid_from"), text("valid_until")),
        of_project: object.get("of_project").and_then(Value::as_bool),
        context: context.chars().take(SOURCE_CONTEXT_CHARS_MAX).collect(),
    })
}

/// A string of an answer's JSON without escaped control characters, except newline and tab, and trimmed.
pub(super) fn clean(text: &str) -> String {
    let text: String = text.chars().filter(|c| is_of_text(*c)).collect();
    text.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Zone;
    use crate::consolidation::testing::extracted;
    use crate::memories::ItemType;

    const ONE: &str = r#"{"category":"profile","key":"name","value":"Anna","source":"user_explicit","source_context":"My name is Anna"}"#;

    fn one() -> ExtractedFact {
        extracted("name", "Anna", "My name is Anna")
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
            assert_eq!(read(text), Ok(FactsAnswer::default()), "{text}");
        }
        for text in ["", "I found nothing worth keeping.", "null", "[1, 2", "{\"a\": 1}", "[1, 2]"]
        {
            assert_eq!(read(text), Err(UnreadableAnswer), "{text}");
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
                (Category::Other, ItemSource::Conversation),
                (Category::Profile, ItemSource::ToolCall),
                (Category::Other, ItemSource::Conversation)
            ]
        );
    }

    #[test]
    fn when_a_fact_is_true_is_read_and_what_is_no_date_is_passed_over() {
        let of = |from: &str, until: &str| {
            let fact = format!(
                r#"[{{"key":"k","value":"v","valid_from":"{from}","valid_until":"{until}"}}]"#
            );
            read(&fact).expect("facts").facts.remove(0).period.told(&Zone::utc())
        };
        assert_eq!(of("2019", ""), "since 2019");
        assert_eq!(of("", "2026-06"), "until June 2026");
        assert_eq!(of("2026", "2019"), "");
    }

    #[test]
    fn five_hundred_facts_are_a_hundred_and_the_rest_is_counted() {
        let many = vec![ONE; 500].join(",");
        let answer = read(&format!("[{many}]")).expect("facts");
        assert_eq!((answer.facts.len(), answer.malformed), (FACTS_MAX, 500 - FACTS_MAX));
    }

    #[test]
    fn confidence_follows_the_source() {
        let of = SOURCES.map(confidence);
        assert_eq!(of, [70, 95, 95, 90]);
    }

    #[test]
    fn only_preferences_are_preferences_and_nothing_is_an_instruction() {
        let of = Category::OF_SESSION.map(Category::item_type);
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
    fn what_a_model_thinks_aloud_is_no_answer() {
        let draft = r#"{"category":"profile","key":"draft","value":"no"}"#;
        for text in [
            format!("<think>Perhaps [{draft}]? No.</think>\n[{ONE}]"),
            format!("Perhaps [{draft}]? No.\n</think>\n\n{{\"facts\": [{ONE}]}}"),
            format!("\n<thinking>[{draft}]</thinking><think>[]</think>```json\n[{ONE}]\n```"),
        ] {
            assert_eq!(read(&text).expect("facts").facts, [one()], "{text}");
        }
        assert_eq!(read(&format!("<think>[{draft}] and")), Err(UnreadableAnswer));
        assert_eq!(read(&format!("<think>[{draft}]</think>[]")), Ok(FactsAnswer::default()));
        // Inside a value it is ordinary text.
        let told = r#"[{"key":"tag","value":"ends a thought with </think> []"}]"#;
        assert_eq!(read_one(told).value, "ends a thought with </think> []");
    }

    #[test]
    fn commas_too_many_and_raw_line_breaks_are_mended() {
        let text = format!("[{},\n]", ONE.replace('}', ",\n}"));
        let answer = read(&text).expect("facts");
        assert_eq!((answer.facts, answer.malformed), (vec![one()], 0));
        let answer = read("{\"facts\": [{\"key\": \"a\", \"value\": \"one,]\ntwo\",},],}");
        assert_eq!(answer.expect("facts").facts[0].value, "one,] two");
    }

    #[test]
    fn json_in_json_is_read() {
        let list = format!("[{ONE}]");
        let quoted = serde_json::to_string(&list).expect("a string");
        for text in [
            quoted.clone(),
            format!("{{\"facts\": {quoted}}}"),
            format!("{{\"result\": {{\"facts\": {list}}}}}"),
            format!("{{\"memories\": {list}}}"),
            format!(
                "{{\"arguments\": {}}}",
                serde_json::to_string(&format!("{{\"facts\": {list}}}")).expect("a string")
            ),
        ] {
            assert_eq!(read(&text).expect("facts").facts, [one()], "{text}");
        }
    }

    #[test]
    fn the_form_given_back_is_no_fact() {
        let schema =
            crate::consolidation::prompt::extraction_schema(false, true, false).to_string();
        assert_eq!(read(&schema), Err(UnreadableAnswer));
        let empty = r#"{"facts":[{"category":"category","key":"key","value":"value","source":"source","source_context":"source_context"}]}"#;
        assert_eq!(read(empty).expect("a list").facts, []);
    }

    #[test]
    fn values_are_texts_of_some_length_without_control_characters() {
        let text = format!(
            r#"[{{"key":"a","value":"An\u0000na\u0007 \u001b[1m"}}, {{"key":"b","value":"\u0000"}}, {{"key":"c","value":"{}"}}, {{"key":"имя","value":"Анна"}}, {{"key":7,"value":42,"source_context":null}}]"#,
            "x".repeat(VALUE_CHARS_MAX + 1)
        );
        let answer = read(&text).expect("facts");
        let read: Vec<_> =
            answer.facts.iter().map(|f| (f.key.as_str(), f.value.as_str())).collect();
        assert_eq!(read, [("a", "Anna [1m"), ("имя", "Анна"), ("7", "42")]);
        assert_eq!(answer.malformed, 2);
        // Of duplicate names in one object, the last one counts.
        let twice = read_one(r#"[{"key":"a","key":"b","value":"x","value":"y"}]"#);
        assert_eq!((twice.key.as_str(), twice.value.as_str()), ("b", "y"));
    }

    fn read_one(text: &str) -> ExtractedFact {
        read(text).expect("facts").facts.remove(0)
    }

    #[test]
    fn an_empty_list_within_what_breaks_off_does_not_say_that_there_is_nothing() {
        assert_eq!(read(r#"{"facts": [{"key":"a","value":"likes [] and"#), Err(UnreadableAnswer));
    }

    #[test]
    fn an_answer_of_brackets_alone_is_read_in_no_time() {
        for text in
            ["{".repeat(ANSWER_BYTES_MAX), "[".repeat(ANSWER_BYTES_MAX), "{\"a\":".repeat(20_000)]
        {
            assert_eq!(read(&text), Err(UnreadableAnswer));
        }
    }
}
