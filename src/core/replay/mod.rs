//! Notes of what a restore of an older backup repeats: what was erased, revoked, left or switched off since, and what was
//! switched on again. A note is written in the transaction of its act; the job `backup` appends it to the file beside the
//! backups, and deletes it. It holds ids, and of an allowed endpoint the address; never content.

pub mod store;

use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use time::OffsetDateTime;

use crate::db::{Db, UserId};

/// What was done. Of opposite acts the last one holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotedAct {
    Memory,
    Session,
    Document,
    Message,
    Entity,
    Account,
    TokenRevoked,
    ServiceTokenRevoked,
    AccountDisabled,
    AccountEnabled,
    AdminDemoted,
    AdminPromoted,
    TeamLeft,
    TeamReadOnly,
    TeamWritable,
    WebhookDeleted,
    AgentOff,
    AgentOn,
    MemoryOff,
    MemoryOn,
    ChatOff,
    ChatOn,
    EmbeddingsOff,
    EmbeddingsOn,
    ChatEndpointRemoved,
    EmbeddingEndpointRemoved,
    EndpointDisallowed,
    EndpointAllowed,
}

impl NotedAct {
    /// As in the column and in the file.
    fn as_column(self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        value.as_str().unwrap_or_default().to_owned()
    }

    /// The column's CHECK allows known values only.
    fn of_column(text: &str) -> Result<Self, sqlx::Error> {
        serde_json::from_value(text.into()).map_err(|error| sqlx::Error::Decode(error.into()))
    }
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub what: NotedAct,
    /// 0 for the server's own.
    pub user: i64,
    /// `None` for an erased account, 0 for another act about an account.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<i64>,
    /// Of an allowed endpoint: its purpose, host and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Of a message, in the session of this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub position: Option<i32>,
    /// Of a session: its memories were erased too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub with_memories: bool,
    #[serde(with = "time::serde::rfc3339")]
    pub at: OffsetDateTime,
}

impl Note {
    /// Version 0.2.0, if it runs on the same database for a while, takes an act that it does not know for an erased account,
    /// which has no id.
    pub fn is_misread(&self) -> bool {
        self.what == NotedAct::Account && self.id.is_some()
    }

    /// Of an account, or of the server where `user` is 0.
    pub fn of(what: NotedAct, user: UserId, id: Option<i64>, at: OffsetDateTime) -> Self {
        Self { what, user: user.0, id, name: None, position: None, with_memories: false, at }
    }
}

/// Notes an act of the transaction's user, as the app role.
pub async fn note_own(
    conn: &mut PgConnection,
    what: NotedAct,
    id: Option<i64>,
    now: OffsetDateTime,
) -> Result<(), sqlx::Error> {
    store::insert_own(conn, what, id, false, now).await
}

/// Deletes notes that no server wrote into a folder.
pub async fn prune(db: &Db, before: OffsetDateTime) -> Result<(), sqlx::Error> {
    store::prune(&mut *db.system_connection().await?, before).await
}
