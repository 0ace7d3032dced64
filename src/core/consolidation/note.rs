//! The daily note: appends what was kept from a flushed session to `memory/2026-11-25.md` (GoClaw's), once
//! per stretch and in the same transaction.

use sqlx::PgConnection;
use time::OffsetDateTime;
use time::macros::format_description;

use super::model::{Reading, SourcedStatement};
use super::{Consolidation, ConsolidationError};
use crate::accounts::Viewer;
use crate::accounts::store::find_time_zone;
use crate::db::{Db, UserId};
use crate::documents::{ChangeAuthor, DocumentError, DocumentPath, Documents};
use crate::input::Invalid;
use crate::memories::{ItemKey, ItemSource, Trust, with_key};
use crate::sessions::ledger;
use crate::sessions::model::SessionExtraction;

impl Consolidation {
    pub(super) async fn note(
        &self,
        conn: &mut PgConnection,
        viewer: &Viewer,
        row: &SessionExtraction,
        reading: &Reading,
        found: &[SourcedStatement],
    ) -> Result<(), ConsolidationError> {
        let handed = &reading.handed;
        let Some(reason) = handed.flush.as_deref().filter(|_| !handed.is_noted) else {
            return Ok(());
        };
        let (user, now) = (viewer.user_id, self.now());
        let Some(zone) = find_time_zone(&mut *conn, user).await? else {
            return Ok(());
        };
        let at = zone.local(now);
        let summary = reading.episode.as_ref().map(|episode| episode.summary.as_str());
        let summary = summary.filter(|summary| !summary.is_empty());
        if summary.is_none() && found.is_empty() {
            return Ok(());
        }
        let text = text_of(at, reason, summary, found);
        let Ok(path) = path_of(at) else {
            return Ok(());
        };
        let sources = found.iter().map(|one| one.trust);
        let sources = sources.chain(reading.episode.as_ref().map(|episode| episode.trust));
        let by = ChangeAuthor {
            agent: viewer.agent_id,
            trust: sources.fold(Trust::Agent, Trust::min),
            call: None,
        };
        let documents = Documents::new(self.db.clone(), self.embeddings.clone());
        match documents.append(&mut *conn, user, by, &path, &text).await {
            Ok(()) => ledger::note_noted(conn, user, row.id, now).await?,
            Err(DocumentError::Database(error)) => return Err(error.into()),
            // The quota is full; the facts are kept all the same.
            Err(error) => tracing::info!(user = user.0, %error, "a day's note was not written"),
        }
        Ok(())
    }
}

/// The path of the note that was written at that time.
///
/// # Errors
/// Only database errors.
pub async fn note_of(
    db: &Db,
    user: UserId,
    noted_at: Option<OffsetDateTime>,
) -> Result<Option<String>, sqlx::Error> {
    let Some(at) = noted_at else {
        return Ok(None);
    };
    let zone = db.for_user(user, find_time_zone).await?;
    let path = zone.and_then(|zone| path_of(zone.local(at)).ok());
    Ok(path.map(|path| path.to_string()))
}

/// The note of a day in the user's time zone.
fn path_of(at: OffsetDateTime) -> Result<DocumentPath, Invalid> {
    let day = at.format(format_description!("[year]-[month]-[day]"));
    DocumentPath::parse("path", &format!("memory/{}.md", day.unwrap_or_default()))
}

fn text_of(
    at: OffsetDateTime,
    reason: &str,
    summary: Option<&str>,
    found: &[SourcedStatement],
) -> String {
    let time = at.format(format_description!("[hour]:[minute]"));
    let mut text = format!("## {} ({})\n", time.unwrap_or_default(), one_line(reason));
    if let Some(summary) = summary {
        text += &format!("\n{}\n", one_line(summary));
    }
    if !found.is_empty() {
        text.push('\n');
    }
    for one in found {
        let what = match one.theme {
            "decisions" => "Decided: ",
            "to_do" => "To do: ",
            _ => "",
        };
        let told = with_key(one.key.as_ref().map(ItemKey::as_str), &one.value);
        let sign = match one.source {
            ItemSource::Guess => " (a guess)",
            _ => "",
        };
        text += &format!("- {what}{}{sign}\n", one_line(&told));
    }
    text
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
