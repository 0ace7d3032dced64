//! The searchable parts of a document: paragraphs, joined up to the size of a passage, starting anew at headings. When a
//! document changes, unchanged parts keep their embeddings.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Document, DocumentError};
use super::store;
use crate::accounts::{AgentId, UserId};
use crate::embedding::Embeddings;
use crate::memories::passages;
use crate::memories::write::{DocumentLines, NewSource, SourceOwner, write};
use crate::search::reader::on_a_thread;
use crate::texts::edit::count_line_ends;

/// Limit of a part (GoClaw's).
const PART_CHARS_MAX: usize = 1_000;
/// A heading starts a new part only if the part before has this many characters.
const SECTION_CHARS_MIN: usize = 200;
/// Limit per statement.
const PARTS_AT_ONCE: usize = 200;

/// A piece of a document's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPiece {
    pub text: String,
    /// First and last line, inclusive, from 1.
    pub lines: (i32, i32),
}

/// Splits a document's text. Only blanks are dropped.
pub fn cut(text: &str) -> Vec<TextPiece> {
    let mut pieces = Vec::new();
    let (mut line, mut at) = (1, 0);
    for section in sections(text) {
        for piece in passages::cut_to(section, PART_CHARS_MAX) {
            let begins = piece.as_ptr() as usize - text.as_ptr() as usize;
            line += lines_in(&text[at..begins]);
            let first = line;
            line += lines_in(piece);
            at = begins + piece.len();
            pieces.push(TextPiece { text: piece.to_owned(), lines: (first, line) });
        }
    }
    pieces
}

fn lines_in(text: &str) -> i32 {
    count_line_ends(text) as i32
}

/// Splits before headings.
fn sections(text: &str) -> Vec<&str> {
    let mut sections = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive('\n') {
        if line.starts_with('#') && at - begin >= SECTION_CHARS_MIN {
            sections.push(&text[begin..at]);
            begin = at;
        }
        at += line.len();
    }
    sections.push(&text[begin..]);
    sections
}

/// Replaces a document's parts by those of this text; `None` removes them. Needs a transaction of
/// [`Db::as_writer`](crate::db::Db::as_writer).
pub async fn set(
    conn: &mut PgConnection,
    embeddings: &Embeddings,
    user: UserId,
    agent: Option<AgentId>,
    document: &Document,
    text: Option<String>,
    now: OffsetDateTime,
) -> Result<(), DocumentError> {
    let known = store::list_parts(&mut *conn, user, document.id).await?;
    let cutting = on_a_thread(move || text.map(|text| cut(&text)).unwrap_or_default());
    let pieces = cutting.await?;
    let mut by_hash: HashMap<String, Vec<i64>> = HashMap::new();
    for part in known.iter().rev() {
        let hash = BASE64.encode(&part.content_hash);
        by_hash.entry(hash).or_default().push(part.id);
    }
    let mut sources = Vec::new();
    let mut stay: Vec<(i64, (i32, i32))> = Vec::new();
    for piece in &pieces {
        let source = NewSource {
            agent_id: agent.map(|agent| agent.0),
            owner: SourceOwner::given(document.owner_id),
            project_id: document.project_id(),
            source: "agent",
            trust: document.trust.as_str(),
            document: Some(DocumentLines {
                document_id: document.id,
                first_line: piece.lines.0,
                last_line: piece.lines.1,
            }),
            ..NewSource::new("document", &piece.text, None, &[], now).compared_exactly()
        };
        match by_hash.get_mut(&source.content_hash).and_then(Vec::pop) {
            Some(id) => stay.push((id, piece.lines)),
            None => sources.push(source),
        }
    }
    let was: HashMap<i64, (i32, i32)> = known.iter().map(|part| (part.id, part.lines)).collect();
    stay.retain(|(id, lines)| was.get(id) != Some(lines));
    store::move_parts(&mut *conn, user, &stay).await?;
    for some in sources.chunks(PARTS_AT_ONCE) {
        let written = write(&mut *conn, user, some, now).await?;
        embeddings.see_to(&mut *conn, user, written.noted).await?;
    }
    // Last: an entity that nothing names goes with them, and the new parts may name it.
    let gone: Vec<i64> = by_hash.into_values().flatten().collect();
    store::remove_parts(&mut *conn, &gone).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Vec<(String, (i32, i32))> {
        cut(text).into_iter().map(|p| (p.text, p.lines)).collect()
    }

    #[test]
    fn a_short_text_is_one_part_and_says_its_lines() {
        assert_eq!(
            told("\n\nLikes tea.\nAnd cake.\n\n"),
            [("Likes tea.\nAnd cake.".to_owned(), (3, 4))]
        );
        assert!(told(" \n \n").is_empty());
    }

    #[test]
    fn parts_begin_at_headings_and_are_short() {
        let section =
            |name: &str| format!("# {name}\n\n{}\n\n", "Some words of it. ".repeat(20).trim());
        let text = section("One") + &section("Two") + &"Long. ".repeat(600);
        let parts = told(&text);
        assert!(parts[0].0.starts_with("# One") && parts[0].1 == (1, 3), "{parts:?}");
        assert!(parts[1].0.starts_with("# Two") && parts[1].1.0 == 5, "{parts:?}");
        assert!(parts.iter().all(|(text, _)| text.chars().count() <= PART_CHARS_MAX));
        // No word is lost, and the line numbers are right.
        let kept: String = parts.iter().flat_map(|(text, _)| text.split_whitespace()).collect();
        assert_eq!(kept, text.split_whitespace().collect::<String>());
        let lines: Vec<&str> = text.split('\n').collect();
        for (part, (first, last)) in &parts {
            let there = lines[*first as usize - 1..*last as usize].join("\n");
            assert!(there.contains(part.as_str()), "{part} {first} {last}");
        }
    }

    #[test]
    fn a_change_in_one_section_leaves_the_others() {
        let section = |name: &str, n: usize| {
            format!("# {name}\n\n{}\n", format!("Words of {name}. ").repeat(n))
        };
        let before = told(&(section("One", 20) + &section("Two", 20) + &section("Three", 20)));
        let after = told(&(section("One", 25) + &section("Two", 20) + &section("Three", 20)));
        let texts =
            |parts: &[(String, (i32, i32))]| parts.iter().map(|p| p.0.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&before)[1..], texts(&after)[1..]);
        assert_ne!(texts(&before)[0], texts(&after)[0]);
    }

    #[test]
    fn a_bomb_of_headings_makes_no_more_parts_than_its_length() {
        let text = "# a\n".repeat(250_000);
        assert!(cut(&text).len() <= text.len() / SECTION_CHARS_MIN + 1);
        let text = "- x\n".repeat(100_000);
        assert!(cut(&text).len() < 2_500);
    }
}
