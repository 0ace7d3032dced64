//! What stands between blanks or punctuation in a question.

use crate::languages::characters::fold;

/// Limits on what is read of a question.
const CHUNKS_MAX: usize = 100;
const CHARS_MAX: usize = 1_000;

/// What stands between blanks or punctuation.
#[derive(Debug)]
pub struct Chunk {
    pub written: String,
    /// Folded.
    pub text: String,
    pub is_capital: bool,
}

/// The first chunks. Dashes and apostrophes of all kinds are `-` and `'`.
pub fn chunks(question: &str) -> Vec<Chunk> {
    let question: Vec<char> = question.chars().take(CHARS_MAX).map(plain).collect();
    let mut chunks = Vec::new();
    let mut chunk = String::new();
    for (at, c) in question.iter().copied().chain([' ']).enumerate() {
        let beside = |at: Option<usize>| at.and_then(|at| question.get(at)).copied();
        let is_in_number = matches!(c, ',' | ':')
            && [at.checked_sub(1), Some(at + 1)]
                .into_iter()
                .all(|at| beside(at).is_some_and(char::is_numeric));
        if !(c.is_whitespace() || is_separator(c) && !is_in_number) {
            chunk.push(c);
            continue;
        }
        if !chunk.is_empty() && chunks.len() < CHUNKS_MAX {
            let is_capital =
                chunk.chars().find(|c| c.is_alphabetic()).is_some_and(char::is_uppercase);
            let text = fold(&chunk);
            chunks.push(Chunk { written: std::mem::take(&mut chunk), text, is_capital });
        }
        chunk.clear();
    }
    chunks
}

fn plain(c: char) -> char {
    match c {
        '‐' | '‑' | '‒' | '–' | '—' | '−' | '~' | '〜' | '～' => '-',
        '’' | '‘' | 'ʼ' | '`' | '´' => '\'',
        other => other,
    }
}

fn is_separator(c: char) -> bool {
    matches!(
        c,
        ',' | ':' | ';' | '!' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | '"' | '|' | '*'
            | '¿' | '¡' | '«' | '»' | '‹' | '›' | '„' | '“' | '”' | '…' | '·' | '،' | '؟' | '؛' | '।' | '・'
            | '\u{3001}'..='\u{3002}' | '\u{3008}'..='\u{3011}' | '！' | '（' | '）' | '，' | '：' | '；' | '？'
    )
}

/// The words of a folded text: runs of letters, digits and their marks.
pub fn parts(folded: &str) -> Vec<String> {
    let is_border = |c: char| c.is_ascii_punctuation() || c.is_whitespace();
    folded.split(is_border).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
