//! Texts that their form shows to be pasted, line by line: exported chats, subtitles, tables, data, code, letters.

use std::sync::LazyLock;

use regex::Regex;

/// So many lines of a form make it one.
const LINES_MIN: usize = 2;
/// A longer line is not the head of a message in a chat.
const HEAD_CHARS_MAX: usize = 60;
/// Formal salutations, in lower case; what follows one that is not the first line is a letter.
const SALUTATIONS: [&str; 21] = [
    "dear sir",
    "dear mr",
    "dear ms",
    "dear mrs",
    "to whom it may",
    "sehr geehrte",
    "madame,",
    "monsieur,",
    "madame, monsieur",
    "estimado",
    "estimada",
    "gentile ",
    "egregio",
    "geachte",
    "szanown",
    "prezad",
    "уважаем",
    "шановн",
    "sayın ",
    "尊敬的",
    "拝啓",
];
/// A line that is nothing but code. SQL is told from prose by its capitals.
#[allow(clippy::expect_used)] // A test reads it.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    let imports =
        r#"import [\w.]+(?:(?:,| as) [\w., ]+)?;?|import .+ from ['"].+|from \S+ import .+"#;
    let heads = r"(?:using|package) [\w.]+;|#!/.*|#include .*";
    let blocks = r"(?:async )?(?:def|if|elif|for|while|class|with|function)\b.*\):";
    let sql = r"(?:SELECT|INSERT INTO|DELETE FROM|CREATE (?:TABLE|VIEW|INDEX)|UPDATE \S+ SET|WITH \S+ AS) .*";
    Regex::new(&format!("^(?:{imports}|{heads}|{blocks}|{sql})$")).expect("a valid expression")
});

/// Which forms a text has.
pub(super) struct Forms {
    has_chat: bool,
    has_dialogue: bool,
    has_table: bool,
    /// With a line between head and rows, as Markdown has it.
    has_marked_table: bool,
    has_code: bool,
    has_json: bool,
}

impl Forms {
    pub fn of(text: &str) -> Self {
        let count = |is_one: fn(&str) -> bool| {
            text.lines().filter(|line| is_one(line.trim())).take(LINES_MIN).count() == LINES_MIN
        };
        Self {
            has_chat: count(is_chat_head),
            // Others write lists so.
            has_dialogue: count(|line| line.starts_with("— "))
                && text
                    .lines()
                    .any(|line| line.starts_with("— ") && line.trim_end().ends_with('?')),
            has_json: text.lines().any(|line| line.trim_start().starts_with('{')),
            has_table: count(is_row),
            has_marked_table: text.lines().any(|line| is_ruler(line.trim())),
            has_code: count(|line| line.starts_with("-- "))
                || without_fences(text)
                    .any(|line| is_code_line(line) || CODE.is_match(line.trim())),
        }
    }

    /// Whether the lines from here to the next blank one are somebody else's.
    pub fn begins_anothers(&self, line: &str) -> bool {
        line.contains(" --> ") && line.starts_with(|c: char| c.is_ascii_digit())
            || self.has_chat && is_chat_head(line.trim())
    }

    /// Whether a line is pasted by its form.
    pub fn is_pasted(&self, line: &str) -> bool {
        let plain = line.trim();
        let is_comment = ["#", "--", "%", "//"].iter().any(|mark| plain.starts_with(mark))
            || line.starts_with(' ') && plain.starts_with('*');
        is_code_line(line)
            || self.has_code && (is_comment || CODE.is_match(plain))
            || self.has_dialogue && plain.starts_with("— ")
            || self.has_table && is_row(plain)
            || self.has_marked_table && plain.contains('|')
            || is_data(plain)
            || self.has_json && plain.starts_with('"') && plain.contains("\":")
    }
}

fn without_fences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = super::is_fence(line.trim());
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A letter begins: all that follows is of its author.
pub(super) fn is_salutation(plain: &str) -> bool {
    let ends = plain.ends_with([',', ':', '：', '!', '，']);
    ends && plain.chars().count() <= HEAD_CHARS_MAX
        && (SALUTATIONS.iter().any(|begins| plain.starts_with(begins)) || plain.ends_with("您好："))
}

/// "Anna — Today at 18:02", "林晓  2025/1/18 21:05": ends in a time of day, and begins with a name.
fn is_chat_head(line: &str) -> bool {
    let bare =
        line.trim_end_matches(|c: char| c.is_alphabetic() || c == ' ' || c == ']' || c == ')');
    let clock = bare.rsplit([' ', '\u{a0}', ',']).next().unwrap_or_default();
    let parts: Vec<&str> = clock.split(':').collect();
    let is_clock = (2..=3).contains(&parts.len())
        && parts
            .iter()
            .all(|part| (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit()));
    is_clock
        && line.starts_with(char::is_alphabetic)
        && line.chars().count() <= HEAD_CHARS_MAX
        && (line.contains("  ")
            || line.contains(" — ")
            || line.contains(" | ")
            || line.contains('\t'))
}

/// Code that stands without a fence, or a comment in it; `#` at the beginning of a line is a heading.
fn is_code_line(line: &str) -> bool {
    let (plain, is_indented) = (line.trim(), line.starts_with([' ', '\t']));
    let begins = |marks: &[&str]| marks.iter().any(|mark| plain.starts_with(mark));
    let calls =
        plain.split('(').rev().skip(1).any(|before| before.ends_with(char::is_alphanumeric));
    let ends = ["{", "}", "];"].iter().any(|mark| plain.ends_with(mark));
    ends || plain.ends_with(';') && plain.contains(['(', '='])
        || calls && begins(&["return ", "def ", "fn ", "function ", "class ", "await "])
        || begins(&["//", "/*"])
        || is_indented && begins(&["# ", "-- "])
}

/// Of a table: three or more cells.
fn is_row(line: &str) -> bool {
    let line = line.replace("; ", " ");
    [';', '\t', '|'].iter().any(|mark| line.matches(*mark).count() >= 2) && !line.contains("||")
}

fn is_ruler(line: &str) -> bool {
    line.contains("--") && line.contains('|') && line.chars().all(|c| "-|: ".contains(c))
}

/// JSON, and LaTeX.
fn is_data(line: &str) -> bool {
    let is_json = (line.starts_with(['{', '[']) && line.contains("\":")) || line.starts_with("[{");
    let is_latex =
        line.starts_with('\\') && line.contains('{') && line[1..].starts_with(char::is_alphabetic);
    is_json || is_latex
}
