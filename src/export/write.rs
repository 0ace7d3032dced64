//! The export, one piece at a time: each piece is read in its own short transaction, so that a slow client
//! holds no transaction open and memory is bounded by one piece. What is added after the start is not
//! included. It never contains a secret.

use serde::Serialize;
use serde_json::json;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::documents::store as documents;
use super::entities::store as entities;
use super::episodes::store as episodes;
use super::origins::UnwantedLine;
use super::origins::store as origins;
use super::{FORM_VERSION, sessions, store};
use crate::db::{Db, UserId};
use crate::memories::{Day, learned};

/// Items per piece: at most about 16 MB, if each has the maximum length.
const ITEMS_A_PIECE: i64 = 200;
/// Themes and calls, which are short.
const ROWS_A_PIECE: i64 = 1_000;
/// Messages per piece: at most about 40 MB, if each has the maximum length.
const MESSAGES_A_PIECE: i64 = 100;
/// A revision may have 1 MiB.
const REVISIONS_A_PIECE: i64 = 10;

/// What there is to export.
#[derive(Clone, Copy, Debug)]
pub struct Overview {
    pub items: i64,
    pub calls: i64,
    /// Estimated size of the file.
    pub bytes: i64,
}

impl Overview {
    /// Counts before anything is written.
    pub async fn of(db: &Db, user: UserId) -> Result<Self, sqlx::Error> {
        let mut tx = db.as_user(user).await?;
        let overview = store::weigh(&mut tx, user).await?;
        tx.commit().await?;
        Ok(overview)
    }
}

/// An export in progress.
pub struct Export {
    db: Db,
    user: UserId,
    stage: Stage,
    /// The newest rows at the start.
    last: store::Last,
    counts: Counts,
    now: OffsetDateTime,
}

enum Stage {
    Head,
    Themes {
        after: i64,
    },
    Items {
        after: i64,
    },
    Entities {
        after: i64,
    },
    Relations {
        after: i64,
    },
    Documents {
        after: i64,
    },
    /// By document, and revision within it.
    Revisions {
        after: (i64, i32),
    },
    Episodes {
        after: i64,
    },
    Origins {
        after: i64,
    },
    Sessions {
        after: i64,
    },
    /// By session, and position within it.
    Messages {
        after: (i64, i32),
    },
    Extractions {
        after: i64,
    },
    Calls {
        after: i64,
    },
    End,
    Done,
}

/// Record counts for the last line, which show whether a file is complete.
#[derive(Clone, Copy, Debug, Default, Serialize)]
struct Counts {
    themes: usize,
    agents: usize,
    items: usize,
    events: usize,
    entities: usize,
    relations: usize,
    documents: usize,
    revisions: usize,
    episodes: usize,
    origins: usize,
    sessions: usize,
    messages: usize,
    extractions: usize,
    calls: usize,
}

/// One line, with the kind of its record.
#[derive(Serialize)]
struct Line<'a, T: Serialize> {
    record: &'static str,
    #[serde(flatten)]
    row: &'a T,
}

impl Export {
    /// Reads nothing until the first piece is requested.
    pub fn new(db: &Db, user: UserId, now: OffsetDateTime) -> Self {
        Self {
            db: db.clone(),
            user,
            stage: Stage::Head,
            last: store::Last::default(),
            counts: Counts::default(),
            now,
        }
    }

    /// Exports the state as it was known then.
    pub fn as_of(mut self, day: &Day) -> Self {
        self.last.as_of = day.as_of;
        self
    }

    /// Items, messages and calls written so far.
    pub fn written(&self) -> u64 {
        (self.counts.items + self.counts.messages + self.counts.calls) as u64
    }

    /// The next whole lines; `None` at the end. After an error the export is over, and the file has no last
    /// line.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, sqlx::Error> {
        loop {
            let mut lines = Vec::new();
            let stage = std::mem::replace(&mut self.stage, Stage::Done);
            self.stage = match stage {
                Stage::Head => self.head(&mut lines).await?,
                Stage::Themes { after } => self.themes(after, &mut lines).await?,
                Stage::Items { after } => self.items(after, &mut lines).await?,
                Stage::Entities { after } => self.entities(after, &mut lines).await?,
                Stage::Relations { after } => self.relations(after, &mut lines).await?,
                Stage::Documents { after } => self.documents(after, &mut lines).await?,
                Stage::Revisions { after } => self.revisions(after, &mut lines).await?,
                Stage::Episodes { after } => self.episodes(after, &mut lines).await?,
                Stage::Origins { after } => self.origins(after, &mut lines).await?,
                Stage::Sessions { after } => self.sessions(after, &mut lines).await?,
                Stage::Messages { after } => self.messages(after, &mut lines).await?,
                Stage::Extractions { after } => self.extractions(after, &mut lines).await?,
                Stage::Calls { after } => self.calls(after, &mut lines).await?,
                Stage::End => {
                    let end = json!({ "record": "end", "counts": self.counts });
                    write_value(&mut lines, &end);
                    Stage::Done
                }
                Stage::Done => return Ok(None),
            };
            if !lines.is_empty() {
                return Ok(Some(lines));
            }
        }
    }

    async fn head(&mut self, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        self.last = store::find_last(&mut tx, self.user, self.last.as_of).await?;
        let account = store::find_account(&mut tx, self.user).await?;
        let agents = store::list_agents(&mut tx, self.user).await?;
        let settings = store::find_embedding_settings(&mut tx, self.user).await?;
        let chat = store::find_chat_settings(&mut tx, self.user).await?;
        let spent = store::list_chat_spend(&mut tx, self.user).await?;
        let summary = store::find_summary(&mut tx, self.user).await?;
        tx.commit().await?;
        // Written by hand, since the version must come first for an import to recognise the file.
        let at = self.now.format(&Rfc3339).unwrap_or_default();
        let as_of = self.last.as_of.and_then(|at| at.format(&Rfc3339).ok());
        let as_of = as_of.map_or(String::new(), |at| format!(",\"as_of\":\"{at}\""));
        let first =
            format!("{{\"keepsake_export\":{FORM_VERSION},\"exported_at\":\"{at}\"{as_of}}}\n");
        lines.extend_from_slice(first.as_bytes());
        account.iter().for_each(|row| write(lines, "account", row));
        self.counts.agents = agents.len();
        agents.iter().for_each(|row| write(lines, "agent", row));
        settings
            .iter()
            .for_each(|row| write(lines, "embedding_settings", row));
        chat.iter()
            .for_each(|row| write(lines, "chat_settings", row));
        // Only the current state: these rows have no history.
        if self.last.as_of.is_none() {
            spent.iter().for_each(|row| write(lines, "chat_spend", row));
            summary.iter().for_each(|row| write(lines, "summary", row));
        }
        Ok(Stage::Themes { after: 0 })
    }

    async fn themes(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let rows = store::list_themes(&mut tx, self.user, after, &self.last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.themes += rows.len();
        rows.iter().for_each(|row| write(lines, "theme", row));
        Ok(match rows.last() {
            Some(row) => Stage::Themes { after: row.id },
            None => Stage::Items { after: 0 },
        })
    }

    async fn items(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let mut rows = store::list_items(&mut tx, self.user, after, last, ITEMS_A_PIECE).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.id).collect();
        let events = store::list_events(&mut tx, self.user, &ids, last).await?;
        tx.commit().await?;
        self.counts.items += rows.len();
        self.counts.events += events.len();
        for (item, event) in events {
            if let Ok(at) = rows.binary_search_by_key(&item, |row| row.id) {
                rows[at].events.push(event);
            }
        }
        rows.iter().for_each(|row| write(lines, "item", row));
        Ok(match rows.last() {
            Some(row) => Stage::Items { after: row.id },
            None => Stage::Entities { after: 0 },
        })
    }

    async fn entities(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let rows = entities::list_entities(&mut tx, self.user, after, last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.entities += rows.len();
        rows.iter().for_each(|row| write(lines, "entity", row));
        Ok(match rows.last() {
            Some(row) => Stage::Entities { after: row.id },
            None => Stage::Relations { after: 0 },
        })
    }

    async fn relations(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let rows = entities::list_relations(&mut tx, self.user, after, last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.relations += rows.len();
        rows.iter().for_each(|row| write(lines, "relation", row));
        Ok(match rows.last() {
            Some(row) => Stage::Relations { after: row.id },
            None => Stage::Documents { after: 0 },
        })
    }

    async fn documents(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let rows = documents::list_documents(&mut tx, self.user, after, last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.documents += rows.len();
        rows.iter().for_each(|row| write(lines, "document", row));
        Ok(match rows.last() {
            Some(row) => Stage::Documents { after: row.id },
            None => Stage::Revisions { after: (0, 0) },
        })
    }

    async fn revisions(
        &mut self,
        after: (i64, i32),
        lines: &mut Vec<u8>,
    ) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let rows =
            documents::list_revisions(&mut tx, self.user, after, last, REVISIONS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.revisions += rows.len();
        rows.iter().for_each(|row| write(lines, "revision", row));
        Ok(match rows.last() {
            Some(row) => Stage::Revisions {
                after: (row.document, row.revision),
            },
            None => Stage::Episodes { after: 0 },
        })
    }

    async fn episodes(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let rows = episodes::list(&mut tx, self.user, after, &self.last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.episodes += rows.len();
        rows.iter().for_each(|row| write(lines, "episode", row));
        Ok(match rows.last() {
            Some(row) => Stage::Episodes { after: row.id },
            None => Stage::Origins { after: 0 },
        })
    }

    async fn origins(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let rows = origins::list(&mut tx, self.user, after, &self.last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.origins += rows.len();
        rows.iter().for_each(|row| write(lines, "origins", row));
        if let Some(row) = rows.last() {
            return Ok(Stage::Origins { after: row.item });
        }
        // It is not recorded since when they apply.
        if self.last.as_of.is_some() {
            return Ok(Stage::Sessions { after: 0 });
        }
        // Oldest first, so that an import keeps the same order.
        let unwanted = learned::list_unwanted(&self.db, self.user).await?;
        for one in unwanted.into_iter().rev() {
            let (text, item) = (one.text, one.item.map(|item| item.0));
            write(lines, "unwanted", &UnwantedLine { text, item });
        }
        Ok(Stage::Sessions { after: 0 })
    }

    async fn sessions(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let rows = sessions::list_sessions(&mut tx, self.user, after, last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.sessions += rows.len();
        rows.iter().for_each(|row| write(lines, "session", row));
        Ok(match rows.last() {
            Some(row) => Stage::Sessions { after: row.id },
            None => Stage::Messages { after: (0, 0) },
        })
    }

    async fn messages(
        &mut self,
        after: (i64, i32),
        lines: &mut Vec<u8>,
    ) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = (self.last.session, self.last.as_of.unwrap_or(self.now));
        let rows =
            sessions::list_messages(&mut tx, self.user, after, last, MESSAGES_A_PIECE).await?;
        tx.commit().await?;
        self.counts.messages += rows.len();
        rows.iter().for_each(|row| write(lines, "message", row));
        Ok(match rows.last() {
            Some(row) => Stage::Messages {
                after: (row.session, row.position),
            },
            None => Stage::Extractions { after: 0 },
        })
    }

    async fn extractions(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let rows =
            sessions::list_extractions(&mut tx, self.user, after, last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.extractions += rows.len();
        rows.iter().for_each(|row| write(lines, "extraction", row));
        Ok(match rows.last() {
            Some(row) => Stage::Extractions { after: row.id },
            None => Stage::Calls { after: 0 },
        })
    }

    async fn calls(&mut self, after: i64, lines: &mut Vec<u8>) -> Result<Stage, sqlx::Error> {
        let mut tx = self.db.as_user(self.user).await?;
        let last = &self.last;
        let rows = store::list_calls(&mut tx, self.user, after, last, ROWS_A_PIECE).await?;
        tx.commit().await?;
        self.counts.calls += rows.len();
        rows.iter().for_each(|row| write(lines, "call", row));
        Ok(match rows.last() {
            Some(row) => Stage::Calls { after: row.id },
            None => Stage::End,
        })
    }
}

fn write(lines: &mut Vec<u8>, record: &'static str, row: &impl Serialize) {
    write_value(lines, &Line { record, row });
}

/// Writes to memory, of types that JSON can represent: cannot fail.
fn write_value(lines: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(&mut *lines, value).ok();
    lines.push(b'\n');
}
