//! Passages, the units that search indexes. A text is cut at paragraph and sentence ends into pieces that fit an embedding
//! model's window; a short text is one passage. It is embedded after the source's key. Each has its terms and the hash of the
//! embedded text, so that known text is not embedded again. They are written with their source ([`super::write`]);
//! [`make_some`] is the job for older sources.

mod store;
pub mod terms;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use time::OffsetDateTime;

use super::mentions::{self, NamingSource};
use super::{ItemId, with_key};
use crate::db::{Db, UserId, note_changes};
use crate::embedding::{EmbeddingError, Embeddings, tokens_of};
use crate::queue;

/// Sources per transaction.
const SOURCES_A_STEP: i64 = 200;

/// Limit of a passage, as counted by [`tokens`]. Small embedding models read 256 tokens, of which two are special tokens.
pub const WINDOW_TOKENS: usize = 240;
/// Limit of a passage with its key.
const WITH_KEY_TOKENS: usize = 254;
/// Length of the truncated SHA-256 of a passage.
const HASH_BYTES: usize = 16;

/// A new passage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Passage {
    /// Index in the text, from 0.
    pub n: i16,
    /// Offset in the text, in characters.
    pub start: i32,
    /// In characters.
    pub length: i32,
    /// How many characters of the key are embedded before it; `None` without a key.
    pub key_chars: Option<i32>,
    /// Base64; of the embedded text, which `embedding/drain/store.rs` reads.
    pub hash: String,
    /// [`terms::of`]
    pub terms: String,
}

/// The passages of a text. Its key and tags become terms of each.
pub fn of_text(content: &str, key: Option<&str>, tags: &[String]) -> Vec<Passage> {
    let mut passages = Vec::new();
    let (mut start, mut at) = (0, 0);
    for (n, piece) in (0_i16..).zip(cut(content)) {
        // A piece is a slice of the text, so the pointers give its offset.
        let begins = piece.as_ptr() as usize - content.as_ptr() as usize;
        start += chars(&content[at..begins]);
        let length = chars(piece);
        let embedded_key = key.map(|key| key_before(key, piece));
        let embedded = with_key(embedded_key, piece);
        passages.push(Passage {
            n,
            start,
            length,
            key_chars: embedded_key.map(chars),
            hash: BASE64.encode(&Sha256::digest(embedded.as_bytes())[..HASH_BYTES]),
            terms: BASE64.encode(terms::of(piece, key, tags)),
        });
        (start, at) = (start + length, begins + piece.len());
    }
    passages
}

/// As much of a key as fits into the model's window before this passage.
fn key_before<'a>(key: &'a str, piece: &str) -> &'a str {
    // One token for the colon.
    let room = WITH_KEY_TOKENS.saturating_sub(tokens(piece) + 1);
    let mut count = TokenCounts::default();
    let end = key.char_indices().find(|(_, c)| {
        count.take(*c);
        count.total > room
    });
    end.map_or(key, |(at, _)| &key[..at])
}

/// A text within our limits never overflows.
fn chars(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX)
}

/// Where to cut, in ascending order of preference.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Border {
    Word,
    Sentence,
    Paragraph,
}

/// Cuts a text into pieces of at most [`WINDOW_TOKENS`], trimming blanks. Nothing else is dropped.
pub fn cut(text: &str) -> impl Iterator<Item = &str> {
    cut_to(text, usize::MAX)
}

/// [`cut`] with an additional limit on the characters of a piece.
pub fn cut_to(text: &str, chars_max: usize) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(first_end(rest, chars_max));
        rest = after.trim_start();
        Some(piece.trim_end())
    })
}

/// The end of the first piece: the last of the best borders in the second half of the window.
fn first_end(text: &str, chars_max: usize) -> usize {
    let mut count = TokenCounts::default();
    let mut best: Option<(Border, usize)> = None;
    let mut before = None;
    for (chars, (at, c)) in (1..).zip(text.char_indices()) {
        count.take(c);
        if count.total > WINDOW_TOKENS || chars > chars_max {
            return best.map_or(at, |(_, end)| end);
        }
        if let Some(border) = before.and_then(|before| border(before, c))
            && (count.total > WINDOW_TOKENS / 2 || chars > chars_max / 2)
            && best.is_none_or(|(known, _)| known <= border)
        {
            best = Some((border, at));
        }
        before = Some(c);
    }
    text.len()
}

/// The border between `before` and `c`.
fn border(before: char, c: char) -> Option<Border> {
    match (before, c) {
        ('\n', '\n') => Some(Border::Paragraph),
        (_, '\n') => Some(Border::Sentence),
        ('.' | '!' | '?' | '…', c) if c.is_whitespace() => Some(Border::Sentence),
        ('。' | '！' | '？' | '।', _) => Some(Border::Sentence),
        (_, c) if c.is_whitespace() => Some(Border::Word),
        _ => None,
    }
}

/// Estimates the tokens of a text: slightly more than most models use for English, and one per letter for scripts with
/// large alphabets.
pub fn tokens(text: &str) -> usize {
    let mut count = TokenCounts::default();
    text.chars().for_each(|c| count.take(c));
    count.total
}

#[derive(Default)]
struct TokenCounts {
    total: usize,
    /// Letters and digits of the current word so far.
    letters: usize,
    digits: usize,
}

impl TokenCounts {
    fn take(&mut self, c: char) {
        let is_letter = c.is_ascii_alphabetic();
        let is_digit = c.is_ascii_digit();
        self.letters = if is_letter { self.letters + 1 } else { 0 };
        self.digits = if is_digit { self.digits + 1 } else { 0 };
        let begins = match (is_letter, is_digit) {
            // One token for the first five letters of a word, and one for every two letters after that.
            (true, _) => self.letters == 1 || (self.letters > 5 && self.letters.is_multiple_of(2)),
            (_, true) => !self.digits.is_multiple_of(2),
            _ => !c.is_whitespace(),
        };
        self.total += usize::from(begins);
    }
}

/// Progress of a user's passage rebuild.
#[derive(Clone, Copy, Debug)]
pub struct PassageRebuild {
    after: i64,
    /// Sources to process in total, when the rebuild began.
    pub sources: i64,
    /// Sources processed so far.
    pub done: i64,
}

struct PassageSource {
    id: i64,
    content: String,
    key: Option<String>,
    tags: Vec<String>,
    created_at: OffsetDateTime,
}

#[derive(Serialize)]
struct SourcePassages {
    source_id: i64,
    passages: Vec<Passage>,
}

/// Users with a pending passage rebuild.
pub async fn users_due(db: &Db) -> Result<Vec<UserId>, sqlx::Error> {
    store::list_users_due(&mut *db.system_connection().await?).await
}

/// Progress of a user's rebuild; `None` if nothing is pending.
pub async fn due_of(db: &Db, user: UserId) -> Result<Option<PassageRebuild>, sqlx::Error> {
    db.for_user(user, store::find_due).await
}

/// Rebuilds the passages of the next batch of sources and stores the progress in the same transaction. Searches still work:
/// existing embeddings are kept, but for those of the builtin model that were made without a key. Returns the number of
/// sources; `None` if nothing is left.
pub async fn make_some(
    db: &Db,
    embeddings: &Embeddings,
    user: UserId,
) -> Result<Option<usize>, EmbeddingError> {
    let Some(due) = due_of(db, user).await? else {
        return Ok(None);
    };
    let now = embeddings.now();
    let mut tx = db.as_writer(user).await?;
    let texts = store::list_texts(&mut tx, user, due.after, SOURCES_A_STEP).await?;
    let ids: Vec<i64> = texts.iter().map(|text| text.id).collect();
    let (last, count) = (ids.last().copied(), ids.len());
    let cut = tokio::task::spawn_blocking(move || texts.iter().map(SourcePassages::new).unzip());
    let (cut, naming): (Vec<SourcePassages>, Vec<NamingSource>) =
        cut.await.map_err(|error| sqlx::Error::Io(error.into()))?;
    replace(&mut tx, user, &cut, false, now).await?;
    mentions::write(&mut tx, user, &naming, now).await?;
    note_changes(&mut tx, &ids).await?;
    store::note_done(&mut tx, user, last, count as i64).await?;
    tx.commit().await?;
    Ok(last.map(|_| count))
}

/// Rebuilds the passages of an item whose key or tags changed.
pub(super) async fn remake(
    conn: &mut PgConnection,
    user: UserId,
    id: ItemId,
    content: &str,
    key: Option<&str>,
    tags: &[String],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let of = SourcePassages { source_id: id.0, passages: of_text(content, key, tags) };
    replace(conn, user, &[of], true, now).await?;
    note_changes(conn, &[id.0]).await
}

/// [`store::replace`], and enqueues the job that embeds.
async fn replace(
    conn: &mut PgConnection,
    user: UserId,
    of: &[SourcePassages],
    is_sent: bool,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    let chars = store::replace(conn, user, of, is_sent, now).await?;
    match usize::try_from(chars).unwrap_or_default() {
        0 => Ok(()),
        chars => queue::push(conn, user, queue::EMBED, tokens_of(chars), now).await,
    }
}

impl SourcePassages {
    fn new(text: &PassageSource) -> (Self, NamingSource) {
        let of = Self {
            source_id: text.id,
            passages: of_text(&text.content, text.key.as_deref(), &text.tags),
        };
        (of, NamingSource::of_text(text.id, text.created_at, &text.content))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<&str> {
        cut(text).collect()
    }

    #[test]
    fn a_short_text_is_one_passage() {
        assert_eq!(pieces(" Lives in Porto. \n"), ["Lives in Porto."]);
        assert!(pieces(" \n").is_empty());
    }

    #[test]
    fn a_long_text_is_cut_at_paragraphs_then_sentences_then_words() {
        let sentence = "The heron crosses the river at dawn. ";
        let paragraph = sentence.repeat(15);
        let text = format!("{paragraph}\n\n{paragraph}\n\n{paragraph}");
        let cut = pieces(&text);
        assert_eq!(cut, [paragraph.trim(); 3]);
        for piece in pieces(&sentence.repeat(100)) {
            assert!(piece.starts_with("The ") && piece.ends_with("dawn."), "{piece}");
        }
        for piece in pieces(&"heron ".repeat(1_000)) {
            assert!(piece.starts_with("heron") && piece.ends_with("heron"), "{piece}");
        }
    }

    #[test]
    fn no_passage_is_longer_than_the_window_and_no_word_is_lost() {
        let words: String = (0..4_000).map(|n| format!("w{n} ")).collect();
        for text in [
            words.as_str(),
            &"語".repeat(20_000),
            &"x".repeat(20_000),
            &"щука ".repeat(4_000),
            &"-=".repeat(10_000),
            &"One. Two! Three? ".repeat(1_000),
        ] {
            let cut = pieces(text);
            assert!(cut.iter().all(|piece| tokens(piece) <= WINDOW_TOKENS));
            assert!(cut.len() > 10, "{}", cut.len());
            let kept: String = cut.concat().split_whitespace().collect();
            assert_eq!(kept, text.split_whitespace().collect::<String>());
        }
    }

    #[test]
    fn a_word_before_a_long_text_without_blanks_is_no_passage_of_its_own() {
        let text = format!("Anna: {}", "語".repeat(1_000));
        let first = pieces(&text)[0];
        assert!(tokens(first) > WINDOW_TOKENS / 2, "{first}");
    }

    #[test]
    fn passages_say_where_they_stand() {
        let text = format!("  Ä{}\n\nÖ{}.", " große".repeat(100), " kleine".repeat(90));
        let passages = of_text(&text, None, &[]);
        assert!(passages.len() > 1);
        let chars: Vec<char> = text.chars().collect();
        for (passage, piece) in passages.iter().zip(cut(&text)) {
            let (start, length) = (passage.start as usize, passage.length as usize);
            let told: String = chars[start..start + length].iter().collect();
            assert_eq!(told, piece);
        }
        assert_eq!(passages[0].start, 2);
    }

    #[test]
    fn key_and_tags_are_terms_of_each_passage_and_the_key_is_embedded_before_it() {
        let text = "Große Städte. ".repeat(100);
        let (without, zoo) = (of_text(&text, None, &[]), ["zoo".to_owned()]);
        assert!(without.len() > 1);
        for (key, tags) in [(Some("size"), &[][..]), (None, &zoo[..])] {
            let with = of_text(&text, key, tags);
            for (with, without) in with.iter().zip(&without) {
                assert_eq!((with.start, with.length), (without.start, without.length));
                assert_ne!(with.terms, without.terms);
                assert_eq!(with.hash == without.hash, key.is_none());
                assert_eq!(with.key_chars, key.map(chars));
            }
        }
        let told = &of_text("dark_ui: true", None, &[])[0];
        assert_eq!(of_text("true", Some("dark_ui"), &[])[0].hash, told.hash);
    }

    #[test]
    fn of_a_long_key_as_much_is_embedded_as_fits_into_the_window() {
        let (key, long) = ("語".repeat(128), "語".repeat(1_000));
        assert_eq!(of_text("true", Some(&key), &[])[0].key_chars, Some(128));
        for (passage, piece) in of_text(&long, Some(&key), &[]).iter().zip(cut(&long)) {
            let chars = passage.key_chars.expect("a key");
            assert!(chars > 10 && tokens(piece) + (chars as usize) < WITH_KEY_TOKENS);
        }
    }
}
