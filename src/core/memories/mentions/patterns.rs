//! Names found by pattern alone: addresses, dates, identifiers, tags, titles in quotation marks.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::EntityType;
use super::lists::COMMON;
use crate::languages::characters::fold;

/// A byte range and its entity type; `None`: a range without names (code).
pub struct PatternMatch {
    pub range: Range<usize>,
    pub entity_type: Option<EntityType>,
    pub confidence: i16,
}

fn regex(pattern: &str) -> Regex {
    #[allow(clippy::expect_used)] // A test reads each of them.
    Regex::new(pattern).expect("a pattern of ours")
}

macro_rules! pattern {
    ($name:ident, $($text:literal)+) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| regex(concat!($($text),+)));
    };
}

pattern!(CODE, r"```[\s\S]*?(?:```|\z)|`[^`\n]+`");
pattern!(URL, r#"(?i)(?-u:\b)(?:https?://|www\.)[^\s<>"'`）」』】]+"#);
pattern!(EMAIL, r"[\p{Latin}0-9._%+\-]+@[\p{Latin}0-9\-]+(?:\.[\p{Latin}0-9\-]+)+");
pattern!(TAG, r"(?:^|[\s(\[,;])(#\p{L}[\p{L}\p{N}_\-]{1,63})");
pattern!(HANDLE, r"(?:^|[\s(\[,;:])(@[\p{Latin}0-9_][\p{Latin}0-9_.\-]{0,38}[\p{Latin}0-9_])");
pattern!(IDENTIFIER, r"(?-u:\b)([A-Z][A-Z0-9]{1,9})-(\d{1,7})(?:-\d{1,7})?(?-u:\b)");
pattern!(
    QUOTED,
    r#""([^"\n]{2,80})"|“([^”“\n]{2,80})”|„([^“”\n]{2,80})[“”]|«\s?([^»\n]{2,80}?)\s?»|「([^」\n]{1,40})」|『([^』\n]{1,40})』"#
);
pattern!(
    DATE,
    r"(?i)(?-u:\b)\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])(?-u:\b)"
    r"|\b(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?:19|20)\d\d\b"
    r"|\b(?:0?[1-9]|[12]\d|3[01])/(?:0?[1-9]|[12]\d|3[01])/(?:19|20)\d\d\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec)\.? "
    r"(?:\d{1,2}(?:st|nd|rd|th)?(?:,? (?:19|20)\d\d)?|(?:19|20)\d\d)\b"
    r"|\b\d{1,2}(?:st|nd|rd|th|er)?\.? (?:of )?(?:de )?"
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|apr|jun|jul|aug|sept|sep|oct|nov|dec"
    r"|januar|jänner|februar|märz|mai|juni|juli|oktober|dezember"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
    r"(?:,? (?:de )?(?:19|20)\d\d)?\b"
    r"|\b(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember"
    r"|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre) (?:de )?(?:19|20)\d\d\b"
    r"|(?:19|20)\d\d年\d{1,2}月(?:\d{1,2}日)?"
);
pattern!(
    HONORED,
    r"([\p{Han}々]{1,4}|[\p{Katakana}ー・]{2,20}|\p{Latin}{2,20})(?:さん|さま|様|氏|君|くん|ちゃん|先生|部長|課長|社長)"
);
pattern!(
    COMPANY,
    r"(?:株式会社|有限会社)[\p{Han}\p{Katakana}ー\p{Latin}]{2,12}|[\p{Katakana}ー\p{Latin}]{2,12}(?:株式会社|有限会社)"
);

pattern!(
    LEGAL_TAIL,
    r"(?i)^(?:(?:,? (?:inc|ltd|llc|gmbh|ag|kg|ohg|s\.?a|s\.?l|s\.a\.s|c\.v))?\.| & co(?:\.| )? ?(?:kg\b)?| de c\.v\.)+"
);

/// The end of a name that a legal form follows or ends: "Ltd.", "GmbH & Co. KG".
pub fn legal_end(text: &str, end: usize) -> usize {
    let tail = LEGAL_TAIL.find(&text[end..]);
    end + tail.map_or(0, |tail| tail.end())
}

/// Prefixes of standards and versions, which are not identifiers.
const STANDARDS: [&str; 20] = [
    "UTF", "ISO", "SHA", "RFC", "AES", "HTTP", "TLS", "RSA", "MP", "COVID", "GPT", "IPV", "USB",
    "DIN", "EN", "IEEE", "BASE", "MD", "ES", "PHP",
];

/// In text order, without overlaps.
pub fn find(text: &str) -> Vec<PatternMatch> {
    let mut found: Vec<PatternMatch> = Vec::new();
    let mut add = |range: Range<usize>, entity_type, confidence| {
        let overlaps = |f: &PatternMatch| range.start < f.range.end && f.range.start < range.end;
        if !range.is_empty() && !found.iter().any(overlaps) {
            found.push(PatternMatch { range, entity_type, confidence });
        }
    };
    if text.contains('`') {
        CODE.find_iter(text).for_each(|m| add(m.range(), None, 100));
    }
    for m in URL.find_iter(text) {
        let end =
            m.as_str().trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '*', '。', '、']);
        add(m.start()..m.start() + end.len(), Some(EntityType::Url), 100);
    }
    if text.contains('@') {
        let emails = EMAIL.find_iter(text);
        emails.for_each(|m| add(m.range(), Some(EntityType::Email), 100));
        for m in HANDLE.captures_iter(text).filter_map(|c| c.get(1)) {
            add(m.range(), Some(EntityType::Person), 80);
        }
    }
    if text.contains('#') {
        for m in TAG.captures_iter(text).filter_map(|c| c.get(1)) {
            if !is_color(&m.as_str()[1..]) {
                add(m.range(), Some(EntityType::Other), 90);
            }
        }
    }
    if text.bytes().any(|b| b.is_ascii_digit()) {
        let dates = DATE.find_iter(text);
        dates.for_each(|m| add(m.range(), Some(EntityType::Date), 95));
        for c in IDENTIFIER.captures_iter(text) {
            if let Some((whole, head)) = c.get(0).zip(c.get(1))
                && !STANDARDS.contains(&head.as_str())
            {
                add(whole.range(), Some(EntityType::Other), 90);
            }
        }
    }
    for c in QUOTED.captures_iter(text) {
        if let Some(inner) = c.iter().skip(1).flatten().next()
            && is_title(inner.as_str())
        {
            let inside = inner.as_str();
            let begins = inner.start() + (inside.len() - inside.trim_start().len());
            add(begins..begins + inside.trim().len(), Some(EntityType::Other), 75);
        }
    }
    if !text.is_ascii() {
        for m in COMPANY.find_iter(text) {
            add(m.range(), Some(EntityType::Organization), 85);
        }
        for m in HONORED.captures_iter(text).filter_map(|c| c.get(1)) {
            add(m.range(), Some(EntityType::Person), 80);
        }
    }
    found.sort_by_key(|f| f.range.start);
    found
}

fn is_color(text: &str) -> bool {
    matches!(text.len(), 3 | 6) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Whether quoted text is capitalized as a title, not a sentence or a single quoted word.
fn is_title(inner: &str) -> bool {
    const WORDS_MAX: usize = 7;
    let inner = inner.trim();
    if inner.contains(['.', '!', '?', '。', '！', '？', '=', '{', '/', '_', '、']) {
        return false;
    }
    let is_foreign =
        |c: char| matches!(u32::from(c), 0x30A1..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF);
    let is_kana = |c: char| matches!(u32::from(c), 0x3041..=0x309F);
    if inner.chars().any(|c| is_foreign(c) || is_kana(c)) {
        let kana = inner.chars().filter(|c| is_kana(*c)).count();
        return kana * 2 < inner.chars().count();
    }
    let words: Vec<&str> = inner.split_whitespace().collect();
    let starts_great = words.first().is_some_and(|w| w.starts_with(char::is_uppercase));
    if !starts_great || words.len() > WORDS_MAX {
        return false;
    }
    match words.as_slice() {
        [one] => !COMMON.contains(fold(one).as_str()) && one.chars().any(char::is_lowercase),
        many => {
            let long: Vec<&&str> = many.iter().filter(|w| w.chars().count() > 3).collect();
            let great = long.iter().filter(|w| w.starts_with(char::is_uppercase));
            let great = great.count();
            great > 0 && great * 2 >= long.len()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<(&str, Option<EntityType>)> {
        find(text).into_iter().map(|f| (&text[f.range], f.entity_type)).collect()
    }

    #[test]
    fn forms_are_known() {
        use EntityType::{Date, Email, Other, Person, Url};
        assert_eq!(
            of("Mail ben@example.org or see https://example.org/a?b=1, by 2024-03-01."),
            [
                ("ben@example.org", Some(Email)),
                ("https://example.org/a?b=1", Some(Url)),
                ("2024-03-01", Some(Date))
            ]
        );
        assert_eq!(
            of("@mika filed OPS-142 under #garden-plan in UTF-8"),
            [("@mika", Some(Person)), ("OPS-142", Some(Other)), ("#garden-plan", Some(Other))]
        );
        assert_eq!(of("Am 3. März 2024"), [("3. März 2024", Some(Date))]);
        assert_eq!(of("el 5 de mayo de 2023"), [("5 de mayo de 2023", Some(Date))]);
        assert_eq!(of("color #ffcc00, issue #12, a # b"), []);
        assert_eq!(
            of("She read \"The Long Winter\" and said \"See you\"."),
            [("The Long Winter", Some(Other))]
        );
        assert_eq!(of("run `Foo Bar` now"), [("`Foo Bar`", None)]);
    }
}
