//! The export, one piece at a time: each piece is read in its own short transaction, so that a slow client
//! holds no transaction open and memory is bounded by one piece. What is added after the start is not
//! included. It never contains a secret.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::documents::store as documents;
use super::entities::store as entities;
use super::episodes::store as episodes;
use super::kinds::{KINDS, RecordKind};
use super::lines::{EndLine, ExportBounds, ExportOverview};
use super::origins::UnwantedLine;
use super::origins::store as origins;
use super::projects::store as projects;
use super::sessions::store as sessions;
use super::signature::sign;
use super::{FORM_VERSION, store};
use crate::db::{Db, UserId};
use crate::memories::{Day, learned};
use crate::seal::Sealer;

/// Items per piece: at most about 16 MB, if each has the maximum length.
const ITEMS_A_PIECE: i64 = 200;
/// Of records that are short.
const ROWS_A_PIECE: i64 = 1_000;
/// Messages per piece: at most about 40 MB, if each has the maximum length.
const MESSAGES_A_PIECE: i64 = 100;
/// A revision may have 1 MiB.
const REVISIONS_A_PIECE: i64 = 10;

/// An export in progress.
pub struct Export {
    db: Db,
    user: UserId,
    /// Where it continues: a kind by its place in [`KINDS`], and the last row of it that was written; `None` at the end.
    position: Option<(usize, RowKey)>,
    bounds: ExportBounds,
    /// Record counts for the last line, which show whether a file is complete.
    counts: BTreeMap<&'static str, usize>,
    now: OffsetDateTime,
    sealer: Sealer,
    /// Whose address is signed.
    email: Option<String>,
    /// Of all lines before the last.
    hash: Sha256,
}

/// An id, and a position within it.
type RowKey = (i64, i32);

/// Rows of one kind.
#[derive(Default)]
struct ExportPiece {
    lines: Vec<u8>,
    rows: usize,
    /// The last row; `None`: there are no more of this kind.
    last: Option<RowKey>,
}

/// One line, with the kind of its record.
#[derive(Serialize)]
struct RecordLine<T> {
    record: &'static str,
    #[serde(flatten)]
    row: T,
}

impl Export {
    /// Reads nothing until the first piece is requested.
    pub fn new(db: &Db, sealer: &Sealer, user: UserId, now: OffsetDateTime) -> Self {
        let counted = KINDS.iter().filter_map(|(_, _, counted)| *counted);
        Self {
            db: db.clone(),
            user,
            position: Some((0, (0, 0))),
            bounds: ExportBounds::default(),
            counts: counted.chain(["events"]).map(|name| (name, 0)).collect(),
            now,
            sealer: sealer.clone(),
            email: None,
            hash: Sha256::new(),
        }
    }

    /// Counts before anything is written.
    pub async fn overview(db: &Db, user: UserId) -> Result<ExportOverview, sqlx::Error> {
        db.for_user(user, store::weigh).await
    }

    /// Exports the state as it was known then.
    pub fn as_of(mut self, day: &Day) -> Self {
        self.bounds.as_of = day.as_of;
        self
    }

    /// Items, messages and calls written so far.
    pub fn written(&self) -> u64 {
        let counts = ["items", "messages", "calls"].map(|name| self.counts[name] as u64);
        counts.iter().sum()
    }

    /// The next whole lines; `None` at the end. After an error the export is over, and the file has no last
    /// line.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, sqlx::Error> {
        let mut lines = Vec::new();
        while lines.is_empty()
            && let Some((at, after)) = self.position.take()
            && let Some((kind, name, counted)) = KINDS.get(at)
        {
            if (at, after) == (0, (0, 0)) {
                lines = self.first_line().await?;
            }
            let piece = self.piece(*kind, name, after).await?;
            lines.extend(piece.lines);
            self.hash.update(&lines);
            if let Some(count) = counted.and_then(|counted| self.counts.get_mut(counted)) {
                *count += piece.rows;
            }
            self.position = Some(piece.last.map_or((at + 1, (0, 0)), |last| (at, last)));
        }
        Ok((!lines.is_empty()).then_some(lines))
    }

    /// Also decides what belongs to the export.
    async fn first_line(&mut self) -> Result<Vec<u8>, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        self.bounds = store::find_bounds(&mut tx, self.user, self.bounds.as_of).await?;
        self.email = store::find_email(&mut tx, self.user).await?;
        tx.commit().await?;
        // Written by hand, since the version must come first for an import to recognise the file.
        let at = self.now.format(&Rfc3339).unwrap_or_default();
        let as_of = self.bounds.as_of.and_then(|at| at.format(&Rfc3339).ok());
        let as_of = as_of.map_or(String::new(), |at| format!(",\"as_of\":\"{at}\""));
        let line =
            format!("{{\"keepsake_export\":{FORM_VERSION},\"exported_at\":\"{at}\"{as_of}}}\n");
        Ok(line.into_bytes())
    }

    async fn piece(
        &mut self,
        kind: RecordKind,
        name: &'static str,
        after: RowKey,
    ) -> Result<ExportPiece, sqlx::Error> {
        use RecordKind as Kind;
        let (user, bounds, (id, _)) = (self.user, &self.bounds, after);
        let has_history = !matches!(kind, Kind::ChatSpend | Kind::Summary | Kind::Unwanted);
        if bounds.as_of.is_some() && !has_history {
            return Ok(ExportPiece::default());
        }
        let mut tx = self.db.as_user(user).await?;
        let conn = &mut *tx;
        let piece = match kind {
            Kind::Account => whole(name, store::find_account(conn, user).await?),
            Kind::Agent => whole(name, store::list_agents(conn, user).await?),
            Kind::EmbeddingSettings => {
                whole(name, store::find_embedding_settings(conn, user).await?)
            }
            Kind::ChatSettings => whole(name, store::find_chat_settings(conn, user).await?),
            Kind::ChatSpend => whole(name, store::list_chat_spend(conn, user).await?),
            Kind::Summary => whole(name, store::find_summary(conn, user).await?),
            Kind::Project => {
                let rows = projects::list(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Theme => {
                let rows = store::list_themes(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Item => {
                let rows = store::list_items(conn, user, id, bounds, ITEMS_A_PIECE).await?;
                let events: usize = rows.iter().map(|row| row.events.len()).sum();
                *self.counts.entry("events").or_default() += events;
                part(name, rows, |row| (row.id.unwrap_or_default(), 0))
            }
            Kind::Entity => {
                let rows = entities::list_entities(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Relation => {
                let rows = entities::list_relations(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Document => {
                let rows = documents::list_documents(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Revision => {
                let limit = REVISIONS_A_PIECE;
                let rows = documents::list_revisions(conn, user, after, bounds, limit).await?;
                part(name, rows, |row| (row.document, row.revision))
            }
            Kind::Episode => {
                let rows = episodes::list(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Origins => {
                let rows = origins::list(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.item, 0))
            }
            Kind::Unwanted => {
                // Oldest first, so that an import keeps the same order.
                let rows = learned::list_unwanted(conn, user).await?.into_iter().rev();
                let lines = rows
                    .map(|row| UnwantedLine { text: row.text, item: row.item.map(|item| item.0) });
                whole(name, lines)
            }
            Kind::Session => {
                let rows = sessions::list_sessions(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Message => {
                let bounds = (bounds.session, bounds.as_of.unwrap_or(self.now));
                let limit = MESSAGES_A_PIECE;
                let rows = sessions::list_messages(conn, user, after, bounds, limit).await?;
                part(name, rows, |row| (row.session, row.position))
            }
            Kind::Extraction => {
                let rows = sessions::list_extractions(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::Call => {
                let rows = store::list_calls(conn, user, id, bounds, ROWS_A_PIECE).await?;
                part(name, rows, |row| (row.id, 0))
            }
            Kind::End => {
                let (counts, email) = (&self.counts, self.email.as_deref());
                let unsigned =
                    RecordLine { record: name, row: EndLine { counts, signature: None } };
                let unsigned = serde_json::to_string(&unsigned).unwrap_or_default();
                let signature =
                    email.and_then(|email| sign(&self.sealer, email, &self.hash, &unsigned));
                whole(name, [EndLine { counts, signature }])
            }
        };
        tx.commit().await?;
        Ok(piece)
    }
}

/// A kind that is read at once.
fn whole<T: Serialize>(name: &'static str, rows: impl IntoIterator<Item = T>) -> ExportPiece {
    let rows: Vec<T> = rows.into_iter().collect();
    ExportPiece { last: None, ..part(name, rows, |_| (0, 0)) }
}

fn part<T: Serialize>(
    name: &'static str,
    rows: Vec<T>,
    key_of: impl Fn(&T) -> RowKey,
) -> ExportPiece {
    let mut lines = Vec::new();
    for row in &rows {
        // To memory, of types that JSON can represent: cannot fail.
        serde_json::to_writer(&mut lines, &RecordLine { record: name, row }).ok();
        lines.push(b'\n');
    }
    ExportPiece { lines, rows: rows.len(), last: rows.last().map(key_of) }
}
