//! The tokenizer of search. One function cuts stored texts and queries, so that the two agree. Depends only on the text:
//! - a *compound* (`src/db.rs`, `ERR-5021`, `anna@example.com`, `v1.2.3`) is a word as a whole, and so is each of its
//!   parts, level by level (`db.rs`, `db`);
//! - a plain English word also counts by its stem ("deploys", "deployment");
//! - scripts without spaces are cut into single characters and pairs of characters;
//! - a number or code in groups also counts without its separators (`1,250` and `1250`, `GR-482-KT` and `GR482KT`);
//! - an emoji is a word;
//! - case, accents, width and the digits of all scripts are folded (`É` → `e`, `Ａ` → `a`, `٤` → `4`).

mod characters;
mod compounds;
mod emoji;
mod joined;

use std::ops::Range;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};

use self::characters::{is_attached, is_spaced_word};
use self::compounds::{compound_end, push_compound};
use self::joined::GroupedNumber;
use super::stop_words::is_stop_word;

pub use self::characters::{fold, is_unspaced};

/// Limit on the distinct words of a query (DESIGN §3).
pub const QUERY_TERMS_MAX: usize = 32;
/// A longer compound is indexed by its parts only.
const COMPOUND_CHARS_MAX: usize = 128;
/// Before a number or code that is no part of a longer one: `=v2.0.0`, not of `v2.0.0-rc.1`.
pub const WHOLE: char = '=';
/// A longer lexeme is not indexed.
const LEXEME_BYTES_MAX: usize = 512;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// A word of a text: its lexeme and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextLexeme {
    lexeme: String,
    /// Byte range in the original text.
    range: Range<usize>,
    kind: WordKind,
    /// The compound without its separators, if it counts so too.
    joined: Option<String>,
    /// It is no part of another one.
    is_whole: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WordKind {
    /// A word that is not part of a compound.
    Plain,
    /// `src/db.rs`: a whole compound.
    Compound,
    /// `db`: a part of a compound.
    Part,
    /// `250` in `1,250`: not asked for, but the number.
    Group,
    /// One character of a script without spaces, next to others.
    Character,
    /// One character of a script without spaces, on its own.
    Single,
    /// Two adjacent characters of a script without spaces.
    Pair,
}

/// A word of a query. Any of its alternatives matches, and they count as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// The folded word, then the other form that a text with the word has too, if there is one: the stem or, of a compound,
    /// the form without separators. Of a number or code, last, what only a text has where it is no part of a longer one
    /// ([`WHOLE`]).
    pub alternatives: Vec<String>,
}

impl TextLexeme {
    /// The English stem, if it differs from the lexeme. A compound has none.
    fn stem(&self) -> Option<String> {
        let lexeme = self.lexeme.as_str();
        let stems = self.kind != WordKind::Compound
            && lexeme.len() >= 3
            && lexeme.bytes().all(|b| b.is_ascii_lowercase());
        let stem = stems.then(|| ENGLISH.stem(lexeme))?;
        (stem != lexeme).then(|| stem.into_owned())
    }
}

impl TextLexeme {
    /// See [`WHOLE`].
    fn whole(&self) -> Option<String> {
        let is_code = self.lexeme.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_punctuation());
        (self.is_whole && is_code).then(|| format!("{WHOLE}{}", self.lexeme))
    }
}

impl Term {
    fn matches(&self, word: &TextLexeme, stem: Option<&str>) -> bool {
        self.alternatives
            .iter()
            .any(|a| *a == word.lexeme || stem == Some(a) || word.joined.as_ref() == Some(a))
    }

    fn begins_as(&self, word: &TextLexeme) -> bool {
        let first = word.lexeme.chars().next();
        self.alternatives.iter().any(|a| a.chars().next() == first)
    }
}

/// All lexemes of a text, repeated as often as they occur.
pub fn lexemes(text: &str) -> impl Iterator<Item = String> {
    let all = |word: TextLexeme| [word.stem(), word.whole(), word.joined, Some(word.lexeme)];
    words(text).into_iter().flat_map(all).flatten()
}

/// The distinct words of a query, at most [`QUERY_TERMS_MAX`]. Stop words are removed unless nothing else remains.
pub fn query_terms(query: &str) -> Vec<Term> {
    let words = words(query);
    let wanted = |w: &&TextLexeme| match w.kind {
        WordKind::Plain | WordKind::Compound | WordKind::Pair | WordKind::Single => true,
        // Short parts match too much: the `1` of `192.168.1.168` adds nothing to the whole.
        WordKind::Part => {
            let digits = w.lexeme.bytes().all(|b| b.is_ascii_digit());
            w.lexeme.chars().count() >= if digits { 3 } else { 2 }
        }
        WordKind::Character | WordKind::Group => false,
    };
    let mut telling = Vec::new();
    let mut stop = Vec::new();
    for word in words.iter().filter(wanted) {
        let mut alternatives = vec![word.lexeme.clone()];
        alternatives.extend(word.stem().or_else(|| word.joined.clone()));
        alternatives.extend(word.whole());
        let term = Term { alternatives };
        let list = if is_stop_word(&word.lexeme) { &mut stop } else { &mut telling };
        if list.len() < QUERY_TERMS_MAX && !list.contains(&term) {
            list.push(term);
        }
    }
    if telling.is_empty() { stop } else { telling }
}

/// Whether the query is words alone, without stop words as in a sentence.
pub fn is_bare(query: &str) -> bool {
    !words(query).iter().any(|word| is_stop_word(&word.lexeme))
}

/// Substrings to search for if no word matches: the query split at blanks, without surrounding punctuation and short
/// pieces. Stop words and punctuation are removed unless nothing else remains.
pub fn query_fragments(query: &str) -> Vec<String> {
    let mut telling: Vec<String> = Vec::new();
    let mut stop: Vec<String> = Vec::new();
    for run in query.split_whitespace() {
        let inner = run.trim_matches(PUNCTUATION);
        let fragment = if inner.is_empty() { run } else { inner };
        let list = match words(fragment).iter().all(|w| is_stop_word(&w.lexeme)) {
            true => &mut stop,
            false => &mut telling,
        };
        let long_enough = fragment.chars().count() >= 3 || fragment.chars().any(is_unspaced);
        if long_enough && list.len() < QUERY_TERMS_MAX && !list.iter().any(|f| f == fragment) {
            list.push(fragment.to_owned());
        }
    }
    if telling.is_empty() { stop } else { telling }
}

/// Punctuation around words: sentence ends, quotes and brackets, including those of CJK.
const PUNCTUATION: &[char] = &[
    '.', ',', ';', ':', '!', '?', '…', '*', '–', '—', '¿', '¡', '،', '؛', '؟', '।', '"', '\'', '`',
    '“', '”', '„', '‘', '’', '‚', '«', '»', '‹', '›', '(', ')', '[', ']', '{', '}', '<', '>', '。',
    '、', '，', '．', '；', '：', '！', '？', '・', '｡', '､', '･', '「', '」', '『', '』', '｢',
    '｣', '（', '）', '【', '】', '［', '］', '《', '》', '〈', '〉', '〔', '〕',
];

/// Byte ranges of the query's words in `text`, ascending, each with the position of its term. They may overlap.
pub fn matches_by_term(text: &str, terms: &[&Term]) -> Vec<(Range<usize>, usize)> {
    let mut found = Vec::new();
    for word in words(text) {
        // A stem begins with the same letter as its word, so most words need no stemming.
        let alike = terms.iter().enumerate().filter(|(_, term)| term.begins_as(&word));
        let mut stem = None;
        for (nth, term) in alike {
            let stem = stem.get_or_insert_with(|| word.stem());
            if term.matches(&word, stem.as_deref()) {
                found.push((word.range.clone(), nth));
            }
        }
    }
    found.sort_by_key(|(range, nth)| (range.start, range.end, *nth));
    found
}

/// Ascending ranges, overlapping ones as one.
pub fn joined(ranges: impl IntoIterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Byte ranges of the query's words in `text`, ascending and disjoint.
pub fn matches(text: &str, terms: &[Term]) -> Vec<Range<usize>> {
    let terms: Vec<&Term> = terms.iter().collect();
    joined(matches_by_term(text, &terms).into_iter().map(|(range, _)| range))
}

/// The plain words of a query without stop words, with their byte ranges.
pub(super) fn plain_words(query: &str) -> impl Iterator<Item = (String, Range<usize>)> {
    words(query)
        .into_iter()
        .filter(|w| w.kind == WordKind::Plain && !is_stop_word(&w.lexeme))
        .map(|w| (w.lexeme, w.range))
}

/// The distinct words of a text, longest first, to show to users.
pub fn telling_words(text: &str, most: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(text) {
        let shown = !matches!(word.kind, WordKind::Part | WordKind::Group | WordKind::Character);
        if shown && !is_stop_word(&word.lexeme) && !found.contains(&word.lexeme) {
            found.push(word.lexeme);
        }
    }
    found.sort_by_key(|w| std::cmp::Reverse(w.chars().count()));
    found.truncate(most);
    found
}

/// All words of a text, in order; a compound comes before its parts.
fn words(text: &str) -> Vec<TextLexeme> {
    let mut found = Vec::new();
    let mut number: Option<GroupedNumber> = None;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let end = if is_unspaced(c) {
            let end = run_end(text, at, is_unspaced);
            push_unspaced(&mut found, text, at..end);
            end
        } else if is_spaced_word(c) {
            let end = compound_end(text, at);
            let first = found.len();
            push_compound(&mut found, text, at..end);
            if let Some(whole) = found.get_mut(first).filter(|word| word.range == (at..end)) {
                whole.is_whole = true;
            }
            if number.as_ref().is_none_or(|number| number.range.end <= at) {
                number = joined::number(text, at).or_else(|| joined::account(text, at));
                if let Some(number) = &number {
                    number.push(&mut found, first);
                }
            }
            if let Some(number) = &number {
                number.mark(&mut found[first..]);
            }
            end
        } else if emoji::is_emoji(c) {
            let end = emoji::end(text, at);
            push_word(&mut found, text, at..end, WordKind::Plain);
            end
        } else {
            at + c.len_utf8()
        };
        at = end;
    }
    found
}

fn run_end(text: &str, start: usize, belongs: impl Fn(char) -> bool) -> usize {
    text[start..].find(|c| !belongs(c)).map_or(text.len(), |length| start + length)
}

fn push_word(found: &mut Vec<TextLexeme>, text: &str, range: Range<usize>, kind: WordKind) {
    let lexeme = fold(&text[range.clone()]);
    if lexeme.is_empty() || lexeme.len() > LEXEME_BYTES_MAX {
        return;
    }
    let joined = match kind {
        WordKind::Compound => joined::code(&lexeme),
        WordKind::Plain => joined::international(&lexeme),
        _ => None,
    };
    found.push(TextLexeme { lexeme, range, kind, joined, is_whole: false });
}

fn push_unspaced(found: &mut Vec<TextLexeme>, text: &str, range: Range<usize>) {
    let starts: Vec<usize> = text[range.clone()]
        .char_indices()
        .filter(|&(at, c)| at == 0 || !is_attached(c))
        .map(|(at, _)| range.start + at)
        .collect();
    let end_of = |n: usize| starts.get(n).copied().unwrap_or(range.end);
    let kind = match starts.len() {
        1 => WordKind::Single,
        _ => WordKind::Character,
    };
    for (n, &start) in starts.iter().enumerate() {
        push_word(found, text, start..end_of(n + 1), kind);
        if n + 1 < starts.len() {
            push_word(found, text, start..end_of(n + 2), WordKind::Pair);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexemes(text: &str) -> Vec<String> {
        let mut all: Vec<String> =
            words(text).into_iter().flat_map(|w| [w.stem(), Some(w.lexeme)]).flatten().collect();
        all.sort();
        all.dedup();
        all
    }

    fn finds(text: &str, query: &str) -> bool {
        !matches(text, &query_terms(query)).is_empty()
    }

    #[test]
    fn a_path_is_found_whole_by_its_file_and_by_its_parts() {
        for query in ["/home/anna/src/db.rs", "src/db.rs", "db.rs", "anna", "db"] {
            assert!(finds("see /home/anna/src/db.rs, line 4", query), "{query}");
        }
        assert!(lexemes("src/db.rs").contains(&"src/db.rs".to_owned()));
    }

    #[test]
    fn exact_tokens_stay_whole() {
        for token in [
            "snake_case",
            "ERR_5021",
            "ERR-5021",
            "192.168.1.168",
            "anna@example.com",
            "v1.2.3",
            "2.0.0-rc.1",
            "c++",
            "c#",
            "getUserName",
            "std::sync::Arc",
            "https://example.com/a?b=c",
        ] {
            let whole = token.to_lowercase();
            assert!(lexemes(&format!("x {token}. y")).contains(&whole), "{token}");
            assert_eq!(query_terms(token)[0].alternatives[0], whole, "{token}");
        }
    }

    #[test]
    fn a_number_in_a_code_is_found_alone() {
        assert!(finds("it ended with ERR-5021", "5021"));
        assert!(finds("it ended with ERR_5021", "err"));
        assert!(finds("release v1.2.3", "1.2.3"));
        assert!(!finds("reach it at 192.168.1.168", "10.0.1.5"));
    }

    #[test]
    fn stems_match_and_count_as_one_word() {
        assert!(finds("the deployment failed", "deploys"));
        assert_eq!(query_terms("deploys")[0].alternatives, ["deploys", "deploy"]);
        assert_eq!(query_terms("deploy").len(), 1);
    }

    #[test]
    fn accents_case_and_width_are_folded() {
        assert!(finds("Café à Orléans", "cafe orleans"));
        assert!(finds("cafe", "CAFÉ"));
        assert!(finds("ＡＢＣ", "abc"));
        assert!(finds("Straße", "strasse"));
    }

    #[test]
    fn chinese_and_japanese_are_found_by_pairs_and_single_characters() {
        assert!(finds("我喜欢喝乌龙茶", "乌龙茶"));
        assert!(finds("黒猫が好きです", "猫"));
        assert!(!finds("黒猫が好きです", "黒犬"));
        assert!(finds("ガラス", "ｶﾞﾗｽ"));
    }

    #[test]
    fn a_single_character_is_asked_for_beside_longer_runs() {
        for (query, expected) in [
            ("猫 乌龙茶", vec!["猫", "乌龙", "龙茶"]),
            ("茶 が好き", vec!["茶", "が好", "好き"]),
            ("X線 東京", vec!["x", "線", "東京"]),
            ("猫", vec!["猫"]),
        ] {
            let found: Vec<String> =
                query_terms(query).into_iter().flat_map(|t| t.alternatives).collect();
            assert_eq!(found, expected, "{query}");
        }
        assert_eq!(telling_words("猫 cat", 9), ["cat", "猫"]);
    }

    #[test]
    fn composed_and_decomposed_text_are_the_same() {
        use unicode_normalization::UnicodeNormalization;
        for (text, query) in [
            ("これはガラスです", "ガラス"),
            ("がっこう", "が"),
            ("パン", "ﾊﾟﾝ"),
            ("나는 한국어를 좋아한다", "한국어"),
            ("차 좋아", "차"),
            ("Zürich", "zürich"),
        ] {
            let (apart, query_apart): (String, String) =
                (text.nfd().collect(), query.nfd().collect());
            assert_eq!(lexemes(text), lexemes(&apart), "{text}");
            assert_eq!(query_terms(query), query_terms(&query_apart), "{query}");
            let asked = query_terms(query);
            let found = |text: &str| -> Vec<String> {
                let ranges = matches(text, &asked).into_iter();
                ranges.map(|r| text[r].nfc().collect()).collect()
            };
            assert!(!found(text).is_empty(), "{query}");
            assert_eq!(found(text), found(&apart), "{query}");
        }
        assert!(!finds("か\u{3099}", "か"));
        assert_eq!(lexemes("ｶﾞﾗｽ"), lexemes("ガラス"));
    }

    #[test]
    fn vowel_signs_of_indic_scripts_tell_words_apart() {
        for (text, other) in [
            ("की", "कि"),
            ("की", "का"),
            ("हिन्दी", "हिन्दू"),
            ("কি", "কী"),
            ("தமிழ்", "தமிழா"),
            ("ශ්‍රී", "ශ්‍රා"),
            ("ดี", "ดู"),
        ] {
            assert_eq!(query_terms(text).len(), 1, "{text}");
            assert!(finds(&format!("x {text}। y"), text), "{text}");
            assert!(!finds(text, other), "{text} {other}");
        }
        assert_eq!(lexemes("हिन्दी"), ["हिन्दी"]);
        for (text, query) in [("ёлка", "елка"), ("ὁδός", "οδος"), ("שָׁלוֹם", "שלום"), ("كَتَبَ", "كتب")]
        {
            assert!(finds(text, query), "{query}");
        }
    }

    #[test]
    fn fragments_are_without_the_punctuation_around_them() {
        for (query, fragment) in [
            ("believ?", "believ"),
            ("“believ…”", "believ"),
            ("(believ), believ!", "believ"),
            ("乌龙？", "乌龙"),
            ("「乌龙」。", "乌龙"),
            ("don't.believ?", "don't.believ"),
            ("what's the believ", "believ"),
            ("c++", "c++"),
            ("the ???", "the"),
            ("???", "???"),
        ] {
            assert_eq!(query_fragments(query)[0], fragment, "{query}");
        }
        assert_eq!(query_fragments("(believ), believ! the").len(), 1);
        assert_eq!(query_fragments("What the"), ["What", "the"]);
    }

    #[test]
    fn stop_words_leave_unless_nothing_else_remains() {
        assert_eq!(query_terms("what is the port").len(), 1);
        assert_eq!(query_terms("to be or not to be").len(), 4);
    }

    #[test]
    fn a_query_has_at_most_32_terms() {
        let long: String = (0..100).map(|n| format!("word{n}x ")).collect();
        assert_eq!(query_terms(&long).len(), QUERY_TERMS_MAX);
    }

    #[test]
    fn any_text_is_cut_without_panicking() {
        for text in ["", "'", "\\", "a'b\\c", "🦀", "\u{301}", "...", "a..b", "-#-", "++", "ﬁ", "İ"]
        {
            let _ = super::lexemes(text).count();
            let _ = matches(text, &query_terms(text));
        }
    }

    #[test]
    fn ranges_name_the_words_in_the_original_text() {
        let text = "Zürich: DEPLOYS zur Zeit";
        let ranges = matches(text, &query_terms("deploy zurich"));
        let found: Vec<&str> = ranges.into_iter().map(|r| &text[r]).collect();
        assert_eq!(found, ["Zürich", "DEPLOYS"]);
    }
}
