//! Guesses: what is kept of a stretch without a model. A guess has no key, stands beside what is held, and never
//! supersedes or archives anything. It is made once, and goes when a model has read its stretch, unless somebody has
//! decided about it.

use sqlx::PgConnection;
use time::OffsetDateTime;

use super::model::{Reading, ReadingEnd, SourcedStatement};
use super::transcript::said_at;
use super::{fallback, likeness};
use crate::accounts::Viewer;
use crate::memories::learned::{self, Guess};
use crate::memories::{ItemId, ItemSource, Period, Trust, replace_in};
use crate::sessions::StoredMessage;
use crate::sessions::model::SessionExtraction;
use crate::texts::is_same;

/// Lower than a model's, since phrases understand nothing.
const CONFIDENCE: i16 = 60;

pub(super) struct MadeGuesses {
    pub new: Vec<SourcedStatement>,
    /// How many were made before; what became of those is left as it is.
    pub made_before: i32,
}

/// What these messages state, except what is known, or quoted by a fact that a model has found.
pub(super) fn make(
    messages: &[StoredMessage],
    is_flush: bool,
    known: &[Guess],
    found: &[SourcedStatement],
) -> MadeGuesses {
    let open = match is_flush {
        true => fallback::left_open(messages),
        false => Vec::new(),
    };
    let mut made = MadeGuesses { new: Vec::new(), made_before: 0 };
    for statement in fallback::statements(messages).into_iter().chain(open) {
        let sentence = statement.sentence;
        if known.iter().any(|guess| is_same(&guess.content, &sentence)) {
            made.made_before += 1;
            continue;
        }
        if found.iter().any(|fact| quotes(fact, &sentence)) {
            continue;
        }
        let (source, trust) = match statement.is_asked {
            true => (ItemSource::UserExplicit, Trust::User),
            false => (ItemSource::Guess, Trust::Agent),
        };
        made.new.push(SourcedStatement {
            theme: statement.category.as_str(),
            item_type: statement.category.item_type(),
            key: None,
            quote: Some(sentence.clone()),
            value: sentence,
            source,
            trust,
            days: statement.category.days(),
            period: Period::default(),
            // What a person says of themselves, or asks to remember, holds in all of them.
            is_of_project: statement.category.is_of_work(),
            confidence: CONFIDENCE,
            said_at: said_at(messages, statement.position),
            place: statement.position,
            position: Some(statement.position),
        });
    }
    made
}

/// The fact comes from this sentence.
fn quotes(fact: &SourcedStatement, sentence: &str) -> bool {
    let quote = fact.quote.as_deref().unwrap_or_default();
    likeness::flat(quote).contains(&likeness::flat(sentence))
}

/// Archives the open guesses of what a model has read, before its facts are written, which may have the same words. Returns
/// those that a fact comes from, each with the fact's place in `found`, for [`link`].
pub(super) async fn retire(
    conn: &mut PgConnection,
    viewer: &Viewer,
    row: &SessionExtraction,
    reading: &Reading,
    found: &[SourcedStatement],
    now: OffsetDateTime,
) -> Result<Vec<(ItemId, usize)>, sqlx::Error> {
    let read_to = match (&reading.end, reading.read_to) {
        (ReadingEnd::Read, _) => row.last_position,
        (_, Some(read_to)) => read_to,
        (_, None) => return Ok(Vec::new()),
    };
    let positions = row.first_position..=read_to;
    let session = row.session_id.0;
    let known = learned::guesses_of(&mut *conn, viewer.user_id, session, &positions).await?;
    let (mut same, mut others) = (Vec::new(), Vec::new());
    for guess in known.into_iter().filter(|guess| guess.is_open) {
        // What has a key is a model's.
        let says_so = |fact: &SourcedStatement| {
            fact.key.is_some() && fact.trust >= guess.trust && quotes(fact, &guess.content)
        };
        match found.iter().position(says_so) {
            Some(fact) => same.push((guess.id, fact)),
            // What the person asked to remember stays, and of a very long stretch what the model may not have seen.
            None if guess.is_asked || reading.skipped_chars > 0 => {}
            None => others.push(guess.id),
        }
    }
    let merged: Vec<ItemId> = same.iter().map(|(guess, _)| *guess).collect();
    learned::retire_guesses(conn, viewer, &merged, &others, now).await?;
    Ok(same)
}

/// Links guesses to the items that their facts became; `None` for a fact that could not be stored.
pub(super) async fn link(
    conn: &mut PgConnection,
    viewer: &Viewer,
    same: &[(ItemId, usize)],
    items: &[Option<ItemId>],
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    for (guess, fact) in same {
        if let Some(item) = items.get(*fact).copied().flatten() {
            replace_in(&mut *conn, viewer.user_id, &[guess.0], item, now).await?;
        }
    }
    Ok(())
}
