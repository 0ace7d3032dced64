//! What full text finds an item by. One function cuts text into words, for
//! items when they are stored and for queries when they are asked, so the two
//! cannot disagree. It must never depend on anything but the text.
//!
//! PostgreSQL's own parser keeps `src/db.rs` whole, reads `ERR-5021` as the
//! number -5021 and finds no word in Chinese (FACTS), so the text is cut here
//! and handed over as a finished `tsvector`:
//! - a *compound* (`src/db.rs`, `ERR-5021`, `anna@example.com`, `v1.2.3`) is a
//!   word whole, and so is each of its parts, level by level (`db.rs`, `db`);
//! - a plain English word counts by its stem too ("deploys", "deployment");
//! - scripts without spaces become single characters and pairs of them;
//! - case, accents and width are folded (`É` → `e`, `Ａ` → `a`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

use super::speakers;
use super::stop_words::is_stop_word;

/// Distinct words of a query that count (DESIGN §3).
pub const QUERY_TERMS_MAX: usize = 32;
/// A longer compound is kept in parts only.
const COMPOUND_CHARS_MAX: usize = 128;
/// A longer lexeme is not kept: PostgreSQL's limit is 2,046 bytes.
const LEXEME_BYTES_MAX: usize = 512;
/// PostgreSQL keeps positions up to here, and so many for a lexeme.
const POSITION_MAX: u16 = 16_383;
const POSITIONS_PER_LEXEME_MAX: usize = 255;

static ENGLISH: LazyLock<Stemmer> = LazyLock::new(|| Stemmer::create(Algorithm::English));

/// A word of a text: what it is found by, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Word {
    lexeme: String,
    /// Bytes of the original text.
    range: Range<usize>,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A word that is no part of a longer one.
    Plain,
    /// `src/db.rs`: a word whole.
    Compound,
    /// `db`: a part of a compound.
    Part,
    /// One character of a script without spaces.
    Character,
    /// Two neighbours of a script without spaces.
    Pair,
}

/// A word of a query: any of its alternatives matches, and they count as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term {
    /// The word as written (folded), then its stem where that differs.
    pub alternatives: Vec<String>,
}

impl Word {
    /// The English stem, where it differs from the lexeme. A compound has none.
    fn stem(&self) -> Option<String> {
        let lexeme = self.lexeme.as_str();
        let stems = self.kind != Kind::Compound
            && lexeme.len() >= 3
            && lexeme.bytes().all(|b| b.is_ascii_lowercase());
        let stem = stems.then(|| ENGLISH.stem(lexeme))?;
        (stem != lexeme).then(|| stem.into_owned())
    }
}

impl Term {
    /// As PostgreSQL reads a `tsquery`: `'deploys' | 'deploy'`.
    pub fn tsquery(&self) -> String {
        let quoted: Vec<String> = self.alternatives.iter().map(|a| quote(a)).collect();
        quoted.join(" | ")
    }

    fn matches(&self, word: &Word, stem: Option<&str>) -> bool {
        self.alternatives
            .iter()
            .any(|a| *a == word.lexeme || stem == Some(a))
    }

    fn begins_as(&self, word: &Word) -> bool {
        let first = word.lexeme.chars().next();
        self.alternatives.iter().any(|a| a.chars().next() == first)
    }
}

/// What an item is found by: the words of its text, its key and its tags. Where it begins with
/// its speaker ("Caroline: …") `caroline:` and `:` are lexemes too, which no text or query yields.
pub fn of_item(content: &str, key: Option<&str>, tags: &[String]) -> String {
    let tags = tags.iter().map(String::as_str);
    let mut literal = tsvector(std::iter::once(content).chain(key).chain(tags));
    for lexeme in speakers::lexemes(content) {
        literal.push_str(&format!("{}:1 ", quote(&lexeme)));
    }
    literal
}

/// Every lexeme of the texts with its positions.
pub fn lexemes<'a>(texts: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, Vec<u16>> {
    let mut positions: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    let mut position: u16 = 1;
    for text in texts {
        for word in words(text) {
            // A compound stands where its first part does.
            if !matches!(word.kind, Kind::Compound | Kind::Pair) && position < POSITION_MAX {
                position += 1;
            }
            let stem = word.stem();
            for lexeme in [Some(word.lexeme), stem].into_iter().flatten() {
                let places = positions.entry(lexeme).or_default();
                if places.len() < POSITIONS_PER_LEXEME_MAX && places.last() != Some(&position) {
                    places.push(position);
                }
            }
        }
    }
    positions
}

/// The same as PostgreSQL reads a `tsvector`.
pub fn tsvector<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut literal = String::new();
    for (lexeme, places) in lexemes(texts) {
        let places: Vec<String> = places.iter().map(u16::to_string).collect();
        literal.push_str(&format!("{}:{} ", quote(&lexeme), places.join(",")));
    }
    literal
}

/// The distinct words of a query, at most [`QUERY_TERMS_MAX`]. Stop words leave
/// unless nothing else remains.
pub fn query_terms(query: &str) -> Vec<Term> {
    let words = words(query);
    let has_pair = words.iter().any(|w| w.kind == Kind::Pair);
    let wanted = |w: &&Word| match w.kind {
        Kind::Plain | Kind::Compound | Kind::Pair => true,
        // The `1` of `192.168.1.168` says nothing that the whole does not.
        Kind::Part => {
            let digits = w.lexeme.bytes().all(|b| b.is_ascii_digit());
            w.lexeme.chars().count() >= if digits { 3 } else { 2 }
        }
        Kind::Character => !has_pair,
    };
    let mut telling = Vec::new();
    let mut stop = Vec::new();
    for word in words.iter().filter(wanted) {
        let mut alternatives = vec![word.lexeme.clone()];
        alternatives.extend(word.stem());
        let term = Term { alternatives };
        let list = if is_stop_word(&word.lexeme) {
            &mut stop
        } else {
            &mut telling
        };
        if !list.contains(&term) {
            list.push(term);
        }
    }
    let mut terms = if telling.is_empty() { stop } else { telling };
    terms.truncate(QUERY_TERMS_MAX);
    terms
}

/// What a substring match looks for where no word matches: the query's runs
/// between blanks, less stop words and what is too short to say anything.
pub fn query_fragments(query: &str) -> Vec<String> {
    let mut fragments: Vec<String> = Vec::new();
    for run in query.split_whitespace() {
        let long_enough = run.chars().count() >= 3 || run.chars().any(is_unspaced);
        if long_enough && !is_stop_word(&run.to_lowercase()) && !fragments.iter().any(|f| f == run)
        {
            fragments.push(run.to_owned());
        }
    }
    fragments.truncate(QUERY_TERMS_MAX);
    fragments
}

/// Where in `text` words of the query stand: byte ranges, in order, disjoint.
pub fn matches(text: &str, terms: &[Term]) -> Vec<Range<usize>> {
    let is_asked_for = |word: &Word| {
        // A stem begins as its word does: most words need none.
        let mut alike = terms.iter().filter(|t| t.begins_as(word)).peekable();
        alike.peek().is_some() && {
            let stem = word.stem();
            alike.any(|term| term.matches(word, stem.as_deref()))
        }
    };
    let mut ranges: Vec<Range<usize>> = words(text)
        .into_iter()
        .filter(is_asked_for)
        .map(|word| word.range)
        .collect();
    ranges.sort_by_key(|r| (r.start, r.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The words of a query that stand alone, stop words left out, each with its place.
pub(super) fn plain_words(query: &str) -> impl Iterator<Item = (String, Range<usize>)> {
    words(query)
        .into_iter()
        .filter(|w| w.kind == Kind::Plain && !is_stop_word(&w.lexeme))
        .map(|w| (w.lexeme, w.range))
}

/// The distinct words that a text is found by, longest first, for people to read.
pub fn telling_words(text: &str, most: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in words(text) {
        let shown = matches!(word.kind, Kind::Plain | Kind::Compound | Kind::Pair);
        if shown && !is_stop_word(&word.lexeme) && !found.contains(&word.lexeme) {
            found.push(word.lexeme);
        }
    }
    found.sort_by_key(|w| std::cmp::Reverse(w.chars().count()));
    found.truncate(most);
    found
}

/// All words of a text, in order; a compound comes before its parts.
fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let end = if is_unspaced(c) {
            let end = run_end(text, at, is_unspaced);
            push_unspaced(&mut found, text, at..end);
            end
        } else if is_spaced_word(c) {
            let end = compound_end(text, at);
            push_compound(&mut found, text, at..end);
            end
        } else {
            at + c.len_utf8()
        };
        at = end;
    }
    found
}

fn run_end(text: &str, start: usize, belongs: impl Fn(char) -> bool) -> usize {
    text[start..]
        .find(|c| !belongs(c))
        .map_or(text.len(), |length| start + length)
}

/// The end of a run of words and connectors: a connector belongs when a word
/// follows it, and `++` or `#` after a letter belongs too (`c++`, `c#`).
fn compound_end(text: &str, start: usize) -> usize {
    let mut end = run_end(text, start, is_spaced_word);
    loop {
        let rest = &text[end..];
        let after = rest.trim_start_matches(is_connector);
        let connectors = rest.len() - after.len();
        if connectors == 0 {
            return end;
        }
        let sign = rest.starts_with("++") || rest.starts_with('#');
        let word_follows = after.starts_with(is_spaced_word);
        // Two connectors in a row (`a -- b`, `...`) part words, but `://` and `::` join them.
        let joins = connectors == 1 || rest.starts_with("://") || rest.starts_with("::");
        if word_follows && joins {
            end = run_end(text, end + connectors, is_spaced_word);
        } else if sign {
            return end + if rest.starts_with('#') { 1 } else { 2 };
        } else {
            return end;
        }
    }
}

/// Connectors, from the loosest to the tightest; the `.` between digits binds last.
const LEVELS: [&[char]; 4] = [
    &['/', '\\'],
    &['@', ':', '=', '&', '?'],
    &['.'],
    &['-', '_', '+', '#', '~'],
];

fn push_compound(found: &mut Vec<Word>, text: &str, range: Range<usize>) {
    // Most words are of small letters behind the first, and fall apart at no level.
    if text.as_bytes()[range.start + 1..range.end]
        .iter()
        .all(u8::is_ascii_lowercase)
        && text.as_bytes()[range.start].is_ascii_alphabetic()
    {
        return push_word(found, text, range, Kind::Plain);
    }
    let first = found.len();
    push_level(found, text, range, 0);
    if let [only] = &mut found[first..] {
        only.kind = Kind::Plain;
    }
}

/// Pushes the piece whole where it falls apart at this level, then its pieces.
fn push_level(found: &mut Vec<Word>, text: &str, range: Range<usize>, level: usize) {
    if level > LAST_LEVEL {
        return push_word(found, text, range, Kind::Part);
    }
    let piece = &text[range.clone()];
    let pieces = pieces(piece, level);
    let falls_apart = pieces.len() > 1 || pieces[0].len() < piece.len();
    if falls_apart && piece.chars().count() <= COMPOUND_CHARS_MAX {
        push_word(found, text, range.clone(), Kind::Compound);
    }
    for p in pieces {
        let part = range.start + p.start..range.start + p.end;
        push_level(found, text, part, level + 1);
    }
}

/// After the connectors: humps (`getUserName`, `v2`), then dots between digits.
const HUMPS_LEVEL: usize = LEVELS.len();
const LAST_LEVEL: usize = HUMPS_LEVEL + 1;

/// What a piece falls into at a level; never empty.
fn pieces(piece: &str, level: usize) -> Vec<Range<usize>> {
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut before: Option<char> = None;
    let mut chars = piece.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let after = chars.peek().map(|&(_, c)| c);
        let between_digits =
            before.is_some_and(|b| b.is_ascii_digit()) && after.is_some_and(|a| a.is_ascii_digit());
        let cut = match level {
            0..=3 => LEVELS[level].contains(&c) && !(c == '.' && between_digits),
            HUMPS_LEVEL => false,
            _ => c == '.',
        };
        let hump = level == HUMPS_LEVEL
            && before.is_some_and(|b| {
                (b.is_ascii_lowercase() && c.is_ascii_uppercase())
                    || (b.is_ascii_alphabetic() && c.is_ascii_digit())
                    || (b.is_ascii_digit() && c.is_ascii_alphabetic())
            });
        if cut {
            cuts.push(at..at + c.len_utf8());
        } else if hump {
            cuts.push(at..at);
        }
        before = Some(c);
    }
    let mut pieces = Vec::with_capacity(cuts.len() + 1);
    let mut start = 0;
    for cut in cuts
        .into_iter()
        .chain(std::iter::once(piece.len()..piece.len()))
    {
        if cut.start > start {
            pieces.push(start..cut.start);
        }
        start = cut.end;
    }
    if pieces.is_empty() {
        pieces.push(0..piece.len());
    }
    pieces
}

fn push_word(found: &mut Vec<Word>, text: &str, range: Range<usize>, kind: Kind) {
    let lexeme = fold(&text[range.clone()]);
    if lexeme.is_empty() || lexeme.len() > LEXEME_BYTES_MAX {
        return;
    }
    found.push(Word {
        lexeme,
        range,
        kind,
    });
}

fn push_unspaced(found: &mut Vec<Word>, text: &str, range: Range<usize>) {
    let starts: Vec<usize> = text[range.clone()]
        .char_indices()
        .map(|(at, _)| range.start + at)
        .collect();
    let end_of = |n: usize| starts.get(n).copied().unwrap_or(range.end);
    for (n, &start) in starts.iter().enumerate() {
        push_word(found, text, start..end_of(n + 1), Kind::Character);
        if n + 1 < starts.len() {
            push_word(found, text, start..end_of(n + 2), Kind::Pair);
        }
    }
}

/// Case, width and accents do not tell words apart. Kana keeps its voicing marks.
pub(super) fn fold(word: &str) -> String {
    if word.is_ascii() {
        return word.to_ascii_lowercase();
    }
    let unaccented: String = word
        .nfkd()
        .filter(|&c| !is_combining_mark(c) || matches!(c, '\u{3099}' | '\u{309A}'))
        .collect();
    unaccented
        .to_lowercase()
        .replace('ß', "ss")
        .nfkc()
        .collect()
}

/// Scripts written without spaces between words, and Hangul, whose particles
/// cling to the word.
fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0E01..=0x0E4E | 0x0E80..=0x0EDF | 0x1000..=0x109F | 0x1780..=0x17D3   // Thai, Lao, Myanmar, Khmer
        | 0x3005..=0x3007 | 0x3041..=0x309F | 0x30A1..=0x30FF | 0x31F0..=0x31FF // kana and marks
        | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0xFF66..=0xFF9F // Han, half-width kana
        | 0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF                   // Hangul
        | 0x20000..=0x3134F)
        && c != '\u{30FB}'
}

fn is_spaced_word(c: char) -> bool {
    (c.is_alphanumeric() || is_combining_mark(c)) && !is_unspaced(c)
}

fn is_connector(c: char) -> bool {
    LEVELS.iter().any(|level| level.contains(&c))
}

pub(super) fn quote(lexeme: &str) -> String {
    format!("'{}'", lexeme.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lexemes(text: &str) -> Vec<String> {
        let mut all: Vec<String> = words(text)
            .into_iter()
            .flat_map(|w| [w.stem(), Some(w.lexeme)])
            .flatten()
            .collect();
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
            assert!(
                lexemes(&format!("x {token}. y")).contains(&whole),
                "{token}"
            );
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
        assert_eq!(query_terms("deploys")[0].tsquery(), "'deploys' | 'deploy'");
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
    fn any_text_becomes_a_literal_without_panicking() {
        for text in [
            "", "'", "\\", "a'b\\c", "🦀", "\u{301}", "...", "a..b", "-#-", "++", "ﬁ", "İ",
        ] {
            let _ = tsvector([text]);
            let _ = matches(text, &query_terms(text));
        }
        assert_eq!(tsvector(["it's"]), "'it':2 's':3 ");
    }

    #[test]
    fn ranges_name_the_words_in_the_original_text() {
        let text = "Zürich: DEPLOYS zur Zeit";
        let ranges = matches(text, &query_terms("deploy zurich"));
        let found: Vec<&str> = ranges.into_iter().map(|r| &text[r]).collect();
        assert_eq!(found, ["Zürich", "DEPLOYS"]);
    }
}
