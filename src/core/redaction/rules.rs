//! Finds secrets by a rule set that others maintain (`rules/README.md`): a rule runs only if one of its keywords is in the
//! text, and its pattern takes linear time. What it finds may be long or placed anywhere; it must never reach a log.

use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;

use super::readings::{joined, plain};
use super::{cards, ibans};

/// The rule that matches by context alone; where a more exact rule matches too, that one is named.
const GENERIC: &str = "generic-api-key";
/// How gitleaks' rules end a token: they are written for files.
const END_IN_FILES: &str = r#"(?:[\x60'"\s;]|\\[nr]|$)"#;
/// In sentences a token also ends at punctuation, and at whatever is no ASCII: `。`, `»`.
const END_IN_SENTENCES: &str = r#"(?:[\x60'"\s;,.)\]}>!?\x80-\xff]|\\[nr]|$)"#;
/// How they separate a name from its value.
const IS_IN_FILES: &str = "(?:=|>|:{1,3}=";
/// In sentences it may be a word.
const IS_IN_SENTENCES: &str = r"(?:\bis\b|=|>|:{1,3}=";

static RULES: LazyLock<RuleSet> = LazyLock::new(RuleSet::new);

/// A secret in a text, as bytes on boundaries of characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSecret {
    /// The rule's id, such as `github-pat`.
    pub rule: &'static str,
    pub start: usize,
    pub end: usize,
}

/// What a scan did; each bounded by the number of rules and the length of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScanWork {
    /// Rules whose pattern ran.
    pub rules: usize,
    /// Searches, and the bytes that they began and ended at, summed up.
    pub searches: usize,
    pub bytes: usize,
}

/// All rules' ids, but for those of card and account numbers.
pub fn rule_count() -> usize {
    RULES.rules.len()
}

/// The secrets of a text, in order, none overlapping.
pub fn scan(text: &str) -> Vec<FoundSecret> {
    scan_counted(text).0
}

/// [`scan`], and what it cost.
pub fn scan_counted(text: &str) -> (Vec<FoundSecret>, ScanWork) {
    let mut work = ScanWork::default();
    let plain = plain(text);
    let read = plain.as_ref().map_or(text, |plain| &plain.text);
    let mut found = scan_once(read, &mut work);
    if let Some(together) = joined(read) {
        let mut parted = scan_once(&together.text, &mut work);
        // A name with a value of any kind would take in the next line's word.
        parted.retain_mut(|one| {
            let length = one.end - one.start;
            (one.start, one.end) = together.original((one.start, one.end));
            one.rule != GENERIC && one.end - one.start > length
        });
        // One that a line shows by itself goes on in the next, if that goes on like a secret.
        parted.retain(|one| {
            let known = found.iter().filter(|known| known.start < one.end && one.start < known.end);
            let shown = known.map(|known| known.end).max();
            shown.is_none_or(|end| {
                read[end.min(one.end)..one.end].contains(|c: char| c.is_ascii_digit())
            })
        });
        found.extend(parted);
    }
    if let Some(plain) = &plain {
        for one in &mut found {
            (one.start, one.end) = plain.original((one.start, one.end));
        }
    }
    (merged(found), work)
}

fn scan_once(text: &str, work: &mut ScanWork) -> Vec<FoundSecret> {
    let cards = cards::find(text).map(|range| (cards::RULE, range));
    let accounts = ibans::find(text).map(|range| (ibans::RULE, range));
    let numbers = cards.chain(accounts);
    let mut found: Vec<FoundSecret> =
        numbers.map(|(rule, (start, end))| FoundSecret { rule, start, end }).collect();
    for rule in RULES.with_keywords_in(text) {
        rule.find(text, &mut found, work);
    }
    found
}

/// Overlapping secrets become one, named by the more exact rule.
fn merged(mut found: Vec<FoundSecret>) -> Vec<FoundSecret> {
    found.sort_by_key(|one| (one.start, one.end, one.rule));
    let mut merged: Vec<FoundSecret> = Vec::with_capacity(found.len());
    for one in found {
        match merged.last_mut() {
            Some(last) if one.start < last.end => {
                last.end = last.end.max(one.end);
                if last.rule == GENERIC {
                    last.rule = one.rule;
                }
            }
            _ => merged.push(one),
        }
    }
    merged
}

#[derive(Deserialize)]
struct RuleFile {
    rules: Vec<RuleEntry>,
    #[serde(default)]
    allowlist: AllowEntry,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RuleEntry {
    id: String,
    regex: Option<String>,
    /// A rule for files of one kind: texts of a memory have no file name.
    path: Option<String>,
    #[serde(default)]
    entropy: f64,
    #[serde(default)]
    secret_group: usize,
    #[serde(default)]
    keywords: Vec<String>,
    #[serde(default)]
    allowlists: Vec<AllowEntry>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct AllowEntry {
    regexes: Vec<String>,
    stopwords: Vec<String>,
    regex_target: String,
    condition: String,
}

struct RuleSet {
    keywords: AhoCorasick,
    /// For each keyword the rules that have it.
    of_keyword: Vec<Vec<usize>>,
    rules: Vec<Rule>,
}

impl RuleSet {
    fn new() -> Self {
        let files = [include_str!("rules/gitleaks.toml"), include_str!("rules/own.toml")];
        let (mut rules, mut everywhere) = (Vec::new(), Vec::new());
        let mut keywords: Vec<String> = Vec::new();
        let mut of_keyword: Vec<Vec<usize>> = Vec::new();
        for file in files {
            // A test reads both files, and compiles each pattern.
            let Ok(file) = toml::from_str::<RuleFile>(file) else {
                continue;
            };
            everywhere.push(file.allowlist);
            for entry in file.rules {
                let (None, Some(pattern)) = (&entry.path, &entry.regex) else {
                    continue;
                };
                for keyword in &entry.keywords {
                    let at = keywords.iter().position(|known| known == keyword);
                    let at = at.unwrap_or_else(|| {
                        keywords.push(keyword.clone());
                        of_keyword.push(Vec::new());
                        keywords.len() - 1
                    });
                    of_keyword[at].push(rules.len());
                }
                rules.push(Rule::new(&entry, pattern));
            }
        }
        for rule in &mut rules {
            rule.allowed.extend(everywhere.iter().map(Allowlist::new));
        }
        let keywords = AhoCorasick::builder().ascii_case_insensitive(true).build(&keywords);
        Self {
            keywords: keywords.unwrap_or_else(|error| panic!("the rules' keywords: {error}")),
            of_keyword,
            rules,
        }
    }

    fn with_keywords_in(&self, text: &str) -> impl Iterator<Item = &Rule> {
        let mut is_due = vec![false; self.rules.len()];
        for hit in self.keywords.find_overlapping_iter(text) {
            for rule in &self.of_keyword[hit.pattern().as_usize()] {
                is_due[*rule] = true;
            }
        }
        let due = self.rules.iter().zip(is_due);
        due.filter_map(|(rule, is_due)| is_due.then_some(rule))
    }
}

struct Rule {
    id: String,
    pattern: Pattern,
    /// Shannon entropy in bits a byte that a secret exceeds.
    entropy: f64,
    /// 0: the first group that matches.
    group: usize,
    allowed: Vec<Allowlist>,
}

impl Rule {
    fn new(entry: &RuleEntry, pattern: &str) -> Self {
        let pattern =
            pattern.replace(END_IN_FILES, END_IN_SENTENCES).replace(IS_IN_FILES, IS_IN_SENTENCES);
        Self {
            id: entry.id.clone(),
            pattern: Pattern::new(&pattern),
            entropy: entry.entropy,
            group: entry.secret_group,
            allowed: entry.allowlists.iter().map(Allowlist::new).collect(),
        }
    }

    fn find(&'static self, text: &str, found: &mut Vec<FoundSecret>, work: &mut ScanWork) {
        let Some(pattern) = self.pattern.compiled() else {
            return;
        };
        work.rules += 1;
        let (bytes, mut from) = (text.as_bytes(), 0);
        while from < bytes.len() {
            work.searches += 1;
            let Some(groups) = pattern.captures_at(bytes, from) else {
                work.bytes += bytes.len() - from;
                return;
            };
            let Some(whole) = groups.get(0) else {
                return;
            };
            let next = whole.end().max(from + 1);
            work.bytes += next - from;
            from = next;
            let secret = match self.group {
                0 => groups.iter().skip(1).flatten().find(|g| !g.is_empty()),
                group => groups.get(group),
            };
            let secret = secret.unwrap_or(whole);
            let is_random = entropy(secret.as_bytes()) > self.entropy || self.entropy == 0.0;
            let context = (bytes, whole.range(), secret.range());
            if is_random && !self.allowed.iter().any(|list| list.allows(&context)) {
                let (start, end) = (secret.start(), text.ceil_char_boundary(secret.end()));
                let start = text.floor_char_boundary(start);
                // A full stop ends the sentence, not the secret.
                let end = start + text[start..end].trim_end_matches('.').len();
                found.push(FoundSecret { rule: &self.id, start, end });
            }
        }
    }
}

type MatchContext<'a> = (&'a [u8], std::ops::Range<usize>, std::ops::Range<usize>);

/// What is no secret, although it matches.
#[derive(Clone)]
struct Allowlist {
    patterns: Vec<Pattern>,
    /// In lower case.
    stopwords: Vec<String>,
    target: AllowTarget,
    /// It applies only with a file's name, which no text has.
    is_of_files: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AllowTarget {
    Secret,
    Match,
    Line,
}

impl Allowlist {
    fn new(entry: &AllowEntry) -> Self {
        Self {
            patterns: entry.regexes.iter().map(|one| Pattern::new(one)).collect(),
            stopwords: entry.stopwords.iter().map(|w| w.to_lowercase()).collect(),
            target: match entry.regex_target.as_str() {
                "match" => AllowTarget::Match,
                "line" => AllowTarget::Line,
                _ => AllowTarget::Secret,
            },
            is_of_files: entry.condition == "AND",
        }
    }

    fn allows(&self, (bytes, whole, secret): &MatchContext<'_>) -> bool {
        if self.is_of_files {
            return false;
        }
        let value = &bytes[secret.clone()];
        let target = match self.target {
            AllowTarget::Secret => value,
            AllowTarget::Match => &bytes[whole.clone()],
            AllowTarget::Line => line_around(bytes, whole),
        };
        let lower = value.to_ascii_lowercase();
        let has = |word: &String| lower.windows(word.len()).any(|w| w == word.as_bytes());
        let matches = |one: &Pattern| one.compiled().is_some_and(|p| p.is_match(target));
        self.stopwords.iter().any(has) || self.patterns.iter().any(matches)
    }
}

/// Bytes of a line around a match that an allowlist looks at.
const LINE_BYTES_MAX: usize = 400;

fn line_around<'a>(bytes: &'a [u8], whole: &std::ops::Range<usize>) -> &'a [u8] {
    let least = whole.start.saturating_sub(LINE_BYTES_MAX);
    let most = (whole.end + LINE_BYTES_MAX).min(bytes.len());
    let before = bytes[least..whole.start].iter().rposition(|b| *b == b'\n');
    let after = bytes[whole.end..most].iter().position(|b| *b == b'\n');
    &bytes[before.map_or(least, |at| least + at + 1)..after.map_or(most, |at| whole.end + at)]
}

/// A pattern in Go's syntax, compiled when it is first needed.
#[derive(Clone)]
struct Pattern {
    text: String,
    compiled: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self { text: as_rust(text), compiled: OnceLock::new() }
    }

    fn compiled(&self) -> Option<&Regex> {
        let compile = || RegexBuilder::new(&self.text).unicode(false).build().ok();
        self.compiled.get_or_init(compile).as_ref()
    }
}

/// Escapes what Go reads as it stands and Rust does not: `{` that begins no count, and `[` inside of a class.
fn as_rust(go: &str) -> String {
    let chars: Vec<char> = go.chars().collect();
    let mut rust = String::with_capacity(go.len() + 16);
    let (mut at, mut is_class) = (0, false);
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1);
        match c {
            '\\' => {
                rust.push(c);
                rust.extend(next);
                at += 1;
            }
            // A named class, such as [:alnum:].
            '[' if is_class && next == Some(&':') => {
                let name = chars[at..].iter().take_while(|c| **c != ']');
                let name: String = name.collect();
                at += name.chars().count();
                rust.push_str(&name);
                rust.push(']');
            }
            '[' if is_class => rust.push_str("\\["),
            '[' => {
                is_class = true;
                rust.push(c);
                if next == Some(&'^') {
                    rust.push('^');
                    at += 1;
                }
                // The first `]` of a class is a character.
                if chars.get(at + 1) == Some(&']') {
                    rust.push_str("\\]");
                    at += 1;
                }
            }
            ']' => {
                is_class = false;
                rust.push(c);
            }
            '{' if !is_class && !is_count(&chars[..at], &chars[at + 1..]) => rust.push_str("\\{"),
            c => rust.push(c),
        }
        at += 1;
    }
    rust
}

fn is_count(before: &[char], after: &[char]) -> bool {
    let Some(end) = after.iter().position(|c| *c == '}') else {
        return false;
    };
    let counts = |c: &char| c.is_ascii_digit() || *c == ',';
    let is_number = after[..end].first().is_some_and(char::is_ascii_digit);
    let has_atom = before.last().is_some_and(|c| !matches!(c, '|' | '('));
    has_atom && is_number && after[..end].iter().all(counts)
}

/// In bits a byte.
fn entropy(secret: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in secret {
        counts[usize::from(*byte)] += 1;
    }
    let length = secret.len() as f64;
    let of_count = |count: &u32| {
        let share = f64::from(*count) / length;
        -share * share.log2()
    };
    counts.iter().filter(|n| **n > 0).map(of_count).sum()
}

#[cfg(test)]
mod tests;
